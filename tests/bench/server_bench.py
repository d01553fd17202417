#!/usr/bin/env python3
"""Measures attune-server over the wire with `attune bench` beside it, on the same machine.

One text per request, of the mixed texts of a workload file (peers/workload.py). Closed loop (each
client waits for its answer), then open loop (Poisson arrivals, timed from when each should have been
sent) at shares of the best closed-loop rate, or at given rates. Before and after each load the
engine by itself, in process, on such texts: what the server makes of it is the share.

  tests/bench/peers/run.sh --help      # once: installs what makes the workload file
  tests/bench/server_bench.py
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import engine_process  # noqa: E402
import http_load  # noqa: E402
import machine  # noqa: E402
from bench_options import ROOT, add_programs, check_files, positive_numbers  # noqa: E402
from server_process import AttuneServer, ServerProcess, free_port  # noqa: E402


def parse_options(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_programs(parser)
    add("--workload", type=pathlib.Path, default=ROOT / "build/peers/workload.json",
        metavar="FILE")
    add("--precision", default="f32", help="f32 (default), bf16 or int8")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)),
        help="workers of the server (default: the processors this may run on)")
    add("--clients", type=positive_numbers, default=[1, 16, 64, 256], metavar="N,...",
        help="closed loop (default: 1,16,64,256)")
    add("--shares", type=positive_numbers, default=[0.5, 0.8], metavar="X,...",
        help="open loop, as shares of the best closed-loop rate (default: 0.5,0.8)")
    add("--rates", type=positive_numbers, metavar="R,...",
        help="open loop, requests per second, instead of --shares")
    add("--duration", type=float, default=10, metavar="S", help="of each load (default: 10 s)")
    add("--warmup", type=float, default=2, metavar="S", help="before each load (default: 2 s)")
    add("--tei", type=pathlib.Path, metavar="PATH",
        help="a text-embeddings-router binary with HTTP to measure too, closed loop only")
    add("--tei-model", type=pathlib.Path, metavar="FOLDER",
        help="the model as TEI wants it, with onnx/model.onnx for ONNX Runtime (default: --model)")
    add("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    check_files(parser, options.workload, options.build / "tests/bench/engine_bench",
                options.build / "server/attune-server", options.build / "client/attune")
    return options


class Engine:
    """The engine by itself, in process. It stands still while the server is measured."""

    def __init__(self, options):
        argv = [options.build / "tests/bench/engine_bench", "--serve", "--model", options.model,
                "--workload", options.workload, "--threads", options.threads,
                "--precision", options.precision]
        self.process = engine_process.EngineProcess(argv, os.sched_getaffinity(0), {},
                                                    subprocess.DEVNULL)

    def tokens_per_second(self):
        """Now, to pooled vectors, on the first 256 mixed texts: the median of 3 passes."""
        answer = self.process.ask(run="mixed", texts=256, output="pooled", passes=3)
        return answer["tokens"] / statistics.median(answer["seconds"])


class TeiServer(ServerProcess):
    """text-embeddings-inference with its HTTP interface, measured by peers/http_load.py."""

    def __init__(self, options):
        self.port = free_port()
        super().__init__(
            [options.tei, "--model-id", options.tei_model or options.model, "--hostname",
             "127.0.0.1", "--port", self.port, "--auto-truncate"], {"HF_HUB_OFFLINE": "1"})

    def is_serving(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                return True
        except OSError:
            return False

    def load(self, options, requests, clients):
        loop = http_load.ClosedLoop(self.port, requests, clients)
        cpu = self.cpu_seconds()
        report = loop.run(options.warmup, options.duration)
        # The warm-up included: an upper bound.
        return report | {"server_cpu_seconds": self.cpu_seconds() - cpu}


def run_loads(options, server, engine, texts):
    """Each load between two measurements of the engine, since clocks and neighbours change."""
    loads = []
    rates = [engine.tokens_per_second()]

    def run(name, *kind):
        report = server.load(texts, options.duration, options.warmup, *kind)
        rates.append(engine.tokens_per_second())
        loads.append({"load": name, "report": report,
                      "engine_tokens_per_second": statistics.mean(rates[-2:])})

    for clients in options.clients:
        run(f"{int(clients)} clients", "--clients", int(clients))
    best = max((load["report"]["texts_per_second"] for load in loads), default=0)
    for rate in options.rates or [share * best for share in options.shares]:
        run(f"{rate:.0f} requests/s", "--rate", f"{rate:.3f}")
    return loads


def run_tei_loads(options, workload):
    requests = [
        (http_load.encode_request("/embed", json.dumps({"inputs": text}).encode()), len(ids))
        for text, ids in zip(workload["mixed_texts"], workload["mixed"], strict=True)]
    with TeiServer(options) as server:
        return [{"load": f"TEI, {int(clients)} clients",
                 "report": server.load(options, requests, int(clients))}
                for clients in options.clients]


def measure(options):
    workload = json.loads(options.workload.read_text(encoding="utf-8"))
    results = {"machine": machine.describe(ROOT), "precision": options.precision,
               "threads": options.threads}
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".txt"))
        file.write("".join(f"{text}\n" for text in workload["mixed_texts"]))
        file.flush()
        server = stack.enter_context(
            AttuneServer(options.build, options.model, "--threads", options.threads, "--precision",
                         options.precision))
        engine = Engine(options)
        stack.enter_context(engine.process)
        results["loads"] = run_loads(options, server, engine, file.name)
        results["resident_mb"] = server.resident_mb()
    if options.tei:
        results["loads"] += run_tei_loads(options, workload)
    return results


def share_of_engine(load):
    engine = load.get("engine_tokens_per_second")  # not beside another server
    return f"{load['report']['tokens_per_second'] / engine:.2f}" if engine else "-"


def table(results):
    machine_line = ", ".join(str(results["machine"][key]) for key in ("cpu", "cores", "commit"))
    lines = [f"{machine_line}; {results['precision']}, {results['threads']} workers; memory at its "
             f"highest {results['resident_mb']:.0f} MB",
             "",
             "| load | texts/s | tokens/s | of the engine's | p50 ms | p99 ms | p99.9 ms "
             "| p99 ms by tokens, up to | errors | client CPU s | server CPU s |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for load in results["loads"]:
        report = load["report"]
        latency = report["latency_ms"]
        by_tokens = ", ".join(f"{x['max_tokens']}: {x['p99']:.0f}"
                              for x in report["latency_ms_by_tokens"])
        errors = sum(report["errors"].values()) + report["not_sent"]
        cells = [load["load"], f"{report['texts_per_second']:.1f}",
                 f"{report['tokens_per_second']:.0f}", share_of_engine(load), f"{latency['p50']:.1f}",
                 f"{latency['p99']:.1f}", f"{latency['p99.9']:.1f}", by_tokens, str(errors),
                 f"{report['client_cpu_seconds']:.2f}", f"{report['server_cpu_seconds']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    options = parse_options(sys.argv[1:])
    if not options.tei:
        print("server_bench: no --tei PATH, so attune-server only", file=sys.stderr)
    results = measure(options)
    print(json.dumps(results, indent=1) if options.json else table(results))


if __name__ == "__main__":
    main()
