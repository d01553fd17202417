#!/usr/bin/env python3
"""A real Envoy with the configuration of deploy/envoy, in front of two real servers. The environment
names the programs: ATTUNE_SERVER_BINARY and ATTUNE_CLIENT_BINARY; ATTUNE_TEST_TOOLS is the folder
with envoy."""

import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
from attune_server import Server  # noqa: E402

CONFIG = ROOT / "deploy/envoy/envoy.yaml"
TRANSCODER = ROOT / "deploy/envoy/json_transcoder.yaml"
ENCODE = "/attune.v1.EncoderService/Encode"
PATIENCE_SECONDS = 20
TEXT = "hello"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_for(question, what):
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if question():
            return
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {PATIENCE_SECONDS} s")


def post(url, body, content_type):
    request = urllib.request.Request(url, body, {"Content-Type": content_type})
    with urllib.request.urlopen(request) as reply:
        return reply.read()


def attune(*arguments):
    return subprocess.run([os.environ["ATTUNE_CLIENT_BINARY"], *map(str, arguments)], check=True,
                          capture_output=True, text=True).stdout


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def endpoints(addresses):
    """Of a cluster: these addresses in place of a name with several."""
    return [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {
        "address": host, "port_value": int(port)}}}} for host, port in
        (address.split(":") for address in addresses)]}]


class Envoy:
    """deploy/envoy/envoy.yaml with only its addresses changed, and the JSON transcoder in it."""

    def __init__(self, folder, clusters):
        self.port = free_port()
        self.admin = free_port()
        config = yaml.safe_load(CONFIG.read_text())
        config["admin"]["address"]["socket_address"]["port_value"] = self.admin
        listener = config["static_resources"]["listeners"][0]
        listener["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": self.port}
        for cluster in config["static_resources"]["clusters"]:
            cluster["load_assignment"]["endpoints"] = endpoints(clusters[cluster["name"]])
            if cluster["name"] == "http":
                # On a loopback address attune answers only requests for one.
                cluster["health_checks"][0]["http_health_check"]["host"] = "127.0.0.1"
        descriptor = pathlib.Path(folder) / "attune.pb"
        subprocess.run(["protoc", "-I", ROOT / "proto", "--include_imports",
                        f"--descriptor_set_out={descriptor}", "attune/v1/attune.proto"], check=True)
        transcoder = yaml.safe_load(TRANSCODER.read_text())
        transcoder["typed_config"]["proto_descriptor"] = str(descriptor)
        filters = listener["filter_chains"][0]["filters"][0]["typed_config"]["http_filters"]
        filters.insert(-1, transcoder)
        path = pathlib.Path(folder) / "envoy.json"
        path.write_text(json.dumps(config))
        self.log = (pathlib.Path(folder) / "envoy.log").open("w")
        self.process = subprocess.Popen(
            [pathlib.Path(os.environ["ATTUNE_TEST_TOOLS"]) / "envoy", "--config-path", path, "--concurrency", "1",
             "--disable-hot-restart", "--log-level", "warning"],
            stdout=self.log, stderr=self.log)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://{self.address}"

    def healthy(self, cluster):
        """How many servers of the cluster get calls."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/stats?filter="
                                        f"cluster.{cluster}.membership_healthy") as stats:
                return int(stats.read().split()[-1])
        except (urllib.error.URLError, IndexError):
            return 0

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class EnvoyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "model"
        subprocess.run([ROOT / "deploy/make-demo-model.py", "--into", cls.model], check=True,
                       capture_output=True)
        cls.servers = [cls.start(), cls.start()]
        cls.envoy = Envoy(folder.name, {
            "grpc": [server.address for server in cls.servers],
            "http": [server.url.removeprefix("http://") for server in cls.servers]})

    @classmethod
    def start(cls, **addresses):
        # Long enough for Envoy to see that the server is not ready any more: two health checks.
        return Server(cls.model, drain_delay="3s", **addresses)

    @classmethod
    def tearDownClass(cls):
        cls.envoy.stop()
        for server in cls.servers:
            server.stop()

    def setUp(self):
        self.wait_until_healthy()

    def wait_until_healthy(self):
        for cluster in ("grpc", "http"):
            wait_for(lambda: self.envoy.healthy(cluster) == 2, f"two healthy servers of {cluster}")

    def vector(self):
        """The text's, from a server itself, as the bytes of its floats."""
        reply = self.servers[0].call("encode", {"texts": {"values": [TEXT]}})
        return floats(reply["embeddings"][0]["values"])

    def load(self, disturb=None):
        """What `attune bench` reports of some seconds of calls through Envoy, with `disturb` in the
        middle of them. A proxy cannot make a call again that it has not read to its end when the
        server dies; the client can, as it does by default."""
        began = self.calls_of(self.servers[0])
        command = [os.environ["ATTUNE_CLIENT_BINARY"], "bench", "--server", self.envoy.address,
                   "--clients", "8", "--duration", "8s" if disturb else "1s", "--warmup", "1ms",
                   "--attempts", "4", "--format", "json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bench:
            if disturb:
                wait_for(lambda: self.calls_of(self.servers[0]) > began + 100, "load")
                disturb()
                self.assertIsNone(bench.poll(), "the load ended too early to be disturbed")
            return json.loads(bench.communicate()[0])

    def calls_of(self, server):
        with urllib.request.urlopen(f"http://{server.ops_address}/metrics") as metrics:
            text = metrics.read().decode()
        return float(re.search(r'attune_rpc_started_total\{method="Encode"\} (\S+)', text)[1])

    def test_grpc_passes_with_its_replies_and_errors(self):
        reply = json.loads(attune("encode", "--server", self.envoy.address, "--format", "jsonl", TEXT))
        self.assertEqual(floats(reply["embedding"]), self.vector())
        with self.assertRaises(subprocess.CalledProcessError) as error:
            attune("encode", "--server", self.envoy.address, "--max-tokens", "100000", TEXT)
        self.assertIn("max_tokens", error.exception.stderr)

    def test_a_page_calls_by_grpc_web(self):
        text = TEXT.encode()
        values = bytes([0x0A, len(text)]) + text  # TextList.values
        message = bytes([0x0A, len(values)]) + values  # EncodeRequest.texts
        reply = post(self.envoy.url + ENCODE, b"\0" + struct.pack(">I", len(message)) + message,
                     "application/grpc-web+proto")
        length = struct.unpack(">I", reply[1:5])[0]
        trailer = reply[5 + length:]
        self.assertEqual(reply[0], 0)
        self.assertIn(self.vector(), reply[5:5 + length])
        self.assertEqual(trailer[0], 0x80)
        self.assertIn(b"grpc-status:0", trailer)

    def test_the_json_of_the_http_port_and_the_dashboard_pass(self):
        body = json.dumps({"texts": {"values": [TEXT]}}).encode()
        reply = json.loads(post(self.envoy.url + "/v1/encode", body, "application/json"))
        self.assertEqual(floats(reply["embeddings"][0]["values"]), self.vector())
        with urllib.request.urlopen(self.envoy.url + "/") as page:
            self.assertIn(b"attune", page.read())

    def test_json_reaches_servers_that_have_no_http_port(self):
        body = json.dumps({"texts": {"values": [TEXT]}}).encode()
        reply = json.loads(post(self.envoy.url + ENCODE, body, "application/json"))
        self.assertEqual(floats(reply["embeddings"][0]["values"]), self.vector())

    def test_headers_beyond_the_limit_are_refused_before_they_reach_a_server(self):
        request = urllib.request.Request(self.envoy.url + "/v1/model", headers={"x-long": "a" * 8000})
        with self.assertRaises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request)
        self.assertEqual(error.exception.code, 431)
        error.exception.close()

    def test_each_server_has_its_share_of_the_calls(self):
        before = [self.calls_of(server) for server in self.servers]
        self.load()
        shares = [self.calls_of(server) - began for server, began in zip(self.servers, before)]
        # Not the same share: the one with less to do gets the next call.
        self.assertGreater(min(shares), sum(shares) / 4)

    def replace(self, how):
        """Ends a server, and starts another at its addresses."""
        old = self.servers[1]
        old.process.send_signal(how)
        old.process.communicate()
        self.servers[1] = self.start(grpc_address=old.address,
                                     http_address=old.url.removeprefix("http://"))

    def test_no_call_fails_while_a_server_is_killed_and_replaced(self):
        self.assertEqual(self.load(lambda: self.replace(signal.SIGKILL))["errors"], {})

    def test_no_call_fails_while_a_server_is_drained_and_replaced(self):
        self.assertEqual(self.load(lambda: self.replace(signal.SIGTERM))["errors"], {})


if __name__ == "__main__":
    unittest.main()
