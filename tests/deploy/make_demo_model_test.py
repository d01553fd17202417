#!/usr/bin/env python3
"""The model of deploy/make-demo-model.py, served: word order changes its vectors, and without position
embeddings it does not. ATTUNE_SERVER_BINARY names the server."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/support"))
from attune_server import Server  # noqa: E402

SCRIPT = ROOT / "deploy/make-demo-model.py"
ORDERS = ["吃饭没", "没吃饭", "没饭吃", "饭吃没", "饭没吃"]


class DemoModelTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="attune-demo-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "demo"

    def make(self, *flags):
        made = subprocess.run([sys.executable, SCRIPT, "--into", self.folder, *flags],
                              check=True, capture_output=True, text=True)
        self.assertEqual(made.stdout, f"{self.folder}\n")

    def serve(self, *flags):
        self.make(*flags)
        server = Server(self.folder)
        self.addCleanup(server.stop)
        return server

    def vectors(self, server, texts):
        reply = server.call("encode", {"texts": {"values": texts}})
        return [embedding["values"] for embedding in reply["embeddings"]]

    def largest_difference(self, first, second):
        return max(abs(a - b) for a, b in zip(first, second, strict=True))

    def test_every_word_order_has_a_vector_of_its_own(self):
        vectors = self.vectors(self.serve(), ORDERS)
        for i, first in enumerate(vectors):
            for second in vectors[:i]:
                self.assertGreater(self.largest_difference(first, second), 0.05)

    def test_without_positions_all_word_orders_have_one_vector(self):
        vectors = self.vectors(self.serve("--no-positions"), ORDERS)
        for vector in vectors[1:]:
            # Sums of three numbers in another order, three layers deep.
            self.assertLess(self.largest_difference(vector, vectors[0]), 1e-5)

    def test_other_texts_are_spelled(self):
        texts = {"values": ["A cat, 9 lives!", *ORDERS]}
        for text in self.serve().call("tokenize", {"texts": texts})["texts"]:
            self.assertNotIn("[UNK]", [token["text"] for token in text["tokens"]])

    def test_the_same_files_every_time(self):
        self.make()
        first = (self.folder / "model.safetensors").read_bytes()
        self.make()
        self.assertEqual((self.folder / "model.safetensors").read_bytes(), first)


if __name__ == "__main__":
    unittest.main(verbosity=2)
