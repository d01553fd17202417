"""What tests in a browser share: the browser, a server, and ways to act and look."""

import os
import pathlib
import sys
import time
import unittest

from webdriver import Browser

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from attune_server import Server  # noqa: E402


def default_model():
    """In the cache, or where ATTUNE_TEST_MODEL points."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return os.environ.get("ATTUNE_TEST_MODEL") or str(cache / "attune/all-MiniLM-L6-v2")


class BrowserTest(unittest.TestCase):
    """Pages that say data-ready when they are, and what is wrong in #error. Screenshots go to the
    directory ATTUNE_SCREENSHOTS, for people to look at."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.pictures = pathlib.Path(os.environ.get("ATTUNE_SCREENSHOTS", "."))
        cls.pictures.mkdir(parents=True, exist_ok=True)

    def setUp(self):
        self.browser.resize(1280, 1000)
        self.browser.prefer("light")

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])

    # ---- Helpers ----

    def open(self, url):
        self.browser.open(url)
        self.wait("document.body.dataset.ready")

    def value(self, expression):
        return self.browser.run(f"return {expression}")

    def text(self, selector):
        return self.browser.run("return document.querySelector(arguments[0]).textContent", selector)

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not self.value(condition):
            if time.monotonic() > end:
                self.fail(f"never: {condition}; the page says: {self.text('#error')!r}")
            time.sleep(0.02)


class PageTest(BrowserTest):
    """The page of a server of its own."""

    @classmethod
    def server_arguments(cls):
        """The model folder, and flags."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.server_arguments())
        cls.addClassCleanup(cls.server.stop)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.show()

    # ---- Helpers ----

    def show(self, link=""):
        self.browser.open("about:blank")  # so that a link that differs in its fragment alone is loaded
        self.open(f"{self.server.url}/{link}")

    def enter(self, text):
        self.browser.run("document.getElementById('text').value = arguments[0]", text)
        self.browser.click("#text-form [type=submit]")
        self.wait("document.getElementById('status').textContent !== 'Computing'")

    def choose(self, selector, value):
        self.browser.run(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event('change'))", selector, value)

    def focus(self, selector):
        self.browser.run("document.querySelector(arguments[0]).focus()", selector)
