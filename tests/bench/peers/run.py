"""Measures attune's engine and its peers in turns, on the same token ids and the same cores.

For each peer, precision and number of threads, attune and the peer each run in a process of their
own and take turns on every row (attune, peer, attune pooled, then the other way round): what the
clock or a neighbour does to one it does to both, and only ratios within a pair are compared.
attune runs in the peer's precision. Run it through run.sh, which installs and converts what it
needs, on a machine that does nothing else.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import statistics
import sys

import numpy

import engine_process
import machine
import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PRECISIONS = {
    "openvino": ("f32", "bf16", "int8"),
    "onnxruntime": ("f32", "int8"),
    "ctranslate2": ("f32", "int8"),
    "torch": ("f32", "bf16"),
}
ROWS = {
    **{f"{seq} tokens": {"run": "uniform", "seq": seq} for seq in (16, 128, 512)},
    **{f"{seq} tokens alone": {"run": "alone", "seq": seq} for seq in (16, 128, 512)},
    "mixed, sorted": {"run": "mixed", "sorted": True},
    "mixed, as they come": {"run": "mixed", "texts": 256},
}
LONG_PASS_SECONDS = 1.5
LONG_PASS_ROUNDS = 3


@dataclasses.dataclass(frozen=True)
class Subject:
    """Which peer, and how it and attune run."""
    peer: str
    precision: str
    threads: int


class Bench:
    """Starts engines and measures pairs of them."""

    def __init__(self, options):
        self.options = options
        self.log = open(options.output.with_suffix(".log"), "w", encoding="utf-8")
        self.allowed_cpus = sorted(os.sched_getaffinity(0))

    def start(self, argv, threads):
        # The last ones: interrupts tend to be served by the first.
        cpus = self.allowed_cpus[-threads:]
        environment = {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1",
                       "TOKENIZERS_PARALLELISM": "false"}
        return engine_process.EngineProcess(argv, cpus, environment, self.log)

    def start_attune(self, precision, threads):
        options = self.options
        return self.start([options.engine_bench, "--serve", "--model", options.model,
                           "--workload", options.workload, "--precision", precision,
                           "--threads", threads], threads)

    def start_peer(self, subject):
        options = self.options
        return self.start([sys.executable, HERE / "child.py", subject.peer, subject.precision,
                           subject.threads, options.workload, options.models, options.model],
                          subject.threads)

    def reference_vectors(self):
        """What f32 transformers computes for the accuracy texts, each alone."""
        with self.start_peer(Subject("torch", "f32", 1)) as torch:
            return numpy.array(torch.ask(run="vectors", alone=True)["vectors"])

    def measure(self, subject, reference):
        with contextlib.ExitStack() as stack:
            attune = stack.enter_context(self.start_attune(subject.precision, subject.threads))
            peer = stack.enter_context(self.start_peer(subject))
            session = dataclasses.asdict(subject) | {
                "attune": attune.ask(run="info"), "peer_info": peer.ask(run="info"),
                "accuracy": {"attune": accuracy(attune, reference),
                             "peer": accuracy(peer, reference)},
                "peak_gops": [attune.ask(run="peak")], "rows": {}}
            for name in self.options.rows:
                session["rows"][name] = self.measure_row(attune, peer, ROWS[name])
                session["peak_gops"].append(attune.ask(run="peak"))
        return session

    def measure_row(self, attune, peer, command):
        turns = [Turns(attune, command | {"output": "tokens"}), Turns(peer, command),
                 Turns(attune, command | {"output": "pooled"})]
        first = [turn.calibrate(self.options.turn_seconds) for turn in turns]
        rounds = self.options.rounds
        if max(first) > LONG_PASS_SECONDS:
            rounds = min(rounds, LONG_PASS_ROUNDS)
        for i in range(rounds):
            for turn in turns if i % 2 == 0 else reversed(turns):
                turn.take()
        facts = attune.ask(**command, warm=0)
        return {"texts": facts["texts"], "tokens": facts["tokens"], "flops": facts["flops"],
                "attune": turns[0].summary(), "peer": turns[1].summary(),
                "pooled": turns[2].summary()}


class Turns:
    """One engine's turns on one row. A turn is as many passes as fill it, after one unmeasured."""

    def __init__(self, engine, command):
        self.engine = engine
        self.command = command
        self.passes = 1
        self.warm = 1
        self.medians = []
        self.all_seconds = []

    def calibrate(self, turn_seconds):
        seconds = self.engine.ask(**self.command, warm=0, passes=1)["seconds"][0]
        self.passes = max(1, round(turn_seconds / seconds))
        # A long pass warms up by itself.
        self.warm = 1 if seconds < turn_seconds else 0
        return seconds

    def take(self):
        answer = self.engine.ask(**self.command, warm=self.warm, passes=self.passes)
        self.medians.append(statistics.median(answer["seconds"]))
        self.all_seconds += answer["seconds"]

    def summary(self):
        """Seconds of a pass: the median of each turn, and over all passes the 99th percentile."""
        ordered = sorted(self.all_seconds)
        return {"seconds": self.medians, "passes": len(ordered),
                "p99": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]}


def accuracy(engine, reference):
    """Against f32 transformers, and what company does to a vector: alone or in shuffled batches."""
    alone = numpy.array(engine.ask(run="vectors", alone=True)["vectors"])
    order = numpy.random.default_rng(1).permutation(len(alone))
    together = numpy.empty_like(alone)
    together[order] = numpy.array(
        engine.ask(run="vectors", order=order.tolist(), alone=False)["vectors"])
    norms = numpy.linalg.norm(alone, axis=1) * numpy.linalg.norm(reference, axis=1)
    cosines = (alone * reference).sum(axis=1) / norms
    change = numpy.abs(alone - together).max(axis=1)
    return {"texts": len(alone), "cosine_min": float(cosines.min()),
            "cosine_mean": float(cosines.mean()), "largest_change": float(change.max()),
            "bit_equal": int((change == 0).sum())}


def choice_list(choices):
    def parse(text):
        values = text.split(",")
        for value in values:
            if value not in choices:
                raise argparse.ArgumentTypeError(
                    f"'{value}' is not one of {', '.join(map(str, choices))}")
        return values
    return parse


def row_list(text):
    names = [name for name in ROWS for wanted in text.split(";") if name == wanted.strip()]
    if len(names) != len(text.split(";")):
        raise argparse.ArgumentTypeError(f"the rows are: {'; '.join(ROWS)}")
    return names


def parse_options(arguments):
    build = ROOT / "build"
    parser = argparse.ArgumentParser(
        prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--peers", type=choice_list(PRECISIONS), default=list(PRECISIONS), metavar="NAME,...",
        help=f"default: {','.join(PRECISIONS)}")
    add("--precisions", type=choice_list(("f32", "bf16", "int8")),
        default=["f32", "bf16", "int8"], metavar="NAME,...", help="default: f32,bf16,int8")
    add("--threads", type=choice_list(("1", "2")), default=["1", "2"], metavar="N,...",
        help="1, 2 or 1,2 (default); each thread has a core of its own")
    add("--rows", type=row_list, default=list(ROWS), metavar="NAME;...",
        help=f"default, all: {'; '.join(ROWS)}")
    add("--rounds", type=int, default=7, metavar="N",
        help="pairs per row (default 7); at most 3 where a pass takes more than 1.5 s")
    add("--turn-seconds", type=float, default=0.3, metavar="S",
        help="how long a turn lasts at least (default 0.3)")
    add("--quick", action="store_true", help="2 rounds of 0.05 s: does it all work?")
    add("--engine-bench", type=pathlib.Path, metavar="PATH",
        default=build / "release/tests/bench/engine_bench", help="default: the release build's")
    add("--model", type=pathlib.Path, required=True, metavar="FOLDER",
        help="Hugging Face folder of a BERT model (run.sh: the default model)")
    add("--workload", type=pathlib.Path, default=build / "peers/workload.json", metavar="FILE")
    add("--models", type=pathlib.Path, default=build / "peers/models", metavar="FOLDER",
        help="the peers' model files, from convert.py")
    add("--output", type=pathlib.Path, default=build / "peers/results.json", metavar="FILE",
        help="all figures, for report.py and plot.py (default: build/peers/results.json)")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.turn_seconds <= 0:
        parser.error("--rounds must be at least 1 and --turn-seconds above 0")
    if options.quick:
        options.rounds, options.turn_seconds = 2, 0.05
    if not options.engine_bench.exists():
        parser.error(f"{options.engine_bench} is not there: build the target engine_bench")
    return options


def subjects(options):
    available = len(os.sched_getaffinity(0))
    return [Subject(peer, precision, int(threads))
            for threads in options.threads if int(threads) <= available
            for peer in options.peers
            for precision in options.precisions if precision in PRECISIONS[peer]]


def main():
    options = parse_options(sys.argv[1:])
    bench = Bench(options)
    reference = bench.reference_vectors()
    results = {"machine": machine.describe(ROOT), "load_average": os.getloadavg()[0],
               "sessions": []}
    for subject in subjects(options):
        print(f"{subject.peer} {subject.precision}, threads: {subject.threads}", file=sys.stderr)
        results["sessions"].append(bench.measure(subject, reference))
        # Written after each, so that an interrupted run leaves what it has.
        options.output.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(report.tables([results]))


if __name__ == "__main__":
    main()
