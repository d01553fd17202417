#!/usr/bin/env python3
"""Clients that are killed or stopped in the middle of a stream, and more of them than there are file
descriptors: the server lets go of what they held, and goes on. ATTUNE_SERVER_BINARY names it,
ATTUNE_SANITIZE the sanitizers it is built with."""

import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import attune_server  # noqa: E402
import http2_client as h2  # noqa: E402
from waiting import wait_for  # noqa: E402
from wire_fields import field  # noqa: E402

SERVICE = "/attune.v1.EncoderService/"
# Descriptors left to a server that has few.
SPARE_DESCRIPTORS = 4

# What a client holds while it is served.
HELD = re.compile(r"^attune_(rpc_in_flight|queue_depth|queue_tokens|pending_bytes|attention_streams|"
                  r"attention_reserved_bytes)(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


ENCODE = field(1, field(1, b"the cat"))
LONG_TEXT = b"cat " * 60
MAP = field(1, field(1, LONG_TEXT))  # some megabytes of answers
STREAM_ITEM = field(2, LONG_TEXT) + field(3, b"\x18\x06")  # options: {pooling: POOLING_NONE}


def stream_without_reading(port, method):
    """The client that dies: sends, never reads, and says so when the server has begun to answer."""
    client = h2.Http2Client(port)
    stream = client.open_call(SERVICE + method)
    if method == "StreamAttentionMap":
        client.send_message(stream, h2.grpc_message(MAP))
    else:
        for _ in range(64):
            client.send_message(stream, h2.grpc_message(STREAM_ITEM), end=False)
    answer = client.first_answer(stream)
    print("streaming" if answer.data else answer, flush=True)
    time.sleep(3600)


class ClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        model = subprocess.run(
            [sys.executable, ROOT / "deploy/make-demo-model.py", "--into",
             pathlib.Path(cls.folder.name) / "model"],
            check=True, capture_output=True, text=True).stdout.strip()
        cls.server = attune_server.Server(model, "--stream-stall-timeout", "1s",
                                          "--http-io-timeout", "2s")
        cls.addClassCleanup(cls.server.stop)
        cls.port = int(cls.server.address.rsplit(":", 1)[1])
        cls.http_port = int(cls.server.url.rsplit(":", 1)[1])
        cls.expected = cls.encode_now()

    @classmethod
    def encode_now(cls):
        with h2.Http2Client(cls.port) as client:
            answer = client.call(SERVICE + "Encode", ENCODE)
            assert answer is not None and answer.status == 0, answer
            return answer.data

    def tearDown(self):
        """Every test ends with this: nothing is held for who is gone, and the server is right."""
        self.wait_until_nothing_is_held()
        self.assertEqual(self.encode_now(), self.expected)

    def held(self):
        """The series that are not zero."""
        with urllib.request.urlopen(f"http://{self.server.ops_address}/metrics") as reply:
            found = HELD.findall(reply.read().decode())
        self.assertGreater(len(found), 6)
        return {name: value for name, value in found if float(value) != 0}

    def wait_until_nothing_is_held(self):
        wait_for(lambda: not self.held(), "that nothing is held")

    def call_when_there_is_room(self, method, request):
        """Over HTTP, where a call needs a descriptor besides its connection's; 429 tells to try again."""
        def answer():
            try:
                return self.server.call(method, request)
            except urllib.error.HTTPError as error:
                self.assertEqual(error.code, 429)
                return None

        return wait_for(answer, "an answer over HTTP")

    def start_client(self, method):
        client = subprocess.Popen([sys.executable, __file__, str(self.port), method],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.assertEqual(client.stdout.readline(), "streaming\n")
        return client

    def test_a_killed_client_holds_nothing(self):
        for method in ("StreamAttentionMap", "StreamEncode"):
            with self.subTest(method):
                clients = [self.start_client(method) for _ in range(4)]
                self.assertTrue(self.held())
                for client in clients:
                    client.kill()
                self.wait_until_nothing_is_held()

    def test_a_stopped_client_holds_something_for_the_stall_timeout_and_no_longer(self):
        for method in ("StreamAttentionMap", "StreamEncode"):
            with self.subTest(method):
                client = self.start_client(method)
                client.send_signal(signal.SIGSTOP)
                self.wait_until_nothing_is_held()
                self.assertIsNone(client.poll())

    @unittest.skipIf("undefined" in os.environ.get("ATTUNE_SANITIZE", ""),
                     "UndefinedBehaviorSanitizer looks at memory through a pipe")
    def test_connections_that_find_no_file_descriptor_wait_for_one(self):
        # On the HTTP port: the listener of gRPC 1.51 accepts nothing more once it has found none.
        pid = self.server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        open_now = len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
        with h2.Http2Client(self.port) as known:
            self.assertEqual(known.call(SERVICE + "Encode", ENCODE).data, self.expected)
            resource.prlimit(pid, resource.RLIMIT_NOFILE,
                             (open_now + 1 + SPARE_DESCRIPTORS, before[1]))
            self.addCleanup(resource.prlimit, pid, resource.RLIMIT_NOFILE, before)
            idle = [socket.create_connection(("127.0.0.1", self.http_port)) for _ in range(64)]
            for _ in range(20):
                self.assertEqual(known.call(SERVICE + "Encode", ENCODE).data, self.expected)
            for connection in idle:
                connection.close()
            with urllib.request.urlopen(self.server.url + "/livez") as reply:
                self.assertEqual(reply.status, 200)
            self.assertEqual(self.call_when_there_is_room("encode", {"texts": {"values": ["the cat"]}})
                             ["dimension"], self.call_when_there_is_room("model", {})["dimension"])
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        stream_without_reading(int(sys.argv[1]), sys.argv[2])
    else:
        unittest.main()
