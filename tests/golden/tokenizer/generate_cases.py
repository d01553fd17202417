#!/usr/bin/env python3
"""Writes cases.json: texts that broke other tokenizers, with what the pinned reference makes of them.

Needs the default model's tokenizer.json (from $ATTUNE_TEST_MODEL or the cache) to run; its output
does not: it carries a vocabulary reduced to the pieces that occur, for which this script checks that
the reference gives the same tokens as with the whole one.
"""

import copy
import json
import pathlib
import sys

from differential_test import PINNED, Reference, find_tokenizer_json

import tokenizers

OUTPUT = pathlib.Path(__file__).with_name("cases.json")
LF = {"max_tokens": 8}
LEFT = {"max_tokens": 8, "left": True}

# (case, fixture, options, texts); a tuple is a pair of texts.
INPUTS = [
    ("C01", "uncased", {}, [
        "caf\u00e9", "cafe\u0301", "M\u00fcller Gr\u00f6\u00dfe", "\u30d0",
        "\u30a2\u30ea\u30d0\u30d0", "\u039f\u0394\u039f\u03a3", "na\u00efve", "x\u0302 + \u0177"]),
    ("C01", "accents_kept", {}, ["caf\u00e9", "sch\u00f6n", "\u30d0", "\u039f\u0394\u039f\u03a3"]),
    ("C01", "cased", {}, ["\u00e1", "a\u0301", "a\u0300", "caf\u00e9"]),
    ("C03", "uncased", {}, ["\uac01", "\ud55c\uad6d\uc5b4", "\uac01" * 33, "\uac01" * 34]),
    ("C03", "cased", {}, ["\uac01"]),
    ("C04", "uncased", {}, [f"a{c}b" for c in "\u200b\u200d\u00ad\u0000\ufffd\u0097\ufeff"]),
    ("C04", "uncased", {}, ["one\nline"] + [f"note{c}book" for c in (
        "\n\t\r\u00a0\u2028\u3000\u000b\u000c\u0085\u0007\ue000")]),
    ("C04", "uncased", {}, ["\u0378x", "ewww \U000fe4fa \u2014 x", "\u2764\ufe0f"]),
    ("C06", "toy", {}, ["Elasticsearch", "Elasticsearchffff", "Elasticsearchffff fun",
                        "unwanted running", "unwantedX running"]),
    ("C06", "uncased", {}, [
        "hello\U0001f600", "hello \U0001f600 world", "price\u20ac5", "$5+3=8", "a^b`c|d~e",
        "H\u2082O", "\U0001f468\u200d\U0001f469\u200d\U0001f467"]),
    ("C08", "uncased", {}, [
        "[SEP]", "a [SEP] b", "[CLS] hi [SEP]", "I saw a [MASK].", "[MASK]s",
        "Peripheral Artery Disease [PAD]).", "[sep]", "[ PAD ]"]),
    ("C08", "uncased", {"specials_as_text": True}, ["a [SEP] b", "[MASK]"]),
    ("C09", "uncased", {}, [
        "Br\ucc3dn's", "cafe\u0301", "a\U0001f999b", "x \U0001f999 y",
        "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "hello\u0301 world", "\ud55c\uad6d\uc5b4"]),
    # A mark that is not Mn survives, and takes the place of another in the sorted run; a removed
    # character inside the run does not end it.
    ("C09", "uncased", {}, [
        "a\u0316\U0001d16d\u0000\u0323\U0001d16d\u302e\u0301b", "e\u0301\u302e\u0323\u302f"]),
    ("C10", "single_word", {}, [
        "<mask> my name <mask> a<mask> <mask>ony <mask>", "my<mask>.", "_<mask>", "\u00e9<mask>",
        "my <mask>", "<mask>"]),
    ("C10", "day_normalized", {}, ["I saw a lion Yesterday", "i saw YESTERDAY.", "xyesterdayx"]),
    ("C10", "day_verbatim", {}, [
        "I saw a lion Yesterday", "I saw a lion yesterday", "i saw YESTERDAY."]),
    ("C10", "normalized_specials", {}, ["a [MASK].", "a [mask].", "a[SEP]b"]),
    ("C10", "longest", {}, ["<a><b><b>", "<a>b<b><a", "extra_id_100 extra_id_10"]),
    ("C21", "uncased", LF, [
        "a b c d e f", "a b c d e f g h i j", ("a b c d", "a b c d"), ("a b c d e f g h", "a b"),
        ("a b", "a b c d e f g h"), ("a b c d e f g h", "a b c d e f g h"),
        ("a b c", "a b c d e f g h i"), ("", "a b c d e f g h i j"), ("a b c d e f g h i j", ""),
        ("", "")]),
    ("C21", "uncased", LEFT, [
        "a b c d e f g h i j", ("a b c d e f g h", "a b c d e f g h"), ("a b c d e f g h", "a b")]),
    ("C21", "uncased", {"max_tokens": 2}, ["a b c"]),
    ("C21", "uncased", {"max_tokens": 3}, [("a b c", "a b")]),
    ("C29", "uncased", {}, ["query: ", "query: hello", " hello "]),
    ("C40", "uncased", {}, [("how are you", "fine")]),
    ("C40", "bert_processing", {}, [("how are you", "fine"), "how are you"]),
    ("C40", "no_template", {}, [("how are you", "fine"), "how are you"]),
    ("C50", "uncased", {}, ["", " ", "\n\t", "\u200b", ("", "")]),
]

# Pieces of bert-base-cased that the cased cases reach, with their ids there.
CASED_VOCAB = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103, "a": 170,
               "\u00e1": 247, "caf\u00e9": 20583, "##\u0301": 28310}


def added(content, token_id, **flags):
    token = {"id": token_id, "content": content, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}
    token.update(flags)
    return token


def toy(pieces, added_tokens=(), normalizer="Lowercase", pre_tokenizer="WhitespaceSplit"):
    return {
        "version": "1.0", "added_tokens": list(added_tokens),
        "normalizer": normalizer and {"type": normalizer},
        "pre_tokenizer": {"type": pre_tokenizer}, "post_processor": None, "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {piece: i for i, piece in enumerate(["[UNK]", *pieces])}}}


def fixtures(model):
    """Named tokenizers, some with the model's whole vocabulary."""
    model["truncation"] = model["padding"] = model["decoder"] = None
    words = ["my", "name", "a", "ony", "i", "saw", "lion", "yesterday", ".", ","]
    result = {
        "uncased": model,
        "toy": toy(["Elastic", "##search", "un", "##want", "##ed", "run", "##n", "##ing", "fun"],
                   normalizer=None, pre_tokenizer="Whitespace"),
        "single_word": toy(words, [added("<mask>", 11, single_word=True)]),
        "day_normalized": toy(words, [added("Yesterday", 11, normalized=True, special=False)]),
        "day_verbatim": toy(words, [added("Yesterday", 11, special=False)]),
        "longest": toy(["0", "b", "a"], [
            added(content, 4 + i)
            for i, content in enumerate(["<a>", "<a><b>", "<b>", "extra_id_1", "extra_id_100"])]),
    }
    for name in ["accents_kept", "cased", "normalized_specials", "bert_processing", "no_template"]:
        result[name] = copy.deepcopy(model)
    result["accents_kept"]["normalizer"]["strip_accents"] = False
    result["cased"]["normalizer"]["lowercase"] = False
    result["cased"]["model"]["vocab"] = CASED_VOCAB
    for token in result["normalized_specials"]["added_tokens"]:
        token["normalized"] = True
    result["bert_processing"]["post_processor"] = {
        "type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    result["no_template"]["post_processor"] = None
    return result


def requests():
    for case, fixture, options, texts in INPUTS:
        for text in texts:
            request = dict(options)
            request["text"], request["pair"] = text if isinstance(text, tuple) else (text, None)
            if "max_tokens" in request:
                request.setdefault("left", False)
            yield case, fixture, request


def answers(tokenizer_json):
    """[(case, fixture, request, expected)] of every request, by the reference."""
    references = {name: Reference(json.dumps(value)) for name, value in tokenizer_json.items()}
    return [(case, fixture, request, references[fixture].expected(request))
            for case, fixture, request in requests()]


def main():
    if tokenizers.__version__ != PINNED:
        sys.exit(f"tokenizers {tokenizers.__version__} is installed; the reference is {PINNED}")
    whole = fixtures(json.loads(find_tokenizer_json().read_text(encoding="utf-8")))
    expected = answers(whole)

    used = {name: set(range(104)) & {0, 100, 101, 102, 103} for name in whole}
    for _, fixture, _, answer in expected:
        used[fixture].update(answer["ids"])
    # What differs from the whole vocabulary's tokenizer is written; the pieces are shared.
    every_id = set().union(*(used[name] for name in whole
                             if whole[name]["model"]["vocab"] == whole["uncased"]["model"]["vocab"]))
    reduced = copy.deepcopy(whole)
    for name, value in reduced.items():
        vocab = value["model"]["vocab"]
        if len(vocab) > 1000:
            value["model"]["vocab"] = {piece: i for piece, i in vocab.items() if i in every_id}
    assert answers(reduced) == expected, "the reduced vocabulary changes tokens"

    document = {
        "generator": f"tests/golden/tokenizer/generate_cases.py with tokenizers {PINNED}",
        "fixtures": reduced,
        "cases": [{"case": case, "fixture": fixture, "request": request, "expected": answer}
                  for case, fixture, request, answer in expected],
    }
    lines = ['{"generator": %s,' % json.dumps(document["generator"]), '"fixtures": {']
    lines.append(",\n".join(f"{json.dumps(name)}: {json.dumps(value)}"
                            for name, value in document["fixtures"].items()))
    lines += ["},", '"cases": [']
    lines.append(",\n".join(json.dumps(case) for case in document["cases"]))
    lines += ["]}", ""]
    OUTPUT.write_text("\n".join(lines), encoding="ascii")


if __name__ == "__main__":
    main()
