#!/usr/bin/env python3
"""The overload benchmark against a real server with a tiny model, for a moment; and its table.

  overload_bench_test.py BUILD    # the folder of the programs
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent
SCRIPT = BENCH / "overload_bench.py"
ROOT = BENCH.parents[1]
sys.path.insert(0, str(BENCH))

import overload_bench  # noqa: E402

BUILD = None


class OverloadBenchTest(unittest.TestCase):

    def test_every_request_is_accounted_for_and_every_answer_right(self):
        with tempfile.TemporaryDirectory() as model:
            subprocess.run([sys.executable, ROOT / "deploy/make-demo-model.py", "--into", model],
                           check=True, capture_output=True)
            run = subprocess.run(
                [sys.executable, SCRIPT, "--build", BUILD, "--model", model, "--precision", "f32",
                 "--loads", "0.5,4", "--duration", "1", "--warmup", "0.3", "--clients", "4",
                 "--json", "--", "--threads", "1", "--max-queue-wait", "20ms"],
                capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        closed, *opened = json.loads(run.stdout)["loads"]
        self.assertEqual(closed["load"], "closed loop")
        self.assertEqual([load["load"] for load in opened], [0.5, 4])
        for load in (closed, *opened):
            report = load["report"]
            self.assertGreater(report["goodput"], 0)
            self.assertEqual(report["wrong"], 0)
            self.assertEqual(report["health"]["failed"], 0)
            self.assertEqual(report["requests"],
                             report["succeeded"] + sum(report["errors"].values()))
            # Each refusal has a reason, and the server has counted it too.
            refused = report["errors"].get("RESOURCE_EXHAUSTED", 0)
            self.assertEqual(sum(report["reasons"].values()), refused)
            if refused:
                self.assertGreaterEqual(load["refused_in_server"]["count"], refused)
        # Each text fills the model's 256 positions.
        self.assertAlmostEqual(closed["report"]["tokens_per_second"],
                               256 * closed["report"]["texts_per_second"], places=3)

    def test_refuses_nonsense(self):
        refused = subprocess.run([sys.executable, SCRIPT, "--build", BUILD, "--loads", "0"],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("'0' is not a list of numbers above 0", refused.stderr)


class RefusalsTest(unittest.TestCase):

    def test_takes_what_was_refused_meanwhile_from_the_histogram(self):
        def metrics(one, ten, seconds):
            name, labels = "attune_rpc_duration_seconds", 'method="Encode",code="RESOURCE_EXHAUSTED"'
            return "\n".join([
                f'{name}_count{{method="Encode",code="OK"}} 7',
                f'{name}_count{{method="Tokenize",code="RESOURCE_EXHAUSTED"}} 7',
                f'{name}_count{{{labels}}} {ten}', f'{name}_sum{{{labels}}} {seconds}',
                f'{name}_bucket{{{labels},le="0.001"}} {one}',
                f'{name}_bucket{{{labels},le="0.01"}} {ten}',
                f'{name}_bucket{{{labels},le="+Inf"}} {ten}'])

        before, after, late = (overload_bench.read_refusals(metrics(*values)) for values in
                               ((10, 20, 1.0), (109, 120, 1.5), (108, 120, 1.5)))
        self.assertIsNone(overload_bench.refusals_between(before, before))
        self.assertEqual(overload_bench.refusals_between(before, after),
                         {"count": 100, "mean_ms": 5, "p99_ms_at_most": 1})
        self.assertEqual(overload_bench.refusals_between(before, late)["p99_ms_at_most"], 10)


class TableTest(unittest.TestCase):

    @staticmethod
    def load(load, goodput, p99, reasons):
        report = {"goodput": goodput, "requests": 100, "succeeded": 90, "not_sent": 0,
                  "errors": {"RESOURCE_EXHAUSTED": sum(reasons.values())}, "reasons": reasons,
                  "latency_ms": {"p50": 1, "p99": p99}, "wrong": 0, "seconds": 2,
                  "texts_per_second": 10, "tokens_per_second": 2560, "client_cpu_seconds": 1,
                  "health": {"failed": 0, "latency_ms": {"p99": 3}}}
        return {"load": load, "offered": None if load == "closed loop" else 20, "report": report,
                "refused_in_server": None}

    def test_compares_with_the_peak_and_with_the_latency_at_capacity(self):
        table = overload_bench.table({
            "machine": {"cpu": "a CPU", "cores": 2, "commit": "abc"}, "precision": "f32",
            "server_flags": [], "resident_mb": 100,
            "loads": [self.load("closed loop", 40, 50, {}), self.load(1, 36, 100, {}),
                      self.load(5, 38, 150, {"QUEUE_FULL": 10})]})
        rows = [[cell.strip() for cell in line.split("|")[1:-1]]
                for line in table.splitlines() if line.startswith("|")]
        five = dict(zip(rows[0], rows[-1], strict=True))
        self.assertEqual(five["of the peak"], "0.95")
        self.assertEqual(five["p99, of that at 1 x"], "1.50")
        self.assertEqual(five["refused"], "QUEUE_FULL 10")
        self.assertEqual(five["other errors"], "0")
        self.assertEqual(five["client cores"], "0.50")


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
