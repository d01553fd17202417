#!/usr/bin/env python3
"""Measures what attune-server makes of more work than it can do, with `attune bench` beside it.

First the capacity: closed loop, one text a request. Then open loop (Poisson arrivals, which do not
wait for answers) at multiples of it. Every answer is compared bit for bit with the vector its text
had before the load, and health is probed all the while. Refused requests are not tried again.

  tests/bench/overload_bench.py
  tests/bench/overload_bench.py --precision f32 -- --max-queue-wait 24h   # flags of the server
"""

import argparse
import json
import pathlib
import random
import re
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import machine  # noqa: E402
from bench_options import ROOT, add_programs, check_files, positive_numbers  # noqa: E402
from server_process import AttuneServer, free_port  # noqa: E402

# Each is one token in the vocabularies of BERT.
WORDS = ("the of and to in for is on that by this with you it not or be are from at as all have new "
         "more an was we will home can about if page my has search free but our one other do no time "
         "they he up may what which their news out use any there see only so his when here business "
         "who also now help get view first been would how were some these its like service than "
         "find price date back top people had list name just over state year day into two health "
         "world next used go work last most music buy data make them should product system post her "
         "city add number such support after best software then good video well where public books "
         "high school through each she review order very book company read group need many").split()
TEXTS = 64
SPECIAL_TOKENS = 2
SEED = 1

# So many that no request waits in the client for one of the 100 streams of a connection.
CONNECTIONS = 16
MAX_OUTSTANDING = 100 * CONNECTIONS


def parse_options(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_programs(parser)
    add("--precision", default="auto", help="f32, bf16, int8 or auto (default)")
    add("--tokens", type=int, default=256, help="of each text (default: 256)")
    add("--clients", type=int, default=4, help="of the closed loop (default: 4)")
    add("--loads", type=positive_numbers, default=[0.5, 1, 2, 5, 10], metavar="X,...",
        help="open loop, as multiples of the capacity (default: 0.5,1,2,5,10)")
    add("--duration", type=float, default=20, metavar="S", help="of each load (default: 20 s)")
    add("--warmup", type=float, default=5, metavar="S", help="before each load (default: 5 s)")
    add("--deadline", type=float, default=10, metavar="S", help="of each request (default: 10 s)")
    add("--json", action="store_true", help="print JSON instead of a table")
    add("server_flags", nargs="*", metavar="FLAG", help="further flags of the server, after --")
    options = parser.parse_args(arguments)
    check_files(parser, options.build / "server/attune-server", options.build / "client/attune")
    return options


def make_texts(tokens):
    """Texts of so many tokens each; a vocabulary that spells some words makes more, which are cut."""
    words = random.Random(SEED)
    return [" ".join(words.choices(WORDS, k=tokens - SPECIAL_TOKENS)) for _ in range(TEXTS)]


def read_refusals(metrics):
    """Of the server's histogram of how long calls took, that of the refusals of Encode: "count",
    "sum" in seconds, and the cumulative count under each bound in seconds."""
    values = {}
    for line in metrics.splitlines():
        labels = ('method="Encode"', 'code="RESOURCE_EXHAUSTED"')
        if not line.startswith("attune_rpc_duration_seconds_") or any(x not in line for x in labels):
            continue
        bound = re.search(r'le="([^"]*)"', line)
        key = float(bound.group(1)) if bound else line.partition("{")[0].rpartition("_")[2]
        values[key] = float(line.rpartition(" ")[2])
    return values


def refusals_between(before, after):
    """How many, the mean, and the bound of the bucket that holds the 99th percentile, in
    milliseconds; None if there were none."""
    values = {key: value - before.get(key, 0) for key, value in after.items()}
    count = values.get("count", 0)
    if count == 0:
        return None
    bounds = sorted(key for key in values if isinstance(key, float))
    p99 = next(bound for bound in bounds if values[bound] >= 0.99 * count)
    return {"count": int(count), "mean_ms": values["sum"] / count * 1e3, "p99_ms_at_most": p99 * 1e3}


def measure(options):
    ops_address = f"127.0.0.1:{free_port()}"
    common = ["--verify", "--probe-health", "--connections", CONNECTIONS, "--timeout",
              f"{options.deadline}s"]
    results = {"machine": machine.describe(ROOT), "precision": options.precision,
               "server_flags": options.server_flags, "loads": []}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as texts, \
            AttuneServer(options.build, options.model, "--precision", options.precision,
                         *options.server_flags, ops_address=ops_address) as server:
        texts.write("".join(f"{text}\n" for text in make_texts(options.tokens)))
        texts.flush()

        def refusals():
            with urllib.request.urlopen(f"http://{ops_address}/metrics", timeout=10) as reply:
                return read_refusals(reply.read().decode())

        def run(load, offered, *kind):
            before = refusals()
            report = server.load(texts.name, options.duration, options.warmup, *common, *kind)
            results["loads"].append({"load": load, "offered": offered, "report": report,
                                     "refused_in_server": refusals_between(before, refusals())})
            return report

        capacity = run("closed loop", None, "--clients", options.clients)["goodput"]
        for load in options.loads:
            rate = load * capacity
            run(load, rate, "--rate", f"{rate:.3f}", "--max-outstanding", MAX_OUTSTANDING)
        results["resident_mb"] = server.resident_mb()
    return results


def refused(report):
    return ", ".join(f"{reason} {count}" for reason, count in sorted(report["reasons"].items()))


def table(results):
    loads = results["loads"]
    peak = max(load["report"]["goodput"] for load in loads)
    at_capacity = next((load["report"]["latency_ms"]["p99"] for load in loads if load["load"] == 1),
                       None)
    described = ", ".join(str(results["machine"][key]) for key in ("cpu", "cores", "commit"))
    tokens = loads[0]["report"]["tokens_per_second"] / loads[0]["report"]["texts_per_second"]
    lines = [f"{described}; {results['precision']}, {tokens:.0f} tokens a text, server flags: "
             f"{' '.join(results['server_flags']) or 'none'}; memory at its highest "
             f"{results['resident_mb']:.0f} MB",
             "",
             "| load | offered/s | sent | answered | refused | other errors | goodput/s | of the peak "
             "| p50 ms | p99 ms | p99, of that at 1 x | refusal in the server, mean ms | its p99, at "
             "most | health p99 ms | failed | client cores | wrong |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- "
             "| --- | --- |"]
    for load in loads:
        report = load["report"]
        latency = report["latency_ms"]
        with_reason = sum(report["reasons"].values())
        others = sum(report["errors"].values()) - with_reason + report["not_sent"]
        in_server = load["refused_in_server"]
        closed = load["offered"] is None
        cells = [
            load["load"] if closed else f"{load['load']:g} x",
            "-" if closed else f"{load['offered']:.1f}",
            str(report["requests"] + report["not_sent"]), str(report["succeeded"]),
            refused(report) or "0", str(others), f"{report['goodput']:.1f}",
            f"{report['goodput'] / peak:.2f}", f"{latency['p50']:.0f}", f"{latency['p99']:.0f}",
            f"{latency['p99'] / at_capacity:.2f}" if at_capacity and not closed else "-",
            f"{in_server['mean_ms']:.2f}" if in_server else "-",
            f"{in_server['p99_ms_at_most']:g}" if in_server else "-",
            f"{report['health']['latency_ms']['p99']:.1f}", str(report["health"]["failed"]),
            f"{report['client_cpu_seconds'] / report['seconds']:.2f}", str(report["wrong"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    options = parse_options(sys.argv[1:])
    results = measure(options)
    print(json.dumps(results, indent=1) if options.json else table(results))


if __name__ == "__main__":
    main()
