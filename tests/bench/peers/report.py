"""Prints the tables of one or more results files of run.py, as Markdown.

  report.py RESULTS.json...
"""

import json
import pathlib
import statistics
import sys


def peak(session):
    """Of the session's own precision, all threads together; None without such an instruction."""
    # Where the bf16 instruction runs at half rate, widening to f32 and multiplying there is faster.
    instructions = ("f32", "bf16") if session["precision"] == "bf16" else (session["precision"],)
    means = [statistics.mean(peaks[name] for peaks in session["peak_gops"])
             for name in instructions if session["peak_gops"][0][name]]
    return max(means, default=None)


def ratios(row, output):
    """How many times as fast as the peer attune is, in each pair of turns."""
    return [peer / attune
            for attune, peer in zip(row[output]["seconds"], row["peer"]["seconds"], strict=True)]


def speed(row, engine, peak_gops):
    seconds = statistics.median(row[engine]["seconds"])
    if row["texts"] == 1:
        return f"{seconds * 1e3:.2f} ms ({row[engine]['p99'] * 1e3:.2f})"
    mfu = f" ({row['flops'] / seconds / 1e9 / peak_gops * 100:.0f} %)" if peak_gops else ""
    return f"{row['texts'] / seconds:.1f}{mfu}"


def ratio_cell(values):
    return f"**{statistics.median(values):.2f}** ({min(values):.2f} .. {max(values):.2f})"


def peer_name(session):
    """With what it computes in besides its matrix products, where that is something else."""
    name = f"{session['peer']} {session['precision']}"
    other = session["peer_info"]["versions"].get("inference precision", session["precision"])
    return name if other == session["precision"] else f"{name} (rest {other})"


def speed_table(sessions, threads):
    lines = [f"### {threads} thread{'s' if threads > 1 else ''}", "",
             "| texts | peer | peer | attune | ratio | attune pooled | ratio |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    names = list(dict.fromkeys(name for session in sessions for name in session["rows"]))
    for name in names:
        for session in sessions:
            row = session["rows"].get(name)
            if session["threads"] != threads or row is None:
                continue
            cells = [name, peer_name(session), speed(row, "peer", peak(session)),
                     speed(row, "attune", peak(session)), ratio_cell(ratios(row, "attune")),
                     speed(row, "pooled", peak(session)), ratio_cell(ratios(row, "pooled"))]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def accuracy_table(sessions):
    lines = ["### Accuracy", "",
             "| engine | cosine to f32 transformers, least / mean | largest change in company "
             "| same bits alone and in company |",
             "| --- | --- | --- | --- |"]
    seen = set()
    for session in sessions:
        for engine, key in (("attune", "attune"), (session["peer"], "peer")):
            name = f"{engine} {session['precision']}"
            if name in seen:
                continue
            seen.add(name)
            values = session["accuracy"][key]
            lines.append(f"| {name} | {values['cosine_min']:.6f} / {values['cosine_mean']:.6f} "
                         f"| {values['largest_change']:.1e} "
                         f"| {values['bit_equal']} of {values['texts']} |")
    return "\n".join(lines)


def head(results):
    machine = results[0]["machine"]
    commits = sorted({result["machine"]["commit"] for result in results})
    sessions = [session for result in results for session in result["sessions"]]
    versions = {}
    for session in sessions:
        versions |= session["attune"]["versions"] | {
            name: version for name, version in session["peer_info"]["versions"].items()
            if name != "inference precision"}
    kernels = sorted({f"{session['precision']} {session['attune']['kernels']}"
                      for session in sessions})
    peaks = {}
    for session in sessions:
        for sample in session["peak_gops"]:
            for precision, gops in sample.items():
                if gops:
                    peaks.setdefault(precision, []).append(gops / session["threads"])
    lines = [f"- {machine['cpu']} ({machine['family and model']}), {machine['cores']} cores: "
             f"{' '.join(machine['isa'])}; {machine['os']}",
             f"- attune {', '.join(commits)}; kernels: {', '.join(kernels)}",
             "- " + ", ".join(f"{name} {version}" for name, version in sorted(versions.items())),
             "- peak in registers per core, G op/s, least .. most: " + ", ".join(
                 f"{precision} {min(values):.0f} .. {max(values):.0f}"
                 for precision, values in peaks.items())]
    return "\n".join(lines)


def tables(results):
    """All tables of several results, which must be of one machine. Their commits are listed."""
    if len({json.dumps(result["machine"] | {"commit": ""}) for result in results}) > 1:
        raise ValueError("the results are of different machines")
    sessions = [session for result in results for session in result["sessions"]]
    parts = [head(results)]
    for threads in sorted({session["threads"] for session in sessions}):
        parts.append(speed_table(sessions, threads))
    parts.append(accuracy_table(sessions))
    parts.append("Throughput rows: median of texts/s (MFU: useful operations as a share of the "
                 "peak of the row's type; bf16: or of f32, if that is higher).\nalone: median milliseconds (99th percentile). ratio: "
                 "attune's speed over the peer's, median of pairs (least .. most).")
    return "\n\n".join(parts)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(tables([json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
                  for path in sys.argv[1:]]))


if __name__ == "__main__":
    main()
