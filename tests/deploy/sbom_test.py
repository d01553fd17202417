#!/usr/bin/env python3
"""The bill of materials of deploy/sbom.sh, as the SPDX project's own tools read it."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "deploy/sbom.sh"


def run(version, **environment):
    return subprocess.run([SCRIPT, version], capture_output=True, text=True,
                          env=os.environ | environment)


class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = run("1.2.3+a", SOURCE_DATE_EPOCH="1700000000").stdout
        with tempfile.NamedTemporaryFile("w", suffix=".spdx.json") as file:
            file.write(cls.text)
            file.flush()
            cls.document = parse_file(file.name)

    def test_it_is_a_valid_document(self):
        self.assertEqual(validate_full_spdx_document(self.document), [])

    def test_it_has_attune_and_every_package_that_is_installed(self):
        query = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"],
                               check=True, capture_output=True, text=True).stdout
        installed = {tuple(line.split()[1:]) for line in query.splitlines()
                     if line.startswith("installed ")}
        listed = {(package.name, package.version) for package in self.document.packages}
        self.assertEqual(listed, installed | {("attune", "1.2.3+a")})

    def test_scanners_find_a_package_by_its_url(self):
        urls = {package.name: package.external_references[0].locator
                for package in self.document.packages}
        self.assertRegex(urls["libc6"], r"^pkg:deb/debian/libc6@[^?+:]+\?arch=\w+&distro=\w+$")
        self.assertRegex(urls["libstdc++6"], r"^pkg:deb/debian/libstdc%2B%2B6@")

    def test_the_same_packages_give_the_same_document(self):
        self.assertEqual(run("1.2.3+a", SOURCE_DATE_EPOCH="1700000000").stdout, self.text)

    def test_a_version_that_would_break_the_document_is_refused(self):
        for version in ("", "1\"", "1 2"):
            self.assertEqual(run(version).returncode, 2, version)


if __name__ == "__main__":
    unittest.main()
