#!/usr/bin/env python3
"""deploy/compose as Compose itself reads it. ATTUNE_TEST_TOOLS is the folder with docker-compose,
and ATTUNE_SERVER_BINARY names the server; promtool is on the path."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
from server_flags import drain_seconds  # noqa: E402

FOLDER = ROOT / "deploy/compose"


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


class ComposeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        compose = subprocess.run(
            [pathlib.Path(os.environ["ATTUNE_TEST_TOOLS"]) / "docker-compose", "--file",
             FOLDER / "compose.yaml", "config", "--format", "json"],
            check=True, capture_output=True, text=True)
        cls.services = json.loads(compose.stdout)["services"]

    def test_every_file_that_a_service_reads_is_in_the_tree(self):
        files = [volume["source"] for service in self.services.values()
                 for volume in service.get("volumes", []) if volume["type"] == "bind"]
        self.assertTrue(files)
        for file in files:
            self.assertTrue(pathlib.Path(file).exists(), file)

    def test_what_serves_is_confined(self):
        for name in self.services.keys() - {"model"}:
            service = self.services[name]
            self.assertTrue(service["read_only"], name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"], name)

    def test_nothing_is_published_beyond_this_machine(self):
        published = [port for service in self.services.values() for port in service.get("ports", [])]
        self.assertTrue(published)
        for port in published:
            self.assertEqual(port["host_ip"], "127.0.0.1")

    def test_a_stop_waits_for_the_whole_drain(self):
        text = subprocess.run([os.environ["ATTUNE_SERVER_BINARY"], "--help"], check=True,
                              capture_output=True, text=True).stdout
        self.assertGreaterEqual(seconds(self.services["encoder"]["stop_grace_period"]),
                                drain_seconds(text) + 5)

    def test_envoy_and_prometheus_look_for_the_servers_by_their_name(self):
        self.assertEqual(self.services["encoder"]["deploy"]["replicas"], 2)
        envoy = yaml.safe_load((ROOT / "deploy/envoy/envoy.yaml").read_text())
        for cluster in envoy["static_resources"]["clusters"]:
            endpoint = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
            self.assertEqual(endpoint["address"]["socket_address"]["address"], "encoder")
        prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
        self.assertEqual(prometheus["scrape_configs"][0]["dns_sd_configs"][0]["names"], ["encoder"])

    def test_prometheus_takes_its_configuration_and_the_alert_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(FOLDER / "prometheus.yml", folder)
            shutil.copy(ROOT / "deploy/prometheus/alerts.yml", folder)
            subprocess.run(["promtool", "check", "config", pathlib.Path(folder) / "prometheus.yml"],
                           check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main()
