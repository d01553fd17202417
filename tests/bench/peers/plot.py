"""Draws texts per second against length, from results files of run.py; and what a local attention
window saves, from ops_bench.

  plot.py throughput OUTPUT.svg RESULTS.json...
  plot.py window OUTPUT.svg OPS_BENCH.json

The second takes what `ops_bench --benchmark_filter=Windowed --benchmark_format=json` prints: cases
named seq:N/window:W, where a token sees W / 2 others on either side.
"""

import json
import pathlib
import re
import statistics
import sys

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

LENGTHS = (16, 128, 512)


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def speeds(session, engine):
    """Texts per second at each length, where it was measured."""
    points = []
    for seq in LENGTHS:
        row = session["rows"].get(f"{seq} tokens")
        if row:
            points.append((seq, row["texts"] / statistics.median(row[engine]["seconds"])))
    return points


def throughput_series(results):
    """{(engine, precision): [(length, texts/s)]} with one thread; attune's from its first session."""
    series = {}
    for session in (s for result in results for s in result["sessions"] if s["threads"] == 1):
        for engine, key in (("attune", "attune"), (session["peer"], "peer")):
            points = speeds(session, key)
            if points:
                series.setdefault((engine, session["precision"]), points)
    return series


def draw_throughput(series):
    precisions = [p for p in ("f32", "bf16", "int8") if any(key[1] == p for key in series)]
    figure, panels = pyplot.subplots(1, len(precisions), figsize=(4 * len(precisions), 4),
                                     sharey=True, squeeze=False)
    for panel, precision in zip(panels[0], precisions, strict=True):
        for (engine, of), points in series.items():
            if of == precision:
                panel.plot(*zip(*points, strict=True), marker="o", label=engine,
                           linewidth=2.5 if engine == "attune" else 1)
        panel.set(xscale="log", yscale="log", title=precision, xlabel="tokens per text")
        panel.set_xticks(LENGTHS, [str(seq) for seq in LENGTHS], minor=False)
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.legend()
    panels[0][0].set_ylabel("texts/s, one thread")
    return figure


def window_series(ops):
    """{window: [(length, microseconds)]} of the windowed cases of ops_bench."""
    series = {}
    for case in ops["benchmarks"]:
        match = re.fullmatch(r"BM_WindowedSelfAttention/seq:(\d+)/window:(\d+)", case["name"])
        if match:
            microseconds = case["cpu_time"] * {"ns": 1e-3, "us": 1, "ms": 1e3}[case["time_unit"]]
            series.setdefault(int(match[2]), []).append((int(match[1]), microseconds))
    return {window: sorted(points) for window, points in series.items()}


def draw_window(series):
    figure, panel = pyplot.subplots(figsize=(5, 4))
    for window, points in sorted(series.items()):
        sees_all = window // 2 >= points[-1][0]
        panel.plot(*zip(*points, strict=True), marker="o",
                   label="every token" if sees_all else f"window of {window} tokens")
    panel.set(xscale="log", yscale="log", xlabel="tokens per text",
              ylabel="microseconds per layer, 12 heads of 64")
    lengths = [seq for seq, _ in next(iter(series.values()))]
    panel.set_xticks(lengths, [str(seq) for seq in lengths])
    panel.minorticks_off()
    panel.grid(alpha=0.3)
    panel.legend()
    return figure


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("throughput", "window"):
        sys.exit(__doc__)
    files = [read(path) for path in sys.argv[3:]]
    if sys.argv[1] == "throughput":
        figure = draw_throughput(throughput_series(files))
    else:
        figure = draw_window(window_series(files[0]))
    figure.tight_layout()
    figure.savefig(sys.argv[2])


if __name__ == "__main__":
    main()
