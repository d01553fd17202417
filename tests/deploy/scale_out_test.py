#!/usr/bin/env python3
"""Three real servers behind one address: a list, a name, and a real HAProxy with the configuration of
deploy/haproxy. The environment names the programs: ATTUNE_SERVER_BINARY and ATTUNE_CLIENT_BINARY;
haproxy is on the path, or in /usr/sbin."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
from dns_server import DnsServer  # noqa: E402
from loopback import free_port  # noqa: E402
from replicas import Replicas, attune  # noqa: E402
from waiting import wait_for  # noqa: E402

CONFIG = ROOT / "deploy/haproxy/haproxy.cfg"
SEARCH_PATH = os.environ["PATH"] + ":/usr/sbin"  # which not every user's has
SERVERS = 3
UNEVEN = 0.1  # how far from the mean a server's calls may be, as a share of it


def haproxy(config, *arguments, **options):
    return subprocess.Popen(["haproxy", *arguments, "-f", config], stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "PATH": SEARCH_PATH}, **options)


class HAProxy:
    """deploy/haproxy/haproxy.cfg with only its addresses changed, and its user where that takes root."""

    def __init__(self, folder, servers):
        self.port = free_port()
        self.ops = free_port()
        config = CONFIG.read_text()
        for old, new in (("bind :8000", f"bind 127.0.0.1:{self.port}"),
                         ("bind 127.0.0.1:8405", f"bind 127.0.0.1:{self.ops}")):
            assert config.count(old) == 1, old
            config = config.replace(old, new)
        remaining = iter(servers)
        config, changed = re.subn(r"(?m)^(  server \S+) \S+$",
                                  lambda line: f"{line[1]} {self.placed(next(remaining))}", config)
        assert changed == len(servers), changed
        if os.geteuid() != 0:
            config = re.sub(r"(?m)^  (chroot|user|group) .*$", "", config)
        path = pathlib.Path(folder) / "haproxy.cfg"
        path.write_text(config)
        self.log = (pathlib.Path(folder) / "haproxy.log").open("w")
        self.process = haproxy(path, "-db", stdout=self.log)

    @staticmethod
    def placed(server):
        return f"{server.address} port {server.ops_address.split(':')[1]}"

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def healthy(self):
        """How many servers get calls."""
        assert self.process.poll() is None, "haproxy has ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ops}/metrics") as metrics:
                text = metrics.read().decode()
        except urllib.error.URLError:
            return 0
        return len(re.findall(
            r'(?m)^haproxy_server_status\{proxy="attune",[^}]*state="UP"\} 1$', text))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class ScaleOut:
    """What holds for every way to reach three servers; `self.address` is the one under test."""

    counted_clients = 8  # who call at a time while each server's share is counted

    @classmethod
    def start(cls, addresses):
        cls.replicas = Replicas(addresses)
        cls.addClassCleanup(cls.replicas.stop)

    def assert_all_were_right(self, report):
        self.assertEqual((report["errors"], report["wrong"]), ({}, 0))
        self.assertGreater(report["succeeded"], 0)

    def test_each_server_has_the_same_share_of_the_calls(self):
        before = self.replicas.calls()
        self.assert_all_were_right(self.replicas.load(self.address, clients=self.counted_clients))
        shares = [calls - began for calls, began in zip(self.replicas.calls(), before)]
        mean = sum(shares) / SERVERS
        for share in shares:
            self.assertLess(abs(share - mean), UNEVEN * mean, shares)

    def replace_under_load(self, numbers, how):
        """Ends the servers one after the other by the signal `how`, and replaces each, with no call
        lost. Returns how they exited."""
        exits = []
        self.assert_all_were_right(self.replicas.load(
            self.address, lambda: exits.extend(self.replicas.replace(number, how) for number in numbers),
            len(numbers)))
        return exits

    def test_no_call_fails_while_a_server_is_killed_and_replaced(self):
        self.assertEqual(self.replace_under_load([1], signal.SIGKILL), [-signal.SIGKILL])

    def test_no_call_fails_while_every_server_in_turn_is_drained_and_replaced(self):
        self.assertEqual(self.replace_under_load(range(SERVERS), signal.SIGTERM), [0] * SERVERS)


class ListTest(ScaleOut, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.start(["127.0.0.1:0"] * SERVERS)
        cls.address = ",".join(server.address for server in cls.replicas.servers)


class NameTest(ScaleOut, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        hosts = [f"127.0.0.{number}" for number in range(1, SERVERS + 1)]
        port = free_port()
        cls.start([f"{host}:{port}" for host in hosts])
        dns = DnsServer(hosts)
        cls.addClassCleanup(dns.stop)
        cls.address = f"dns://{dns.address}/encoder.test:{port}"


class HAProxyTest(ScaleOut, unittest.TestCase):
    # It gives a call to the server with the fewest under way, so under load whichever the system lets
    # run faster gets more, as it should. With one call at a time the servers are alike.
    counted_clients = 1

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.start(["127.0.0.1:0"] * SERVERS)
        cls.haproxy = HAProxy(folder.name, cls.replicas.servers)
        cls.addClassCleanup(cls.haproxy.stop)
        cls.address = cls.haproxy.address

    def setUp(self):
        wait_for(lambda: self.haproxy.healthy() == SERVERS, "all servers healthy")

    def test_haproxy_finds_nothing_to_say_about_the_configuration_as_it_is(self):
        with haproxy(CONFIG, "-c", "-q", stdout=subprocess.PIPE) as check:
            said = check.communicate()[0]
        self.assertEqual((check.returncode, said), (0, ""))

    def test_errors_pass_with_their_message(self):
        with self.assertRaises(subprocess.CalledProcessError) as error:
            attune("encode", "--server", self.address, "--max-tokens", "100000", "a")
        self.assertIn("INVALID_ARGUMENT", error.exception.stderr)
        self.assertIn("max_tokens", error.exception.stderr)

    def test_headers_beyond_the_limit_are_refused_before_they_reach_a_server(self):
        before = self.replicas.calls()
        with tempfile.NamedTemporaryFile("w", suffix=".token") as token:
            token.write("a" * 7500)
            token.flush()
            with self.assertRaises(subprocess.CalledProcessError) as error:
                attune("encode", "--server", self.address, "--token-file", token.name, "a")
        self.assertIn("431", error.exception.stderr)
        self.assertEqual(self.replicas.calls(), before)


if __name__ == "__main__":
    unittest.main()
