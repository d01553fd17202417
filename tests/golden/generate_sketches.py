#!/usr/bin/env python3
"""Writes weight_sketches.json: every attention weight of every head, in one number a row.

  python3 generate_sketches.py --model ~/.cache/attune/all-MiniLM-L6-v2

The weights of one text of 512 tokens are 75 MB. A sketch is the sum of a row's weights, each with a
sign that looks random: one weight that is off moves it by as much, and the small roundings of the
others, hundreds of them, leave it nearly where it was. The weights are transformers' eager ones in
float64, so that the roundings are those of whoever is compared.
"""

import numpy as np
import torch

import golden_texts
from default_model import WEIGHTS_SHA256, folder_argument, open_model, open_tokenizer, run_model
from golden_file import encode_floats, versions, write
from tiny_models import mix

# 1, widths of registers and sizes of blocks of rows, one more, and the position table's rows.
LENGTHS = [1, 2, 3, 8, 16, 17, 33, 64, 128, 257, 512]
SEPARATOR = 102

ENGLISH = " ".join([golden_texts.HARBOUR, golden_texts.CACHE, golden_texts.HARBOUR])
MANY_SCRIPTS = " ".join(golden_texts.TEXTS)


def sketch(weights):
    """[seq] of weights [seq, seq]; the sign of cell k = row * seq + column is a bit of its number,
    scattered."""
    seq = len(weights)
    negative = mix(np.arange(seq * seq, dtype=np.uint32) * np.uint32(0x9E3779B9)) >> np.uint32(31)
    signs = np.where(negative, -1.0, 1.0).reshape(seq, seq)
    return (signs * weights).sum(axis=1)


def cases(tokenizer):
    """Texts in English, and in many scripts as the second half of a pair, by turns."""
    kinds = [(tokenizer.encode(ENGLISH).ids, 1), (tokenizer.encode(MANY_SCRIPTS).ids, 2)]
    for i, length in enumerate(LENGTHS):
        ids, texts = kinds[i % 2]
        ids = ids[:length]
        if length > 1:
            ids[-1] = SEPARATOR
        yield {"ids": ids, "second_begin": length // 2 if texts == 2 else length}


def main():
    folder = folder_argument(__doc__.split("\n")[0])
    model = open_model(folder, torch.float64)
    written = []
    for case in cases(open_tokenizer(folder)):
        types = [int(i >= case["second_begin"]) for i in range(len(case["ids"]))]
        attentions = run_model(model, case["ids"], types).attentions
        sketches = [sketch(head) for layer in attentions for head in layer[0].numpy()]
        written.append({**case, "sketches": encode_floats(np.concatenate(sketches))})
    content = {"versions": versions(), "weights_sha256": WEIGHTS_SHA256, "texts": written}
    write("weight_sketches.json", content, lists=("texts",))


if __name__ == "__main__":
    main()
