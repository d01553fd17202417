#!/usr/bin/env python3
"""Compares our tokenizer with the reference on generated text and demands no difference.

    differential_test.py TOKENIZE_LINES [--strings N] [--seed S]

TOKENIZE_LINES is the test binary that runs our tokenizer. The default model's tokenizer.json comes
from the folder $ATTUNE_TEST_MODEL, or else from the cache. Compared are ids, code-point and byte
offsets, type ids, word ids, special flags and whether text was cut, for single texts and pairs,
with and without truncation on either side. A difference prints the request that shows it.
"""

import argparse
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import tokenizers

PINNED = "0.23.2"
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SPACES = " \t\n\r\u000b\u000c\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
BLOCKS = [  # (first, last): where scripts with rules of their own live
    (0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x6FF),
    (0x900, 0x97F), (0xE00, 0xEFF), (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F),
    (0x20A0, 0x20FF), (0x3000, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xE000, 0xE0FF), (0xF900, 0xFAFF), (0xFE00, 0xFE6F), (0xFF00, 0xFFFF), (0x1D100, 0x1D24F),
    (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0x2B800, 0x2B940), (0x2F800, 0x2FA1F),
    (0xE0000, 0xE01FF),
]
# Marks of many combining classes, some of which are not Mn and so survive strip_accents.
MARKS = ("\u0300\u0301\u0316\u0323\u0327\u0334\u0338\u0345\u0360\u05b0\u05bc\u064b\u0670\u093c\u094d"
         "\u0e38\u0f71\u0f72\u302a\u302e\u302f\u3099\U0001d165\U0001d16d\U0001d1aa\u0344\u0f73"
         "\u1dfa\u08d4\U00011f41\U0001e8d0")


def find_tokenizer_json():
    folder = os.environ.get("ATTUNE_TEST_MODEL")
    if not folder:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(cache, "attune", "all-MiniLM-L6-v2")
    path = pathlib.Path(folder) / "tokenizer.json"
    if not path.is_file():
        sys.exit(f"{path} is missing: set ATTUNE_TEST_MODEL or fill the cache with tests/run.sh")
    return path


class Generator:
    """Seeded source of hard texts."""

    def __init__(self, seed, vocab):
        self.random = random.Random(seed)
        self.pieces = [piece.removeprefix("##") for piece in vocab]
        self.words = [piece for piece in vocab if piece.isalpha() and not piece.startswith("##")]

    def scalar(self):
        while True:
            code_point = self.random.randrange(0x110000)
            if not 0xD800 <= code_point <= 0xDFFF:
                return chr(code_point)

    def block_char(self):
        first, last = self.random.choice(BLOCKS)
        return chr(self.random.randint(first, last))

    def special(self):
        token = self.random.choice(SPECIALS)
        kind = self.random.randrange(6)
        if kind == 0:
            return token.lower()
        if kind == 1:
            return token[: self.random.randint(1, len(token))]
        return token

    def fragment(self):
        pick = self.random.randrange(20)
        if pick < 5:
            return self.random.choice(self.pieces)
        if pick < 8:
            return self.random.choice(self.words) + self.random.choice(["", " ", ", ", ".", "s"])
        if pick == 8:
            return "".join(self.random.choice(MARKS) for _ in range(self.random.randint(1, 6)))
        if pick == 9:
            return self.special()
        if pick == 10:
            return "".join(self.random.choice(SPACES) for _ in range(self.random.randint(1, 5)))
        if pick == 11:
            return self.block_char() * self.random.choice([1, 2, 33, 34, 50, 99, 100, 101, 102])
        if pick == 12:
            return self.scalar()
        if pick == 13:
            return self.random.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
        if pick == 14:
            return self.random.choice(self.words).upper()
        if pick == 15:
            return chr(self.random.randrange(0x20))
        if pick == 16:
            return self.block_char() + self.random.choice(MARKS) + self.random.choice(MARKS)
        return self.block_char()

    def soup(self):
        return "".join(self.scalar() for _ in range(self.random.randint(0, 24)))

    def mixed(self):
        return "".join(self.fragment() for _ in range(self.random.randint(0, 20)))

    def sentence(self):
        return " ".join(self.random.choice(self.words) for _ in range(self.random.randint(1, 60)))

    def long(self):
        # Longer than the blocks in which text is normalised.
        parts = [self.random.choice([self.mixed, self.sentence, self.soup])() for _ in range(60)]
        return self.random.choice(["", " ", ""]).join(parts)

    def unbroken(self):
        return "".join(self.random.choice(self.pieces) for _ in range(self.random.randint(1, 60)))

    def text(self):
        pick = self.random.randrange(200)
        if pick == 0:
            return self.long()
        if pick < 30:
            return self.soup()
        if pick < 60:
            return self.sentence()
        if pick < 75:
            return self.unbroken()
        return self.mixed()

    def request(self):
        request = {"text": self.text()}
        if self.random.randrange(4) == 0:
            request["pair"] = self.text()
        if self.random.randrange(3) == 0:
            request["max_tokens"] = self.random.choice([3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 32, 33])
            request["left"] = self.random.random() < 0.5
        if self.random.randrange(8) == 0:
            request["add_special_tokens"] = False
        if self.random.randrange(8) == 0:
            request["specials_as_text"] = True
        return request


class Reference:
    """What the reference says to a request, in the form of our answers."""

    def __init__(self, text):
        self.tokenizer = tokenizers.Tokenizer.from_str(text)
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def expected(self, request):
        tokenizer = self.tokenizer
        tokenizer.encode_special_tokens = request.get("specials_as_text", False)
        arguments = dict(sequence=request["text"], pair=request.get("pair"),
                         add_special_tokens=request.get("add_special_tokens", True))
        limit = request.get("max_tokens", 0)
        encoding = whole = tokenizer.encode(**arguments)
        if limit:
            tokenizer.enable_truncation(limit, direction="left" if request["left"] else "right")
            encoding = tokenizer.encode(**arguments)
            tokenizer.no_truncation()
        # A token's type tells which text it is of; truncation loses the reference's own answer.
        starts = [byte_starts(request["text"]), byte_starts(request.get("pair") or "")]
        return {
            "ids": encoding.ids,
            "types": encoding.type_ids,
            "bytes": [[starts[sequence][begin], starts[sequence][end]]
                      for (begin, end), sequence in zip(encoding.offsets, encoding.type_ids)],
            "chars": [list(offsets) for offsets in encoding.offsets],
            "words": [-1 if word is None else word for word in encoding.word_ids],
            "special": [bool(flag) for flag in encoding.special_tokens_mask],
            "truncated": len(whole.ids) > len(encoding.ids),
        }


def from_zero(answer):
    """`answer` with the words of each text counted from its first token.

    Truncating on the left, the reference numbers words from wherever it stopped; ours keep their
    numbers in the whole text.
    """
    words = list(answer["words"])
    for text in set(answer["types"]):
        mine = [i for i, kind in enumerate(answer["types"]) if kind == text and words[i] >= 0]
        first = words[mine[0]] if mine else 0
        for i in mine:
            words[i] -= first
    return {**answer, "words": words}


def byte_starts(text):
    starts, at = [], 0
    for char in text:
        starts.append(at)
        at += len(char.encode("utf-8"))
    return starts + [at]


class Ours:
    """Our tokenizer in a process of its own."""

    def __init__(self, binary, text, folder):
        path = pathlib.Path(folder) / "tokenizer.json"
        path.write_text(text, encoding="utf-8")
        self.command = [binary, str(path)]

    def answers(self, requests):
        lines = "".join(json.dumps(request, ensure_ascii=True) + "\n" for request in requests)
        done = subprocess.run(self.command, input=lines.encode("ascii"), stdout=subprocess.PIPE,
                              check=True)
        answers = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
        assert len(answers) == len(requests), (len(answers), len(requests))
        return answers


def variants(text):
    """Named tokenizer.json texts: the model's own, and what other BERT models set differently."""
    model = json.loads(text)
    result = {"model": model}

    def variant(name, **normalizer):
        result[name] = copy.deepcopy(model)
        result[name]["normalizer"].update(normalizer)

    variant("cased", lowercase=False)
    variant("accents kept", strip_accents=False)
    variant("accents stripped, cased", strip_accents=True, lowercase=False)
    variant("not cleaned", clean_text=False, handle_chinese_chars=False)

    result["normalized specials"] = copy.deepcopy(model)
    for token in result["normalized specials"]["added_tokens"]:
        token["normalized"] = True

    result["added tokens"] = copy.deepcopy(model)
    vocab, next_id = model["model"]["vocab"], len(model["model"]["vocab"])
    flags = ["single_word", "lstrip", "rstrip", "normalized", "special"]
    for number, content in enumerate(
            ["<mask>", "new york", "caf\u00e9", "ab", "abc", "\u4e2d", "the", "  x", "Yes!", "##s"]):
        token = {"id": vocab.get(content, next_id), "content": content}
        token.update({flag: (number * 7 >> place) % 2 == 1 for place, flag in enumerate(flags)})
        result["added tokens"]["added_tokens"].append(token)
        next_id += content not in vocab

    for pre_tokenizer in ["Whitespace", "WhitespaceSplit", None]:
        result[f"pre-tokenizer {pre_tokenizer}"] = copy.deepcopy(model)
        result[f"pre-tokenizer {pre_tokenizer}"]["pre_tokenizer"] = (
            pre_tokenizer and {"type": pre_tokenizer})

    result["sequence"] = copy.deepcopy(model)
    result["sequence"]["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Lowercase"}, {"type": "NFD"}, {"type": "StripAccents"}]}
    result["no normalizer, no template"] = copy.deepcopy(model)
    result["no normalizer, no template"].update(normalizer=None, post_processor=None)
    result["bert processing"] = copy.deepcopy(model)
    result["bert processing"]["post_processor"] = {
        "type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    return {name: json.dumps(value) for name, value in result.items()}


def compare(name, reference, ours, requests, show):
    """Returns how many requests differ, and prints the first of them."""
    differences = 0
    for request, answer in zip(requests, ours.answers(requests)):
        expected = reference.expected(request)
        if request.get("left") and "error" not in answer:
            expected, answer = from_zero(expected), from_zero(answer)
        if answer != expected:
            differences += 1
            if differences <= show:
                fields = [key for key in expected if answer.get(key) != expected[key]]
                print(f"[{name}] differs in {', '.join(fields)}: {json.dumps(request)}")
                for key in fields:
                    print(f"  reference {key}: {expected[key]}\n  ours      {key}: "
                          f"{answer.get(key, answer)}")
    return differences


def sweep():
    """'a' + every scalar value + 'b', some to a text."""
    scalars = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    return [{"text": " ".join("a" + c + "b" for c in scalars[i:i + 64])}
            for i in range(0, len(scalars), 64)]


def check_vocabulary(reference, ours):
    """Whether every id has the same token, as the reference's vocabulary has it."""
    answer = ours.answers([{"vocab": True}])[0]
    expected = {str(i): token for token, i in reference.tokenizer.get_vocab(True).items()}
    tokens = {i: token for i, token in answer["tokens"].items() if token}
    if tokens == expected and answer["vocab_size"] == len(expected):
        return 0
    print("the vocabularies differ")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--strings", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="differences to print per variant")
    arguments = parser.parse_args()
    if tokenizers.__version__ != PINNED:
        sys.exit(f"tokenizers {tokenizers.__version__} is installed; the reference is {PINNED}")

    model_text = find_tokenizer_json().read_text(encoding="utf-8")
    differences = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        texts = variants(model_text)
        for number, (name, text) in enumerate(texts.items()):
            reference, ours = Reference(text), Ours(arguments.binary, text, folder)
            generator = Generator(f"{arguments.seed} {name}", json.loads(text)["model"]["vocab"])
            # The model itself gets half of the strings.
            share = 2 if number == 0 else 2 * (len(texts) - 1)
            requests = [generator.request() for _ in range(-(-arguments.strings // share))]
            if number == 0:
                differences += check_vocabulary(reference, ours)
                requests += sweep()
            differences += compare(name, reference, ours, requests, arguments.show)
            compared += len(requests)
    print(f"{compared} texts and pairs compared, {differences} differ (seed {arguments.seed})")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
