"""The word-order example of the page, with the model that deploy/make-demo-model.py makes for it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from page import PageTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "deploy/make-demo-model.py"
ORDERS = ["吃饭没", "没吃饭", "没饭吃", "饭吃没", "饭没吃"]


class WordOrderTest(PageTest):
    @classmethod
    def server_arguments(cls):
        folder = tempfile.TemporaryDirectory(prefix="attune-demo-")
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([sys.executable, SCRIPT, "--into", folder.name], check=True,
                       stdout=subprocess.DEVNULL)
        return [folder.name]

    def test_five_orders_of_three_characters_give_five_pictures(self):
        self.wait("!document.getElementById('word-order').hidden")
        buttons = self.value("[...document.querySelectorAll('#word-order-buttons button')]"
                             ".map((button) => button.textContent)")
        self.assertEqual(buttons, ORDERS)
        pictures = set()
        for number, order in enumerate(ORDERS, 1):
            self.browser.click(f"#word-order-buttons :nth-child({number})")
            self.wait("document.getElementById('status').textContent === "
                      "'Attention of 5 tokens shown'")
            self.assertEqual(self.value("document.getElementById('text').value"), order)
            self.assertEqual(self.text("#error"), "")
            pictures.add(self.browser.run("""
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                return [...document.querySelectorAll('#grid canvas')].map((c) => c.toDataURL()).join();"""))
        self.assertEqual(len(pictures), len(ORDERS))
        self.browser.screenshot(self.pictures / "word_order.png")


if __name__ == "__main__":
    unittest.main(verbosity=2)
