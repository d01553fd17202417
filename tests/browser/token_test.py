"""The page of a server that asks for tokens: it asks its reader for one, and keeps it in its tab."""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

from page import BrowserTest, PageTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "deploy/make-demo-model.py"
TOKEN = "the-readers-token"
# Answers the page's questions in the reader's place, and counts them.
READER = f"""
window.prompts = 0;
window.prompt = () => ['not-a-token', '{TOKEN}'][window.prompts++] ?? null;
"""


class TokenTest(PageTest):
    @classmethod
    def server_arguments(cls):
        folder = tempfile.TemporaryDirectory(prefix="attune-token-")
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([sys.executable, SCRIPT, "--into", folder.name], check=True,
                       stdout=subprocess.DEVNULL)
        tokens = pathlib.Path(folder.name) / "tokens"
        tokens.write_text(f"reader:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
        return [folder.name, "--token-file", str(tokens)]

    def setUp(self):
        BrowserTest.setUp(self)
        self.browser.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": READER})

    def test_it_asks_until_the_token_is_right_and_then_no_more(self):
        self.show()
        self.assertEqual(self.value("window.prompts"), 2)
        self.assertEqual(self.text("#error"), "")
        self.enter("abc")
        self.assertEqual(self.text("#error"), "")
        self.assertEqual(self.value("window.prompts"), 2)
        self.show()
        self.assertEqual(self.value("window.prompts"), 0, "in the same tab")


if __name__ == "__main__":
    unittest.main(verbosity=2)
