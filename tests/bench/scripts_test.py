#!/usr/bin/env python3
"""The scripts around the benchmarks, without any peer: ENGINE_BENCH in a process that takes turns,
the tables, and what is said about wrong options.

  scripts_test.py ENGINE_BENCH
"""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH / "peers"))

import engine_process  # noqa: E402
import http_load  # noqa: E402
import report  # noqa: E402

ENGINE_BENCH = None


def start():
    return engine_process.EngineProcess([ENGINE_BENCH, "--serve", "--shape", "tiny"],
                                        os.sched_getaffinity(0), {}, None)


def session(peer="openvino", threads=1, texts=32):
    def turns(*seconds):
        return {"seconds": list(seconds), "passes": len(seconds), "p99": max(seconds)}
    return {
        "peer": peer, "precision": "f32", "threads": threads,
        "attune": {"versions": {"oneDNN": "3.7"}, "kernels": "brg"},
        "peer_info": {"versions": {peer: "1.0"}},
        "accuracy": {engine: {"texts": 64, "cosine_min": 0.5, "cosine_mean": 0.75,
                              "largest_change": 0.0, "bit_equal": 64}
                     for engine in ("attune", "peer")},
        "peak_gops": [{"f32": 100.0, "bf16": None, "int8": None}],
        "rows": {"16 tokens": {
            "texts": texts, "tokens": texts * 16, "flops": 5e9, "attune": turns(0.1, 0.1, 0.2),
            "peer": turns(0.2, 0.3, 0.2), "pooled": turns(0.1, 0.1, 0.1)}},
    }


def result(*sessions, commit="abc", cpu="a CPU"):
    return {"machine": {"cpu": cpu, "family and model": "6/1", "isa": ["avx2"], "cores": 2,
                        "os": "an OS", "commit": commit}, "sessions": list(sessions)}


class EngineProcessTest(unittest.TestCase):

    def test_answers_with_the_seconds_of_every_pass(self):
        with start() as engine:
            answer = engine.ask(run="uniform", seq=16, passes=3)
            self.assertEqual(len(answer["seconds"]), 3)
            self.assertEqual((answer["texts"], answer["tokens"]), (32, 512))

    def test_names_what_is_wrong_with_a_command_and_goes_on(self):
        with start() as engine:
            with self.assertRaisesRegex(RuntimeError, "seq is 17"):
                engine.ask(run="uniform", seq=17)
            engine.process.send_signal(0)
            self.assertEqual(engine.ask(run="info")["precision"], "f32")

    def test_stands_still_between_questions(self):
        with start() as engine:
            engine.ask(run="info")
            give_up = time.monotonic() + 10
            while self.state(engine) != "T" and time.monotonic() < give_up:
                time.sleep(0.01)
            self.assertEqual(self.state(engine), "T")

    def test_text_vectors_do_not_depend_on_company(self):
        with start() as engine:
            alone = engine.ask(run="vectors", alone=True)["vectors"]
            self.assertEqual(engine.ask(run="vectors")["vectors"], alone)
            backwards = engine.ask(run="vectors", order=list(reversed(range(64))))["vectors"]
            self.assertEqual(backwards, alone[::-1])

    @staticmethod
    def state(engine):
        stat = pathlib.Path(f"/proc/{engine.process.pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0]


class ReportTest(unittest.TestCase):

    def test_ratio_is_the_median_of_pairs(self):
        # 0.2 / 0.1, 0.3 / 0.1 and 0.2 / 0.2.
        self.assertIn("**2.00** (1.00 .. 3.00)", report.tables([result(session())]))

    def test_throughput_has_texts_per_second_and_mfu(self):
        # attune: 32 texts and 5 Gflop in 0.1 s at a peak of 100.
        self.assertIn("320.0 (50 %)", report.tables([result(session())]))

    def test_lone_texts_are_in_milliseconds(self):
        self.assertIn("100.00 ms (200.00)", report.tables([result(session(texts=1))]))

    def test_merges_runs_of_one_machine_only(self):
        merged = report.tables([result(session()), result(session("torch", threads=2))])
        self.assertIn("### 2 threads", merged)
        self.assertIn("attune abc, def",
                      report.tables([result(session()), result(session(), commit="def")]))
        with self.assertRaisesRegex(ValueError, "different machines"):
            report.tables([result(session()), result(session(), cpu="another CPU")])


class HttpLoadTest(unittest.TestCase):

    class Embedder(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps([[0.0]]).encode()
            self.send_response(200 if body["inputs"] else 413)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    def test_counts_answers_errors_and_length_classes(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Embedder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        requests = [(http_load.encode_request("/embed", json.dumps({"inputs": text}).encode()),
                     tokens) for text, tokens in (("a", 16), ("b", 17), ("", 3))]
        loop = http_load.ClosedLoop(server.server_port, requests, clients=2)
        measured = loop.run(warmup=0.05, seconds=0.3)
        self.assertGreater(measured["errors"]["413"], 0)
        classes = measured["latency_ms_by_tokens"]
        self.assertEqual([length["max_tokens"] for length in classes], [16, 32])
        self.assertEqual(sum(length["requests"] for length in classes)
                         + measured["errors"]["413"], measured["requests"])
        self.assertLessEqual(measured["latency_ms"]["p50"], measured["latency_ms"]["p99.9"])


class OptionsTest(unittest.TestCase):

    def test_server_bench_explains_itself_and_refuses_nonsense(self):
        script = [sys.executable, BENCH / "server_bench.py"]
        helped = subprocess.run([*script, "--help"], capture_output=True, text=True, check=True)
        self.assertIn("--rates", helped.stdout)
        refused = subprocess.run([*script, "--clients", "0"], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("'0' is not a list of numbers above 0", refused.stderr)

    def test_every_script_compiles(self):
        for script in [*BENCH.glob("*.py"), *BENCH.glob("peers/*.py")]:
            compile(script.read_text(encoding="utf-8"), str(script), "exec")


if __name__ == "__main__":
    ENGINE_BENCH = sys.argv.pop(1)
    unittest.main()
