"""The page that `attune export-html` writes, opened from disk in a real browser after its server is
gone.

ATTUNE_SERVER_BINARY and ATTUNE_PROGRAM name the programs; the model is in the cache, or where
ATTUNE_TEST_MODEL points. Screenshots go to the directory ATTUNE_SCREENSHOTS, for people to look at.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "browser"))
from page import BrowserTest, Server, default_model  # noqa: E402

HOSTILE = "</script><img src=x onerror=document.title='broken'>"
TEXTS = {
    "words": "The cat sat on the mat because it was tired.",
    "hostile": f"a <b>bold</b> cat & {HOSTILE} \u2028 {{{{attune}}}}",
    "arabic": "القط جلس على الحصيرة",
    "chinese": "今天天气很好",
    "long": " ".join(f"word {i} of a long text" for i in range(200)),
}


def export_pages(folder):
    """Writes the pages of all texts with a server that runs only for this."""
    server = Server(default_model(), "--max-input-tokens", "512")
    try:
        more = {"long": ["--layer", "-1"], "words": []}
        jobs = [(name, [text, *more.get(name, [])]) for name, text in TEXTS.items()]
        jobs.append(("rollout", [TEXTS["words"], "--matrix", "rollout"]))
        jobs.append(("pair", ["--pair", "who is it?", "it is me", "--encoding", "u8"]))
        for name, arguments in jobs:
            subprocess.run([os.environ["ATTUNE_PROGRAM"], "export-html", *arguments, "--server",
                            server.address, "--output", str(folder / f"{name}.html")],
                           check=True, stderr=subprocess.DEVNULL)
    finally:
        server.stop()


class ExportPageTest(BrowserTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="attune-pages-")
        cls.addClassCleanup(folder.cleanup)
        cls.pages = pathlib.Path(folder.name)
        export_pages(cls.pages)
        super().setUpClass()

    def show(self, name):
        self.open((self.pages / f"{name}.html").as_uri())

    def embedded(self, element):
        return json.loads(self.value(f"document.getElementById('{element}').textContent"))

    def drawn(self, selector):
        """Whether the canvas shows more than one colour."""
        return self.browser.run("""
            const canvas = document.querySelector(arguments[0]);
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            const colors = new Set();
            for (let i = 0; i < pixels.length; i += 4) {
              colors.add(pixels.slice(i, i + 4).join(','));
              if (colors.size > 1) return true;
            }
            return false;""", selector)

    def test_every_panel_is_drawn_without_a_server(self):
        self.show("words")
        self.wait("document.querySelector('#heat-map').width > 300")
        reply = self.embedded("attune")["response"]
        cells = self.value("document.querySelectorAll('#grid .cell').length")
        self.assertEqual(cells, len(reply["layers"]) * len(reply["heads"]))
        for canvas in ["#grid canvas", "#head-view canvas", "#heat-map"]:
            self.assertTrue(self.drawn(canvas), canvas)
        self.browser.screenshot(self.pictures / "export_words.png")

    def test_every_page_opens(self):
        for name in [*TEXTS, "rollout", "pair"]:
            with self.subTest(name):
                self.show(name)
                self.assertEqual(self.value("document.getElementById('error').textContent"), "")
                self.wait("document.querySelector('#heat-map').width > 300")
                self.assertTrue(self.drawn("#heat-map"))
                self.browser.screenshot(self.pictures / f"export_{name}.png")

    def test_text_is_never_html(self):
        self.show("hostile")
        self.assertEqual(self.value("document.querySelector('main bdi').textContent"), TEXTS["hostile"])
        self.assertEqual(self.value("document.querySelectorAll('img, main b').length"), 0)
        self.assertNotEqual(self.value("document.title"), "broken")
        self.assertEqual(self.embedded("attune")["request"]["query"]["text"], TEXTS["hostile"])

    def test_nothing_is_loaded_and_other_scripts_do_not_run(self):
        self.show("words")
        self.assertEqual(self.value("performance.getEntriesByType('resource').length"), 0)
        self.browser.run("""
            const script = document.createElement('script');
            script.textContent = "document.title = 'broken'";
            document.body.append(script);""")
        self.assertNotEqual(self.value("document.title"), "broken")
        refusals = self.browser.errors()  # what the policy says about it
        self.assertTrue(all("Content Security Policy" in message for message in refusals), refusals)

    def test_a_head_opens_and_a_token_is_pinned(self):
        self.show("words")
        self.browser.click("#grid [aria-label='layer 2, head 7']")
        self.assertEqual(self.value("document.getElementById('map-name').textContent"), "layer 2, head 7")
        self.browser.run("document.getElementById('heat-map').focus()")
        self.browser.keys("Right", "Down", "Down", "Enter")
        reply = self.embedded("attune")["response"]
        readout = self.value("document.getElementById('readout').textContent")
        self.assertRegex(readout, r"^layer 2, head 7, from .* \(2\) to .* \(0\): [0-9.e-]+$")
        self.assertIn(reply["tokens"][2]["text"],
                      self.value("document.getElementById('unpin').textContent"))
        self.assertEqual(self.value("document.querySelectorAll('#inspect table').length"), 2)
        self.browser.keys("Escape")
        self.assertTrue(self.value("document.getElementById('unpin').hidden"))

    def test_heads_are_chosen_and_never_none(self):
        self.show("words")
        pressed = "[...document.querySelectorAll('.chip[aria-pressed=true]')].map((c) => c.textContent)"
        self.browser.click("[aria-label='head 3']")
        self.assertEqual(self.value(pressed), ["0", "3"])
        self.browser.click("[aria-label='head 0']")
        self.browser.click("[aria-label='head 3']")
        self.assertEqual(self.value(pressed), ["3"])

    def test_statistics_are_in_the_page(self):
        self.show("words")
        self.browser.run("""
            const select = document.getElementById('statistic');
            select.value = 'entropy';
            select.dispatchEvent(new Event('change'));""")
        statistics = self.embedded("attune")["response"]["statistics"]
        label = self.value("document.querySelector('#grid .cell').getAttribute('aria-label')")
        self.assertRegex(label, r"^layer 5, head 0: [0-9.]+")
        shown = float(re.search(r": ([0-9.]+)", label).group(1))
        expected = next(s["entropy"] for s in statistics if s["layer"] == 5 and s["head"] == 0)
        self.assertAlmostEqual(shown, expected, delta=0.01)

    def test_bertviz_takes_the_data(self):
        self.show("words")
        bertviz = self.embedded("bertviz")
        reply = self.embedded("attune")["response"]
        attention = bertviz["attention"][0]
        self.assertEqual(attention["left_text"], [token["text"] for token in reply["tokens"]])
        self.assertEqual([len(attention["attn"]), len(attention["attn"][0])], [6, 12])
        for layer in attention["attn"]:
            for head in layer:
                for row in head:
                    self.assertAlmostEqual(sum(row), 1, delta=2e-3)

    def test_narrow_and_dark(self):
        self.browser.resize(360, 800)
        self.browser.prefer("dark")
        self.show("words")
        self.assertLessEqual(self.value("document.documentElement.scrollWidth"), 360)
        self.browser.screenshot(self.pictures / "export_narrow_dark.png")


if __name__ == "__main__":
    unittest.main(verbosity=2)
