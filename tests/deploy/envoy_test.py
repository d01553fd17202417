#!/usr/bin/env python3
"""A real Envoy with the configuration of deploy/envoy, in front of two real servers. The environment
names the programs: ATTUNE_SERVER_BINARY and ATTUNE_CLIENT_BINARY; ATTUNE_TEST_TOOLS is the folder
with envoy."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
from loopback import free_port  # noqa: E402
from replicas import Replicas, attune  # noqa: E402
from waiting import wait_for  # noqa: E402

CONFIG = ROOT / "deploy/envoy/envoy.yaml"
TRANSCODER = ROOT / "deploy/envoy/json_transcoder.yaml"
ENCODE = "/attune.v1.EncoderService/Encode"
TEXT = "hello"


def post(url, body, content_type):
    request = urllib.request.Request(url, body, {"Content-Type": content_type})
    with urllib.request.urlopen(request) as reply:
        return reply.read()


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
        cls.replicas = Replicas(["127.0.0.1:0"] * 2)
        cls.addClassCleanup(cls.replicas.stop)
        cls.envoy = Envoy(folder.name, {
            "grpc": [server.address for server in cls.replicas.servers],
            "http": [server.http_address for server in cls.replicas.servers]})
        cls.addClassCleanup(cls.envoy.stop)

    def setUp(self):
        self.wait_until_healthy()

    def wait_until_healthy(self):
        for cluster in ("grpc", "http"):
            wait_for(lambda: self.envoy.healthy(cluster) == 2, f"two healthy servers of {cluster}")

    def vector(self):
        """The text's, from a server itself, as the bytes of its floats."""
        reply = self.replicas.servers[0].call("encode", {"texts": {"values": [TEXT]}})
        return floats(reply["embeddings"][0]["values"])

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
        before = self.replicas.calls()
        report = self.replicas.load(self.envoy.address)
        self.assertEqual((report["errors"], report["wrong"]), ({}, 0))
        shares = [calls - began for calls, began in zip(self.replicas.calls(), before)]
        # Not the same share: the one with less to do gets the next call.
        self.assertGreater(min(shares), sum(shares) / 4)

    def disturbed(self, how):
        """What is reported of calls while a server is ended by that signal and replaced."""
        report = self.replicas.load(self.envoy.address, lambda: self.replicas.replace(1, how))
        return report["errors"], report["wrong"]

    def test_no_call_fails_while_a_server_is_killed_and_replaced(self):
        self.assertEqual(self.disturbed(signal.SIGKILL), ({}, 0))

    def test_no_call_fails_while_a_server_is_drained_and_replaced(self):
        self.assertEqual(self.disturbed(signal.SIGTERM), ({}, 0))


if __name__ == "__main__":
    unittest.main()
