#!/usr/bin/env python3
"""The Dockerfile, as far as it can be held without building it. ATTUNE_TEST_TOOLS is the folder with
hadolint."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "Dockerfile"


def instructions():
    """Each instruction on one line, without comments."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    return [line for line in "\n".join(lines).replace("\\\n", "").splitlines() if line]


def sent_to_the_builder():
    """The names at the root of the tree that .dockerignore lets through."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    return {line[1:] for line in lines if line.startswith("!")}


class DockerfileTest(unittest.TestCase):
    def test_hadolint_has_nothing_to_say(self):
        subprocess.run([pathlib.Path(os.environ["ATTUNE_TEST_TOOLS"]) / "hadolint", DOCKERFILE],
                       check=True)

    def test_what_it_takes_from_the_tree_is_there_and_is_sent_to_the_builder(self):
        sources = []
        for line in instructions():
            if line.startswith("COPY ") and "--from=" not in line:
                sources += line.split()[1:-1]
            sources += re.findall(r"--mount=type=bind,source=([^,]+),", line)
        self.assertGreater(len(sources), 3)
        for source in sources:
            self.assertTrue((ROOT / source).exists(), source)
            self.assertTrue(source == "." or source.split("/")[0] in sent_to_the_builder(), source)

    def test_everything_that_the_build_reads_is_sent_to_the_builder(self):
        folders = re.findall(r"^add_subdirectory\((\w+)\)", (ROOT / "CMakeLists.txt").read_text(),
                             re.MULTILINE)
        self.assertTrue(folders)
        self.assertLessEqual(set(folders) | {"CMakeLists.txt", "CMakePresets.json"},
                             sent_to_the_builder())

    def test_it_runs_as_a_user_without_a_name_and_is_stopped_as_it_drains(self):
        lines = instructions()
        runtime = lines[max(i for i, line in enumerate(lines) if line.startswith("FROM ")):]
        self.assertIn("USER 65532:65532", runtime)
        self.assertIn("STOPSIGNAL SIGTERM", runtime)


if __name__ == "__main__":
    unittest.main()
