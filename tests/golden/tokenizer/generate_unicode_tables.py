#!/usr/bin/env python3
"""Writes engine/text/unicode_tables.inc from the pinned reference tokenizer.

The reference mixes Unicode versions (old categories, 9.0 normalisation, the case mapping of its own
tool chain), so no Unicode library describes it. This script asks the reference itself: every scalar
value goes through each of its components, and what comes out is the table.

    generate_unicode_tables.py            rewrites the table
    generate_unicode_tables.py --check    fails if the committed table differs
"""

import argparse
import pathlib
import sys

import tokenizers
from tokenizers import normalizers, pre_tokenizers

PINNED = "0.23.2"
OUTPUT = pathlib.Path(__file__).resolve().parents[3] / "engine/text/unicode_tables.inc"
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)  # decomposed by arithmetic (Unicode 3.12), not by table
MAX_MAPPING = 4
# Marks whose combining classes are the lowest (1) and the highest (240) there are.
LOWEST_CLASS_MARK = "\u0334"
HIGHEST_CLASS_MARK = "\u0345"


def scalars():
    for code_point in range(0x110000):
        if not 0xD800 <= code_point <= 0xDFFF:
            yield code_point


def bert(**enabled):
    options = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False,
                   lowercase=False)
    options.update(enabled)
    return normalizers.BertNormalizer(**options).normalize_str


def changed(normalize):
    """{code point: what it becomes} for every code point that `normalize` does not keep."""
    result = {}
    for code_point in scalars():
        char = chr(code_point)
        out = normalize(char)
        if out != char:
            result[code_point] = out
    return result


def pieces_between_letters(pre_tokenizer):
    """Yields (code point, pieces of 'a' + it + 'b')."""
    for code_point in scalars():
        text = "a" + chr(code_point) + "b"
        yield code_point, [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]


def combining_ranks(decompositions):
    """{code point: rank of its canonical combining class, from 1} where the class is not 0.

    The class of a mark shows in how normalisation orders it against other marks.
    """
    nfd = normalizers.NFD().normalize_str

    def sorts_before(first, second):
        return nfd(second + first) == first + second

    marks = [chr(c) for c in scalars()
             if c not in decompositions and c not in HANGUL_SYLLABLES
             and (sorts_before(chr(c), HIGHEST_CLASS_MARK)
                  or sorts_before(LOWEST_CLASS_MARK, chr(c)))]
    classes = []  # one list of marks per class, in rising order
    for mark in marks:
        low, high = 0, len(classes)
        while low < high:
            middle = (low + high) // 2
            if sorts_before(classes[middle][0], mark):
                low = middle + 1
            else:
                high = middle
        if low < len(classes) and not sorts_before(mark, classes[low][0]):
            classes[low].append(mark)
        else:
            classes.insert(low, [mark])
    return {ord(mark): rank for rank, same in enumerate(classes, 1) for mark in same}


def ranges(code_points):
    result = []
    for code_point in sorted(code_points):
        if result and result[-1][1] == code_point - 1:
            result[-1][1] = code_point
        else:
            result.append([code_point, code_point])
    return result


def write_set(out, name, comment, code_points):
    items = [f"{{0x{low:X}, 0x{high:X}}}," for low, high in ranges(code_points)]
    out.append(f"// {comment}: {len(code_points)} code points.")
    out.append(f"inline constexpr CodePointRange {name}[] = {{")
    out.extend(wrap(items))
    out.append("};\n")


def write_mapping(out, name, comment, mapping):
    assert all(0 < len(value) <= MAX_MAPPING for value in mapping.values()), name
    items = []
    for code_point, value in sorted(mapping.items()):
        items.append("{0x%X, {%s}}," % (code_point, ", ".join(f"0x{ord(c):X}" for c in value)))
    out.append(f"// {comment}: {len(mapping)} code points.")
    out.append(f"inline constexpr CodePointMapping {name}[] = {{")
    out.extend(wrap(items))
    out.append("};\n")


def write_ranks(out, name, comment, ranks):
    by_rank = {}
    for code_point, rank in ranks.items():
        by_rank.setdefault(rank, []).append(code_point)
    items = []
    for rank, code_points in by_rank.items():
        items.extend((low, f"{{0x{low:X}, 0x{high:X}, {rank}}},")
                     for low, high in ranges(code_points))
    out.append(f"// {comment}: {len(ranks)} code points.")
    out.append(f"inline constexpr CombiningRank {name}[] = {{")
    out.extend(wrap([text for _, text in sorted(items)]))
    out.append("};\n")


def wrap(items):
    lines, line = [], "   "
    for item in items:
        if len(line) + 1 + len(item) > 100:
            lines.append(line)
            line = "   "
        line += " " + item
    lines.append(line)
    return lines


def generate():
    cleaned = changed(bert(clean_text=True))
    removed = {c for c, out in cleaned.items() if out == ""}
    spaces = {c for c, out in cleaned.items() if out == " "}
    assert len(removed) + len(spaces) == len(cleaned)

    spaced = changed(bert(handle_chinese_chars=True))
    assert all(out == f" {chr(c)} " for c, out in spaced.items())

    nfd = changed(normalizers.NFD().normalize_str)
    decompositions = {c: out for c, out in nfd.items() if c not in HANGUL_SYLLABLES}
    stripped = {c for c, out in changed(bert(strip_accents=True)).items()
                if out == "" and c not in nfd}
    marks = changed(normalizers.StripAccents().normalize_str)
    assert all(out == "" for out in marks.values())

    lower = changed(normalizers.Lowercase().normalize_str)
    assert lower == changed(bert(lowercase=True))

    white = set()
    for code_point, pieces in pieces_between_letters(pre_tokenizers.WhitespaceSplit()):
        if pieces == ["a", "b"]:
            white.add(code_point)
    word = set()
    for code_point, pieces in pieces_between_letters(pre_tokenizers.Whitespace()):
        if len(pieces) == 1:
            word.add(code_point)
        assert (len(pieces) == 2) == (code_point in white), hex(code_point)
    punctuation = set()
    for code_point, pieces in pieces_between_letters(pre_tokenizers.BertPreTokenizer()):
        if len(pieces) == 3:
            punctuation.add(code_point)
        assert (len(pieces) == 2) == (code_point in white), hex(code_point)

    out = [
        "// Generated by tests/golden/tokenizer/generate_unicode_tables.py; do not edit.",
        f"// Source: every Unicode scalar value run through tokenizers {tokenizers.__version__}.",
        "",
        f'inline constexpr char kUnicodeTablesSource[] = "tokenizers {tokenizers.__version__}";\n',
    ]
    write_set(out, "kCleanTextRemoves", "BertNormalizer clean_text removes", removed)
    write_set(out, "kCleanTextSpaces", "BertNormalizer clean_text turns into U+0020", spaces)
    write_set(out, "kChineseChars", "BertNormalizer handle_chinese_chars puts spaces around",
              set(spaced))
    write_set(out, "kNonspacingMarks", "BertNormalizer strip_accents drops after decomposition",
              stripped)
    write_set(out, "kMarks", "StripAccents drops", set(marks))
    write_set(out, "kWhiteSpace", "White space of every pre-tokenizer", white)
    write_set(out, "kWordChars", r"Regular expression \w", word)
    write_set(out, "kPunctuation", "BertPreTokenizer isolates", punctuation)
    write_mapping(out, "kLowercase", "Full lower case, no context rules", lower)
    write_mapping(out, "kDecompositions", "Canonical decomposition (NFD) without Hangul syllables",
                  decompositions)
    write_ranks(out, "kCombiningRanks", "Order of canonical combining classes",
                combining_ranks(nfd))
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if tokenizers.__version__ != PINNED:
        sys.exit(f"tokenizers {tokenizers.__version__} is installed; the reference is {PINNED}")
    text = generate()
    if arguments.check:
        if OUTPUT.read_text(encoding="utf-8") != text:
            sys.exit(f"{OUTPUT} differs from what the reference says; run {sys.argv[0]}")
        return
    OUTPUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
