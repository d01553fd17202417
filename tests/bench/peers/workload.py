"""The texts that every engine is measured on, and their token ids, in one JSON file.

The text is what Python and Debian ship: the language reference's topics and two licences. Lengths
are in tokens, specials included:
  uniform   32 texts of exactly 16, 128 and 512 tokens
  mixed     1,024 texts, round(exp(N(ln 24, 0.9))) tokens clipped to 4..512, in random order
  accuracy  64 texts of about 6 to 256 tokens, evenly spaced in the logarithm

  workload.py MODEL_FOLDER OUTPUT
"""

import json
import pathlib
import pydoc_data.topics
import re
import sys

import numpy
import tokenizers

UNIFORM_LENGTHS = (16, 128, 512)
UNIFORM_TEXTS = 32
MIXED_TEXTS = 1024
ACCURACY_TEXTS = 64
LICENCES = ("GPL-3", "MPL-2.0")
SPECIALS = 2  # [CLS] and [SEP]


def mixed_lengths():
    drawn = numpy.random.default_rng(0).lognormal(numpy.log(24), 0.9, MIXED_TEXTS)
    return [int(length) for length in numpy.clip(numpy.round(drawn), 4, 512)]


def accuracy_lengths():
    return [round(float(numpy.exp(x)))
            for x in numpy.linspace(numpy.log(6), numpy.log(256), ACCURACY_TEXTS)]


def shipped_text():
    topics = pydoc_data.topics.topics
    parts = [topics[name] for name in sorted(topics)]
    parts += [pathlib.Path("/usr/share/common-licenses", name).read_text(encoding="utf-8")
              for name in LICENCES]
    return re.sub(r"\s+", " ", "\n".join(parts))


class TextCutter:
    """Cuts one long text into consecutive pieces of a given number of tokens."""

    def __init__(self, tokenizer, text):
        self.tokenizer = tokenizer
        self.text = text
        self.encoding = tokenizer.encode(text, add_special_tokens=False)
        self.position = 0

    def next_piece(self, tokens):
        encoding = self.encoding
        if self.position + tokens + 100 > len(encoding.ids):
            self.position = 0
        while encoding.tokens[self.position].startswith("##"):  # not in the middle of a word
            self.position += 1
        begin = encoding.offsets[self.position][0]
        self.position += tokens
        return self.text[begin:encoding.offsets[self.position - 1][1]]

    def next_text(self, length):
        """A text and its ids with specials: `length` of them, or fewer where a cut word merges."""
        text = self.next_piece(length - SPECIALS)
        ids = self.tokenizer.encode(text).ids
        return text, ids[:length - 1] + ids[-1:] if len(ids) > length else ids

    def next_ids_of_exactly(self, length):
        while len(ids := self.next_text(length)[1]) != length:
            pass
        return ids


def make(model_folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(model_folder, "tokenizer.json")))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    cutter = TextCutter(tokenizer, shipped_text())
    mixed = [cutter.next_text(length) for length in mixed_lengths()]
    accuracy = [cutter.next_text(length) for length in accuracy_lengths()]
    uniform = {str(length): [cutter.next_ids_of_exactly(length) for _ in range(UNIFORM_TEXTS)]
               for length in UNIFORM_LENGTHS}
    return {
        "mixed_texts": [text for text, _ in mixed],
        "mixed": [ids for _, ids in mixed],
        "accuracy": [ids for _, ids in accuracy],
        "uniform": uniform,
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    workload = make(sys.argv[1])
    pathlib.Path(sys.argv[2]).write_text(json.dumps(workload), encoding="utf-8")
    lengths = sorted(len(ids) for ids in workload["mixed"])
    print(f"{sys.argv[2]}: mixed: {len(lengths)} texts, {sum(lengths)} tokens, "
          f"median {lengths[len(lengths) // 2]}, longest {lengths[-1]}")


if __name__ == "__main__":
    main()
