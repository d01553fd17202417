#!/usr/bin/env python3
"""Measures what servers of different sizes do: texts a second, answers' times and memory, by precision,
by servers and by threads of each. For choosing how many cores a server gets, and how many servers.

  tests/bench/sizing_bench.py
  tests/bench/sizing_bench.py --precisions int8 --sizes 1x4,2x2,4x1   # SERVERSxTHREADS

All servers of a size run together, each with `attune bench` of its own beside it on the same
cores: --clients requests under way, one text each, from the built-in book.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import machine  # noqa: E402
from bench_options import ROOT, add_programs, check_files  # noqa: E402
from server_process import AttuneServer  # noqa: E402

WORDS = {"short": "5-40", "mixed": "mixed", "long": "180-180"}


def sizes(text):
    parts = [re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", part) for part in text.split(",")]
    if not all(parts):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of SERVERSxTHREADS")
    return [(int(part[1]), int(part[2])) for part in parts]


def parse_options(arguments):
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_programs(parser)
    add("--precisions", default="f32,bf16,int8", metavar="NAME,...")
    add("--sizes", type=sizes, default=f"1x1,1x{cores},{cores}x1", metavar="SERVERSxTHREADS,...",
        help="default: one server with one thread, one with a thread for each core, and as many "
             "servers with one thread (here: %(default)s)")
    add("--texts", choices=WORDS, default="mixed", help="their lengths (default: mixed)")
    add("--clients", type=int, default=16, help="of each server (default: 16)")
    add("--duration", type=float, default=20, metavar="S", help="of each load (default: 20 s)")
    add("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    check_files(parser, options.build / "server/attune-server", options.build / "client/attune")
    return options


def measure_size(options, precision, servers, threads):
    """The reports of all servers, and the most memory of any."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(AttuneServer(options.build, options.model, "--precision",
                                                    precision, "--threads", str(threads)))
                   for _ in range(servers)]

        def load(server):
            return server.bench(options.duration, min(3, options.duration), "--words",
                                WORDS[options.texts], "--clients", options.clients)

        with concurrent.futures.ThreadPoolExecutor(servers) as pool:
            reports = list(pool.map(load, running))
        return {"precision": precision, "servers": servers, "threads": threads, "reports": reports,
                "resident_mb": max(server.resident_mb() for server in running)}


def measure(options):
    return {"machine": machine.describe(ROOT), "texts": options.texts, "clients": options.clients,
            "sizes": [measure_size(options, precision, *size)
                      for precision in options.precisions.split(",") for size in options.sizes]}


def table(results):
    described = ", ".join(str(results["machine"][key]) for key in ("cpu", "cores", "commit"))
    lines = [f"{described}; {results['texts']} texts, {results['clients']} clients a server", "",
             "| precision | servers x threads | texts/s | a thread | tokens/s | p50 ms | p99 ms "
             "| memory of a server, MB |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for size in results["sizes"]:
        reports = size["reports"]
        texts = sum(report["texts_per_second"] for report in reports)
        tokens = sum(report["tokens_per_second"] for report in reports)
        worst = {name: max(report["latency_ms"][name] for report in reports)
                 for name in ("p50", "p99")}
        lines.append(
            f"| {size['precision']} | {size['servers']} x {size['threads']} | {texts:.0f} "
            f"| {texts / (size['servers'] * size['threads']):.0f} | {tokens:.0f} "
            f"| {worst['p50']:.0f} | {worst['p99']:.0f} | {size['resident_mb']:.0f} |")
    return "\n".join(lines)


def main():
    options = parse_options(sys.argv[1:])
    results = measure(options)
    print(json.dumps(results, indent=1) if options.json else table(results))


if __name__ == "__main__":
    main()
