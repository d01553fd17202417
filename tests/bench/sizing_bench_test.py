#!/usr/bin/env python3
"""The sizing benchmark against real servers with a tiny model, for a moment; and its table.

  sizing_bench_test.py BUILD    # the folder of the programs
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent
SCRIPT = BENCH / "sizing_bench.py"
ROOT = BENCH.parents[1]
sys.path.insert(0, str(BENCH))

import sizing_bench  # noqa: E402

BUILD = None


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, "--build", BUILD, *arguments],
                          capture_output=True, text=True, check=False)


class SizingBenchTest(unittest.TestCase):

    def test_every_server_of_a_size_is_loaded(self):
        with tempfile.TemporaryDirectory() as model:
            subprocess.run([sys.executable, ROOT / "deploy/make-demo-model.py", "--into", model],
                           check=True, capture_output=True)
            done = run("--model", model, "--precisions", "f32", "--sizes", "1x2,2x1",
                       "--duration", "0.3", "--clients", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        sizes = json.loads(done.stdout)["sizes"]
        self.assertEqual([(size["servers"], size["threads"], len(size["reports"]))
                          for size in sizes], [(1, 2, 1), (2, 1, 2)])
        for size in sizes:
            self.assertGreater(size["resident_mb"], 1)
            for report in size["reports"]:
                self.assertGreater(report["texts_per_second"], 0)
                self.assertEqual(report["errors"], {})

    def test_refuses_nonsense(self):
        refused = run("--sizes", "2x0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("'2x0' is not a list of SERVERSxTHREADS", refused.stderr)

    def test_the_table_adds_servers_up_and_shows_the_slowest(self):
        def report(texts, p99):
            return {"texts_per_second": texts, "tokens_per_second": 30 * texts,
                    "latency_ms": {"p50": 1, "p99": p99}}

        table = sizing_bench.table({
            "machine": {"cpu": "a CPU", "cores": 4, "commit": "abc"}, "texts": "mixed",
            "clients": 16,
            "sizes": [{"precision": "int8", "servers": 2, "threads": 2, "resident_mb": 99.6,
                       "reports": [report(100, 40), report(140, 30)]}]})
        self.assertIn("| int8 | 2 x 2 | 240 | 60 | 7200 | 1 | 40 | 100 |", table)


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
