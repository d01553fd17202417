#!/usr/bin/env python3
"""Prints the manual page of a program of attune, made from what its --help says.

Usage: deploy/debian/man-page.py PROGRAM SECTION SUMMARY [SUBCOMMAND...]

The help of each SUBCOMMAND becomes a section of the page. So a flag is described in one place, and
a page cannot fall behind the program. Files, signals and exit codes, which --help has no room for,
come from deploy/debian/man/PROGRAM.roff.
"""

import pathlib
import re
import subprocess
import sys


def escape(text):
    """Text that roff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def help_of(command):
    return subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout


def options(lines):
    """CLI11's two columns: a name at two spaces, with its variable, and what it means at the second
    column."""
    for line in lines:
        entry = re.match(r"  (\S.*?(?: +\(Env:\w+\))?)(?:  +(\S.*))?$", line)
        if entry:
            yield ".TP"
            yield ".B " + escape(entry[1])
            if entry[2]:
                yield escape(entry[2])
        elif line.strip():
            yield escape(line.strip())


def verbatim(lines):
    yield ".nf"
    yield from map(escape, lines)
    yield ".fi"


def body(text):
    """A help text: paragraphs, its examples as they stand, and groups of options."""
    for block in re.split(r"\n\n+", text.strip("\n")):
        lines = block.split("\n")
        if lines[0].startswith("Usage:"):
            yield from (".PP", ".B " + escape(lines[0].removeprefix("Usage: ")))
            lines = lines[1:]
            if not lines:
                continue
        heading = re.fullmatch(r"([A-Z][\w ,?]*):", lines[0])
        if heading:
            yield f'.SS "{heading[1]}"'
            yield from options(lines[1:])
        else:
            yield ".PP"
            yield from verbatim(lines)


def page(program, section, summary, subcommands):
    path = pathlib.Path(program)
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    name = path.name
    yield f'.TH {name.upper()} {section} "" "{version.stdout.strip()}"'
    yield ".SH NAME"
    yield f"{escape(name)} \\- {escape(summary)}"
    yield ".SH DESCRIPTION"
    yield from body(help_of([program]))
    for subcommand in subcommands:
        yield f'.SH "{name} {subcommand}"'.upper()
        yield from body(help_of([program, subcommand]))
    more = pathlib.Path(__file__).parent / "man" / f"{name}.roff"
    yield more.read_text().rstrip()


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] == "--help":
        print(__doc__)
        sys.exit(0 if sys.argv[1:2] == ["--help"] else 2)
    print("\n".join(page(*sys.argv[1:4], sys.argv[4:])))
