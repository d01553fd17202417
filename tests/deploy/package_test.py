#!/usr/bin/env python3
"""The Debian package and the service in it. ATTUNE_BUILD names the build folder whose programs are
packed."""

import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
from server_flags import drain_seconds  # noqa: E402

SETTINGS = ROOT / "deploy/debian/attune.default"
UNIT = ROOT / "deploy/systemd/attune.service"
FLAG = re.compile(r"^  (?:-\w,)?(--[a-z-]+)", re.MULTILINE)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True,
                          text=True, **options).stdout


def unit_value(key):
    return re.search(rf"^{key}=(.*)$", UNIT.read_text(), re.MULTILINE)[1]


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.package = run(ROOT / "deploy/debian/make-package.sh", os.environ["ATTUNE_BUILD"]).strip()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.tree = pathlib.Path(folder.name)
        run("dpkg-deb", "--extract", cls.package, cls.tree)

    def help_of(self, *command):
        return run(self.tree / "usr/bin" / command[0], *command[1:], "--help")

    def test_holds_the_programs_the_service_its_settings_and_how_to_get_a_model(self):
        files = {"/" + str(path.relative_to(self.tree)) for path in self.tree.rglob("*")
                 if path.is_file()}
        self.assertEqual(files, {
            "/etc/default/attune",
            "/usr/bin/attune",
            "/usr/bin/attune-server",
            "/usr/lib/systemd/system/attune.service",
            "/usr/share/attune/all-MiniLM-L6-v2.sha256",
            "/usr/share/attune/fetch-model.py",
            "/usr/share/man/man1/attune.1.gz",
            "/usr/share/man/man8/attune-server.8.gz",
        })

    def test_asks_for_the_libraries_that_its_programs_load(self):
        depends = run("dpkg-deb", "--field", self.package, "Depends")
        for library in ("libgrpc++", "libprotobuf", "libdnnl", "libcpp-httplib", "libssl"):
            self.assertIn(library, depends)

    def test_keeps_the_settings_that_an_administrator_changed(self):
        run("dpkg-deb", "--control", self.package, self.tree / "control")
        self.assertEqual((self.tree / "control/conffiles").read_text(), "/etc/default/attune\n")

    def test_the_manual_describes_every_flag_of_both_programs(self):
        for command, page in ((["attune-server"], "man8/attune-server.8.gz"),
                              (["attune"], "man1/attune.1.gz"),
                              (["attune", "attention"], "man1/attune.1.gz"),
                              (["attune-server", "check"], "man8/attune-server.8.gz")):
            text = gzip.open(self.tree / "usr/share/man" / page, "rt").read().replace("\\-", "-")
            flags = FLAG.findall(self.help_of(*command))
            self.assertTrue(flags, command)
            for flag in flags:
                self.assertIn(flag, text, command)

    def test_no_default_in_the_manual_is_the_builders(self):
        for page in self.tree.glob("usr/share/man/*/*.gz"):
            self.assertNotIn(os.path.expanduser("~/"), gzip.open(page, "rt").read())

    def test_every_variable_in_the_settings_is_one_of_the_server(self):
        known = set(re.findall(r"Env:(ATTUNE_\w+)", self.help_of("attune-server")))
        named = set(re.findall(r"^#?(ATTUNE_\w+)=", SETTINGS.read_text(), re.MULTILINE))
        self.assertTrue(named)
        self.assertEqual(named - known, set())

    def test_systemd_takes_the_unit_and_calls_it_well_confined(self):
        unit = self.tree / "attune.service"
        unit.write_text(UNIT.read_text().replace("/usr/bin", str(self.tree / "usr/bin")))
        checked = subprocess.run(["systemd-analyze", "verify", "--man=no", unit],
                                 capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)

    def test_systemd_waits_for_the_whole_drain(self):
        drain = drain_seconds(self.help_of("attune-server"))
        self.assertGreaterEqual(int(unit_value("TimeoutStopSec")), drain + 5)


if __name__ == "__main__":
    unittest.main()
