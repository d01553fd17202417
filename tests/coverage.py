#!/usr/bin/env python3
"""Says how much of engine/, server/ and client/ the unit and integration tests reach: builds the
coverage preset, runs them, and prints lines and branches by directory, then the files with the
least. Branches that only exceptions take are not counted.

A server that runs as a process of its own counts only until it is told to stop: it then ends
without its counts being written, so server/main.cc has fewer lines than are run.

  deploy/install-packages.sh coverage && tests/coverage.py
  tests/coverage.py --report-only      # of what the tests have run since
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/coverage"
CODE = ("engine", "server", "client")

# Left out, as under ASan in .ci/run: what encodes texts by the hundred, or a model again under each
# cap on the instruction set. Without optimisation that takes minutes each.
SLOW = (r"\.under_|reduced_precision|default_model_quality|quality_command|VectorsAreTheSameBits"
        r"|HasTheSameBitsAlone|ATextsBitsDepend")


def run(*command, **kind):
    subprocess.run([str(argument) for argument in command], cwd=ROOT, check=True, **kind)


def build_and_test(jobs):
    run("cmake", "--preset", "coverage", "-DATTUNE_PRECOMPILED_HEADERS=ON")
    run("cmake", "--build", "--preset", "coverage", "--parallel", jobs)
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
    # A test that fails has reached what it has reached.
    subprocess.run(["ctest", "--test-dir", str(BUILD), "--no-tests=error", "--parallel", str(jobs),
                    "--label-regex", "^(unit|integration)$", "--exclude-regex", SLOW,
                    "--output-on-failure"], cwd=ROOT, check=False)


def measure(jobs):
    """Of each source file, what gcovr counts."""
    summary = BUILD / "coverage.json"
    filters = [f"--filter={ROOT}/{folder}/" for folder in CODE]
    run("gcovr", "--root", ROOT, *filters, "--exclude-throw-branches",
        "--exclude-unreachable-branches", "-j", jobs, "--json-summary", summary, BUILD)
    return json.loads(summary.read_text(encoding="utf-8"))["files"]


def percent(covered, total):
    return f"{100 * covered / total:5.1f} %" if total else "    - "


def report(files, least):
    directories = collections.defaultdict(collections.Counter)
    for file in files:
        path = pathlib.PurePosixPath(file["filename"])
        for directory in (str(path.parent), f"{path.parts[0]} in all"):
            for key in ("line_covered", "line_total", "branch_covered", "branch_total"):
                directories[directory][key] += file[key]
    print(f"{'directory':24} {'lines':>7} {'branches':>9}  lines in all")
    for directory, sums in sorted(directories.items()):
        print(f"{directory:24} {percent(sums['line_covered'], sums['line_total'])} "
              f"{percent(sums['branch_covered'], sums['branch_total']):>9}  {sums['line_total']:6}")
    low = [file for file in files if file["line_covered"] < least / 100 * file["line_total"]]
    print(f"\nfiles below {least:g} % of lines: {len(low)}")
    for file in sorted(low, key=lambda file: file["line_covered"] / file["line_total"]):
        print(f"  {percent(file['line_covered'], file['line_total'])} of {file['line_total']:4}  "
              f"{file['filename']}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report-only", action="store_true", help="neither build nor run tests")
    parser.add_argument("--least", type=float, default=90, metavar="PERCENT",
                        help="name the files with fewer lines (default: 90)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if not options.report_only:
        build_and_test(options.jobs)
    report(measure(options.jobs), options.least)


if __name__ == "__main__":
    main()
