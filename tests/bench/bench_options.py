"""What the benchmarks of the server take on the command line."""

import argparse
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def positive_numbers(text):
    try:
        values = [float(value) for value in text.split(",")]
    except ValueError:
        values = [0]
    if min(values) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers above 0")
    return values


def add_programs(parser):
    """--build and --model: what is measured."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    model = os.environ.get("ATTUNE_TEST_MODEL") or cache / "attune/all-MiniLM-L6-v2"
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        metavar="FOLDER", help="whose programs to run (default: build/release)")
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path(model), metavar="FOLDER")


def check_files(parser, *paths):
    for path in paths:
        if not path.exists():
            parser.error(f"{path} is not there")
