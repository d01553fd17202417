#!/usr/bin/env python3
"""Makes a tiny model that knows the characters of the dashboard's word-order example, and prints its
folder: 吃饭没, 没吃饭, 没饭吃, 饭吃没 and 饭没吃 are the same three characters, and five different
things to say.

  deploy/up.sh --model "$(deploy/make-demo-model.py)"

It is a BERT encoder of random weights from a fixed seed: nobody has trained it, and its vectors mean
nothing. What it shows is where word order comes from. Attention alone sees a bag of words; only the
position embeddings tell the orders apart, and with --no-positions all five have one vector.
Other texts are spelled letter by letter.
"""

import argparse
import array
import json
import math
import os
import pathlib
import random
import string
import sys

SEED = 22
LAYERS, HEADS, HIDDEN, FFN, POSITIONS = 3, 4, 48, 96, 256

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = ["吃", "饭", "没"]
LETTERS = list(string.ascii_lowercase + string.digits)
VOCABULARY = (SPECIALS + CHARACTERS + list(string.punctuation) + LETTERS +
              [f"##{letter}" for letter in LETTERS])

CONFIG = {
    "architectures": ["BertModel"], "model_type": "bert", "vocab_size": len(VOCABULARY),
    "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "intermediate_size": FFN, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
    "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "pad_token_id": 0,
    "position_embedding_type": "absolute",
}
MODULES = [
    {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for i, (kind, path) in enumerate(
        [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")])
]
POOLING = {"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": True}


class Weights:
    """Tensors in the order they are asked for, from one seed."""

    def __init__(self):
        self.tensors = {}  # name -> (shape, f32 values)
        self._random = random.Random(SEED)

    def add_random(self, name, shape, deviation):
        """Uniform: unlike normal ones, the same numbers in every version of Python."""
        reach = deviation * math.sqrt(3)
        self.add(name, shape, (self._random.uniform(-reach, reach) for _ in range(math.prod(shape))))

    def add(self, name, shape, values):
        self.tensors[name] = (shape, array.array("f", values))

    def add_linear(self, name, out, into, gain=1.0):
        """Keeps the size of what goes through it, times `gain`."""
        self.add_random(f"{name}.weight", [out, into], gain / math.sqrt(into))
        self.add(f"{name}.bias", [out], [0.0] * out)

    def add_norm(self, name):
        self.add(f"{name}.weight", [HIDDEN], [1.0] * HIDDEN)
        self.add(f"{name}.bias", [HIDDEN], [0.0] * HIDDEN)


def make_weights(positions):
    weights = Weights()
    weights.add_random("embeddings.word_embeddings.weight", [len(VOCABULARY), HIDDEN], 1)
    weights.add_random("embeddings.position_embeddings.weight", [POSITIONS, HIDDEN],
                       1 if positions else 0)
    weights.add_random("embeddings.token_type_embeddings.weight", [2, HIDDEN], 0.1)
    weights.add_norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        # Scores of some units, so that heads choose.
        weights.add_linear(f"{prefix}.attention.self.query", HIDDEN, HIDDEN, gain=1.5)
        weights.add_linear(f"{prefix}.attention.self.key", HIDDEN, HIDDEN, gain=1.5)
        weights.add_linear(f"{prefix}.attention.self.value", HIDDEN, HIDDEN)
        weights.add_linear(f"{prefix}.attention.output.dense", HIDDEN, HIDDEN)
        weights.add_norm(f"{prefix}.attention.output.LayerNorm")
        weights.add_linear(f"{prefix}.intermediate.dense", FFN, HIDDEN)
        weights.add_linear(f"{prefix}.output.dense", HIDDEN, FFN)
        weights.add_norm(f"{prefix}.output.LayerNorm")
    return weights.tensors


def safetensors(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (shape, values) in tensors.items():
        if sys.byteorder == "big":
            values.byteswap()
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += values.tobytes()
    text = json.dumps(header).encode("ascii")
    return len(text).to_bytes(8, "little") + text + data


def write_folder(folder, positions):
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("config.json", CONFIG),
        ("modules.json", MODULES),
        ("1_Pooling/config.json", POOLING),
        ("tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True}),
    ):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="ascii")
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in VOCABULARY), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(safetensors(make_weights(positions)))


def main():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", metavar="DIR", type=pathlib.Path, default=cache / "attune/demo-model",
                        help="the folder to fill (default: %(default)s)")
    parser.add_argument("--no-positions", action="store_true", help="all position embeddings are 0")
    arguments = parser.parse_args()
    write_folder(arguments.into, positions=not arguments.no_positions)
    print(arguments.into)


if __name__ == "__main__":
    main()
