#!/usr/bin/env python3
"""Whatever bytes arrive on a port, the server refuses them, stays small and goes on serving. Raw
sockets on loopback against the real program. ATTUNE_SERVER_BINARY names it; with ATTUNE_SANITIZE set,
its memory is not looked at."""

import json
import os
import pathlib
import random
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import attune_server  # noqa: E402
import http2_client as h2  # noqa: E402
from waiting import wait_for  # noqa: E402
from wire_fields import field  # noqa: E402

ENCODE = "/attune.v1.EncoderService/Encode"
HEALTH = "/grpc.health.v1.Health/Check"
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = 3, 8, 12, 13
ENHANCE_YOUR_CALM = 11
CUT_RIGHT = b"\x08\x02"  # EncodeOptions{truncation: TRUNCATION_RIGHT}

MIB = 1 << 20
# What a bad client may cost: its own message, which the limit bounds to 4 MiB, and what any call does.
ROOM_BYTES = 48 * MIB
# The default of --grpc-memory-quota, which bounds what gRPC itself holds for all clients together.
QUOTA_BYTES = 128 * MIB
PATIENCE_SECONDS = 60


def encode_request(text, cut=False):
    """EncodeRequest{texts: {values: [text]}}; `cut`: at the limit, instead of an error."""
    options = field(5, CUT_RIGHT) if cut else b""
    return field(1, field(1, text.encode())) + options


def memory_bytes(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


class WireTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        model = subprocess.run(
            [sys.executable, ROOT / "deploy/make-demo-model.py", "--into",
             pathlib.Path(folder.name) / "model"],
            check=True, capture_output=True, text=True).stdout.strip()
        cls.server = attune_server.Server(model, "--http-io-timeout", "2s", "--http-threads", "4")
        cls.addClassCleanup(cls.server.stop)
        cls.port = int(cls.server.address.rsplit(":", 1)[1])
        cls.http_port = int(cls.server.url.rsplit(":", 1)[1])
        cls.expected = cls.encode_now()

    @classmethod
    def encode_now(cls):
        with h2.Http2Client(cls.port) as client:
            answer = client.call(ENCODE, encode_request("the cat"))
            assert answer is not None and answer.status == 0, answer
            return answer.data

    def setUp(self):
        pid = self.server.process.pid
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak counts from here
        self.before = memory_bytes(pid, "VmRSS")
        self.room = ROOM_BYTES

    def tearDown(self):
        """Every test ends with this: the server is alive, right, and has not grown."""
        with h2.Http2Client(self.port) as client:
            health = client.call(HEALTH)
            self.assertEqual((health.status, health.data[5:]), (0, b"\x08\x01"), "SERVING")
        self.assertEqual(self.encode_now(), self.expected)
        self.assertTrue(self.send_http(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        .startswith(b"HTTP/1.1 200"))
        if os.environ.get("ATTUNE_SANITIZE"):
            return
        grown = memory_bytes(self.server.process.pid, "VmHWM") - self.before
        self.assertLess(grown, self.room, "bytes that the peak of resident memory grew by")

    def send_http(self, data):
        with socket.create_connection(("127.0.0.1", self.http_port), PATIENCE_SECONDS) as connection:
            try:
                connection.sendall(data)
            except OSError:
                pass  # refused before all of it was sent; the reply says why
            reply = b""
            try:
                while part := connection.recv(65536):
                    reply += part
            except ConnectionResetError:
                pass
            return reply

    def status_of(self, answer):
        self.assertIsNotNone(answer, "the connection ended without an answer")
        return answer.status

    # ---- Messages ----

    def test_a_message_that_cannot_be_parsed_is_refused(self):
        randomness = random.Random(1)
        messages = [b"\x0a\x7f", b"\x0a", b"\xff" * 1000, encode_request("cat")[:-1],
                    b"\x0a\xff\xff\xff\xff\x0f"]
        messages += [randomness.randbytes(randomness.randrange(1, 300)) for _ in range(100)]
        with h2.Http2Client(self.port) as client:
            for message in messages:
                self.assertNotIn(self.status_of(client.call(ENCODE, message)), (0, None), message)

    def test_fields_that_mean_nothing_here_are_as_if_absent(self):
        with h2.Http2Client(self.port) as client:
            for message in (b"\xc0\x3e\x01", b"\x08\x01"):  # unknown number; right number, other type
                answer = client.call(ENCODE, message)
                self.assertEqual(self.status_of(answer), INVALID_ARGUMENT)
                self.assertIn("input is not set", answer.message)

    def test_a_message_over_the_limit_is_refused(self):
        with h2.Http2Client(self.port) as client:
            answer = client.call(ENCODE, framed=h2.grpc_message(bytes(5 * MIB)))
            self.assertEqual(self.status_of(answer), RESOURCE_EXHAUSTED)
            self.assertIn("larger than max (5242880 vs. 4194304)", answer.message)

    def test_messages_far_over_the_limit_cost_no_more_than_the_memory_quota(self):
        # gRPC looks at the size when all has come, or takes the call down when its quota is used up.
        self.room = QUOTA_BYTES + ROOM_BYTES
        for size in (100 * MIB, 400 * MIB):
            with self.subTest(size), h2.Http2Client(self.port) as client:
                answer = client.call(ENCODE, framed=h2.grpc_message(bytes(size)))
                self.assertTrue(answer is None or answer.reset is not None or
                                answer.status == RESOURCE_EXHAUSTED, answer)

    def test_a_length_without_data_allocates_nothing(self):
        clients = []
        for _ in range(20):
            client = h2.Http2Client(self.port)
            stream = client.open_call(ENCODE)
            client.send_message(stream, h2.grpc_message(b"", size=0xFFFFFFFF), end=False)
            clients.append(client)
        self.encode_now()
        for client in clients:
            client.abort()

    def test_c51_long_words_and_texts_of_all_lengths_are_not_kept(self):
        # A cache of words would have 75 MB of these, one of shapes an entry for each length.
        texts = [f"{i:x}".rjust(8, "q") * (50_000 // 8) for i in range(1500)]
        lengths = list(range(1, 513))
        random.Random(51).shuffle(lengths)
        texts += ["cat " * length for length in lengths]
        # A connection takes only so much before it wants to hear that it was read.
        for begin in range(0, len(texts), 50):
            with h2.Http2Client(self.port) as client:
                for text in texts[begin:begin + 50]:
                    answer = client.call(ENCODE, encode_request(text, cut=True))
                    self.assertEqual(self.status_of(answer), 0)

    def test_compression_is_refused(self):
        with h2.Http2Client(self.port) as client:
            message = encode_request("cat")
            answer = client.call(ENCODE, framed=h2.grpc_message(message, compressed=1))
            # A flag without an encoding: the protocol says INTERNAL; gRPC 1.51 reads what is there.
            self.assertIn(self.status_of(answer), (0, INTERNAL))
            for encoding in ("gzip", "deflate"):
                answer = client.call(ENCODE, framed=h2.grpc_message(message, compressed=1),
                                     change={"grpc-encoding": encoding})
                self.assertEqual(self.status_of(answer), UNIMPLEMENTED, encoding)

    # ---- Calls ----

    def test_a_method_that_does_not_exist_is_unimplemented(self):
        with h2.Http2Client(self.port) as client:
            for path in ("/attune.v1.EncoderService/NoSuchMethod", "/no.such.Service/Encode", "/"):
                self.assertEqual(self.status_of(client.call(path, b"")), UNIMPLEMENTED, path)

    def test_headers_that_are_wrong_refuse_the_call(self):
        wrong = {"no path": {":path": None}, "a relative path": {":path": "encode"},
                 "no te": {"te": None}, "another te": {"te": "gzip"},
                 "another scheme": {":scheme": "gopher"}, "no scheme": {":scheme": None},
                 "another method": {":method": "GET"}, "no method": {":method": None},
                 "another type": {"content-type": "text/plain"}}
        for name, change in wrong.items():
            with self.subTest(name), h2.Http2Client(self.port) as client:
                answer = client.call(ENCODE, b"", change=change)
                if answer is not None:
                    self.assertNotEqual(answer.status, 0)

    def test_headers_over_16_KiB_end_their_own_connection_and_no_other(self):
        with h2.Http2Client(self.port) as other, h2.Http2Client(self.port) as client:
            # The limit holds once the client has acknowledged it, which every client library does.
            self.assertEqual(client.call(ENCODE, encode_request("the cat")).data, self.expected)
            for size in (17_000, 1_000_000):
                answer = client.call(ENCODE, encode_request("the cat"), more=[("x", "a" * size)])
                self.assertTrue(answer is None or answer.status != 0, answer)
            self.assertEqual(other.call(ENCODE, encode_request("the cat")).data, self.expected)

    # ---- Connections ----

    def test_bytes_that_are_not_http2_end_their_connection(self):
        hello = b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + bytes(160)
        for name, data in {"HTTP/1.1": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                           "a TLS handshake": hello, "zeros": bytes(100_000),
                           "a preface that goes wrong": h2.PREFACE[:-1] + b"!" + bytes(100),
                           "frames without settings": h2.PREFACE + bytes(100)}.items():
            with self.subTest(name), h2.Http2Client(self.port, preface=False) as client:
                client.send_bytes(data)
                self.assertTrue(client.wait_closed())

    def test_a_client_that_says_nothing_is_hung_up_on(self):
        with h2.Http2Client(self.port, preface=False) as client:
            self.assertTrue(client.wait_closed())

    def test_frames_out_of_place_end_at_most_their_connection(self):
        frame = h2.Http2Client.frame
        for name, data in {
                "data for a stream that is not open": frame(h2.DATA, 0, 99, b"x"),
                "headers on the connection": frame(h2.HEADERS, h2.END_HEADERS, 0, b""),
                "a continuation of nothing": frame(9, h2.END_HEADERS, 1, b""),
                "a block that is not HPACK": frame(h2.HEADERS, h2.END_HEADERS, 1, b"\xff" * 64),
                "settings of an odd size": frame(h2.SETTINGS, 0, 0, b"12345"),
                "a window beyond 2^31": frame(h2.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2,
                "a frame over the limit": b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + bytes(1000),
                "a frame of an unknown type": frame(200, 0, 0, b"x")}.items():
            with self.subTest(name), h2.Http2Client(self.port) as client:
                client.send_bytes(data)
                self.encode_now()

    def test_thousands_of_calls_that_are_taken_back_at_once(self):
        self.room = QUOTA_BYTES + ROOM_BYTES  # gRPC keeps what it took for them
        for _ in range(5):
            with h2.Http2Client(self.port) as client:
                block = h2.header_block([
                    (":method", "POST"), (":scheme", "http"), (":path", ENCODE),
                    ("te", "trailers"), ("content-type", "application/grpc")])
                frames = b"".join(
                    client.frame(h2.HEADERS, h2.END_HEADERS, stream, block) +
                    client.frame(h2.RST_STREAM, 0, stream, struct.pack(">I", 8))
                    for stream in range(1, 2001, 2))
                client.send_bytes(frames)
                self.encode_now()

    def test_a_thousand_connections_that_are_idle(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.room = QUOTA_BYTES + ROOM_BYTES
        clients = [h2.Http2Client(self.port) for _ in range(1000)]
        self.encode_now()
        self.assertEqual(clients[0].call(ENCODE, encode_request("the cat")).data, self.expected)
        for client in clients:
            client.socket.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_a_flood_of_pings_is_told_to_calm_down(self):
        self.room = QUOTA_BYTES + ROOM_BYTES
        with h2.Http2Client(self.port) as client:
            ping = client.frame(h2.PING, 0, 0, bytes(8))
            for _ in range(1000):
                if not client.send_bytes(ping * 10):
                    break
            self.assertTrue(client.wait_closed())
            self.assertIn(client.goaway, (ENHANCE_YOUR_CALM, None))

    def test_clients_that_are_killed_in_a_call(self):
        for i in range(200):
            client = h2.Http2Client(self.port)
            stream = client.open_call(ENCODE)
            message = h2.grpc_message(encode_request("the cat"))
            client.send_message(stream, message[:i % len(message)], end=False)
            client.abort()

    def test_a_client_that_closes_its_half_gets_its_answer_or_is_let_go(self):
        with h2.Http2Client(self.port) as client:
            stream = client.open_call(ENCODE)
            client.send_message(stream, h2.grpc_message(encode_request("the cat")))
            client.socket.shutdown(socket.SHUT_WR)
            self.assertTrue(client.wait_closed())

    # ---- HTTP ----

    def post(self, body, headers=b"Content-Type: application/json\r\n"):
        return self.send_http(b"POST /v1/encode HTTP/1.1\r\nHost: localhost\r\n" + headers +
                              b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def test_http_requests_too_large_or_too_deep_are_refused_and_cost_no_memory(self):
        start = b"POST /v1/encode HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        for name, (request, status) in {
                "a hundred thousand headers":
                    (b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 100_000, b"431"),
                "chunks without end":
                    (start + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 1600, b"411"),
                "a body of 100 MiB":
                    (start + b"Content-Length: 104857600\r\n\r\n" + bytes(100 * MIB), b"413")}.items():
            with self.subTest(name):
                reply = self.send_http(request)
                # Who goes on sending after the reply may lose it to the reset that follows.
                self.assertTrue(not reply or reply.split()[1] == status, reply[:100])

    def test_json_that_is_deep_repeated_or_no_number_is_refused(self):
        for body in (b'{"texts":' * 10_000 + b"1" + b"}" * 10_000, b"[" * 10_000,
                     b'{"texts": {"values": ["a"]}, "texts": {"values": ["b"]}}',
                     b'{"texts": NaN}', b'{"texts": {"values": [NaN]}}'):
            reply = self.post(body)
            self.assertTrue(reply.startswith(b"HTTP/1.1 400"), reply[:100])
            self.assertEqual(json.loads(reply.split(b"\r\n\r\n", 1)[1])["code"], INVALID_ARGUMENT)

    def test_a_compressed_body_is_refused_unread(self):
        for encoding in (b"gzip", b"br", b"deflate"):
            reply = self.post(b"\x1f\x8b" + bytes(1000), b"Content-Type: application/json\r\n"
                              b"Content-Encoding: " + encoding + b"\r\n")
            self.assertTrue(reply.startswith(b"HTTP/1.1 415"), reply[:100])

    def test_slow_clients_on_every_thread_give_them_back(self):
        # More than there are threads: all are held until --http-io-timeout, and no longer.
        slow = [socket.create_connection(("127.0.0.1", self.http_port)) for _ in range(8)]
        for connection in slow:
            connection.sendall(b"POST /v1/encode HTTP/1.1\r\nHost: localhost\r\nX: ")
        wait_for(lambda: self.send_http(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                 .startswith(b"HTTP/1.1 200"), "an answer to /livez")
        for connection in slow:
            connection.close()


if __name__ == "__main__":
    unittest.main()
