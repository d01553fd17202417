#!/usr/bin/env python3
"""The server as a real Prometheus sees it, and what deploy/ asks of its metrics. ATTUNE_SERVER_BINARY
names the server; prometheus and promtool are on the path."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
from attune_server import Server  # noqa: E402
from loopback import free_port  # noqa: E402
from waiting import wait_for  # noqa: E402

ALERTS = ROOT / "deploy/prometheus/alerts.yml"
ALERTS_TEST = ROOT / "deploy/prometheus/alerts_test.yml"
RUNBOOK = ROOT / "deploy/README.md"
CONFIG = ROOT / "deploy/prometheus/prometheus.yml"
DASHBOARD = ROOT / "deploy/grafana/attune.json"
METRIC_NAME = re.compile(r"\b(?:attune|process)_[a-z0-9_]+\b")


def promtool(*arguments, **options):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True,
                          check=False, **options)


def panels_of(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


class Prometheus:
    """Scrapes `target` ten times a second, on a loopback port of its own."""

    def __init__(self, target, folder):
        config = pathlib.Path(folder) / "prometheus.yml"
        config.write_text(json.dumps({  # which is YAML as well
            "global": {"scrape_interval": "100ms", "scrape_timeout": "100ms"},
            "scrape_configs": [{"job_name": "attune", "scrape_interval": "500ms",
                                "scrape_timeout": "500ms",
                                "static_configs": [{"targets": [target]}]}],
        }), encoding="utf-8")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def value(self, query):
        """The value of the one series that `query` gives, or None."""
        asked = urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/query?{asked}", timeout=10) as reply:
                result = json.load(reply)["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            return None  # it is still starting
        return float(result[0]["value"][1]) if len(result) == 1 else None

    def stop(self):
        self.process.kill()
        self.process.wait()


class PrometheusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="attune-prometheus-")
        cls.addClassCleanup(cls.scratch.cleanup)
        model = pathlib.Path(cls.scratch.name) / "demo"
        subprocess.run([sys.executable, ROOT / "deploy/make-demo-model.py", "--into", model],
                       check=True, capture_output=True)
        cls.server = Server(model)
        cls.addClassCleanup(cls.server.stop)
        with urllib.request.urlopen(f"http://{cls.server.ops_address}/metrics") as reply:
            cls.metrics = reply.read().decode()

    def exposed_names(self):
        """Every name a query can use: a histogram's three, too."""
        return {re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*", line).group()
                for line in self.metrics.splitlines() if line and not line.startswith("#")}

    def test_promtool_finds_nothing_wrong_with_the_metrics(self):
        checked = promtool("check", "metrics", input=self.metrics)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def test_a_prometheus_scrapes_it_and_counts_the_calls(self):
        prometheus = Prometheus(self.server.ops_address, self.scratch.name)
        self.addCleanup(prometheus.stop)
        wait_for(lambda: prometheus.value('up{job="attune"}') == 1, "a scrape")
        counted = 'attune_rpc_duration_seconds_count{method="Encode",code="OK"}'
        before = wait_for(lambda: prometheus.value(f"{counted} + 1"), "the first count") - 1
        for _ in range(7):
            self.server.call("encode", {"texts": {"values": ["a cat"]}})
        wait_for(lambda: prometheus.value(counted) == before + 7, "the count of seven calls")
        self.assertEqual(prometheus.value("attune_ready"), 1)

    def test_the_alert_rules_are_right(self):
        for check in (["check", "rules", ALERTS], ["check", "config", CONFIG],
                      ["test", "rules", ALERTS_TEST]):
            done = promtool(*check)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_has_a_test_and_a_row_in_the_runbook_and_says_what_to_do(self):
        rules = ALERTS.read_text(encoding="utf-8")
        tests = ALERTS_TEST.read_text(encoding="utf-8")
        runbook = RUNBOOK.read_text(encoding="utf-8")
        names = re.findall(r"alert: (\w+)", rules)
        self.assertGreater(len(names), 8)
        for name in names:
            self.assertIn(name, tests)
            self.assertIn(f"\n| `{name}` |", runbook)
        for field in ("summary:", "description:", "severity:", "expr:"):
            self.assertEqual(rules.count(field), len(names), field)

    def test_the_rules_use_names_that_exist(self):
        expressions = re.findall(r"expr: \|\n((?: {10,}.*\n)+)", ALERTS.read_text(encoding="utf-8"))
        used = set(METRIC_NAME.findall("\n".join(expressions)))
        self.assertGreater(len(used), 8)
        self.assertEqual(used - self.exposed_names(), set())

    def test_the_dashboard_uses_names_that_exist_and_all_there_are(self):
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        queries = [target["expr"] for panel in panels_of(dashboard) for target in panel["targets"]]
        used = set(METRIC_NAME.findall("\n".join(queries)))
        self.assertEqual(used - self.exposed_names(), set())
        families = set(re.findall(r"^# TYPE (attune_\w+)", self.metrics, re.MULTILINE))
        shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in used}
        self.assertEqual(families - shown, set())

    def test_the_dashboards_queries_are_promql(self):
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        queries = [target["expr"] for panel in panels_of(dashboard) for target in panel["targets"]]
        rules = {"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel:{i}", "expr":
             query.replace("$__rate_interval", "1m").replace("$instance", ".*")}
            for i, query in enumerate(queries)]}]}
        file = pathlib.Path(self.scratch.name) / "dashboard-rules.yml"
        file.write_text(json.dumps(rules), encoding="utf-8")
        checked = promtool("check", "rules", file)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_dashboard_is_one_that_grafana_can_lay_out(self):
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        self.assertEqual([panel["title"] for panel in dashboard["panels"] if panel["type"] == "row"],
                         ["Traffic", "Latency", "Queue", "Batches", "Resources"])
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        taken = set()
        for panel in dashboard["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            self.assertEqual(cells & taken, set(), panel["title"])
            taken |= cells
        for panel in panels_of(dashboard):
            self.assertTrue(panel["targets"], panel["title"])


if __name__ == "__main__":
    os.environ.pop("http_proxy", None)
    unittest.main(verbosity=2)
