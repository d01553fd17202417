#!/usr/bin/env python3
"""Writes attention_maps.json: maps and head statistics of the default model, by their definitions.

  python3 generate_maps.py --model ~/.cache/attune/all-MiniLM-L6-v2

Hidden states and weights are transformers' eager ones in float64; map_reference.py and
statistics_reference.py make the rest of them, in float64 too. Takes some minutes.
"""

import numpy as np
import torch

import golden_texts
import map_reference
from default_model import WEIGHTS_SHA256, folder_argument, open_model, open_tokenizer, run_model
from golden_file import encode_floats, versions, write
from map_reference import AttentionBlock, array
from statistics_reference import Roles, head_label, head_statistics

LAYERS, HEADS = 6, 12
NORM_MAPS = ["ATTN_NORM", "RES_NORM", "RES_LN_NORM"]

# Each text is tokenized, and cut to max_tokens; the one without any is of the id alone. Short maps
# are written whole, of long ones a few rows, layers and heads.
WHOLE = {"layers": list(range(LAYERS)), "heads": [1, 10], "rows": None}
TEXTS = [
    {"ids": [4937], **WHOLE},
    {"text": "", **WHOLE},
    {"text": "The cat, old and tired, sat on the mat. It slept.", **WHOLE},
    {"text": "Where is my parcel?", "second": "It left the depot, and a driver has it.", **WHOLE},
    {"text": golden_texts.HARBOUR, "max_tokens": 128, "layers": [0, 3, 5], "heads": [1, 10],
     "rows": [0, 64, 127]},
    {"text": " ".join([golden_texts.HARBOUR, golden_texts.CACHE, golden_texts.HARBOUR]),
     "max_tokens": 512, "layers": [0, 5], "heads": [1, 10], "rows": [0, 300, 511]},
]


def tokenize(tokenizer, case):
    """-> ids, types, Roles"""
    if "ids" in case:
        none = np.zeros(len(case["ids"]), dtype=bool)
        return case["ids"], [0] * len(case["ids"]), Roles(False, none, none)
    tokenizer.no_truncation()
    if "max_tokens" in case:
        tokenizer.enable_truncation(max_length=case["max_tokens"])
    encoding = tokenizer.encode(case["text"], case.get("second"))
    tokens = np.array(encoding.tokens)
    first_is_special = bool(encoding.special_tokens_mask[0])
    roles = Roles(first_is_special, tokens == "[SEP]", np.isin(tokens, [".", ","]))
    return encoding.ids, encoding.type_ids, roles


def check_block(model, block, layer, output):
    """What the block's parts add up to, through the rest of the layer, is transformers' output."""
    rows = torch.from_numpy(block.after_norm())
    with torch.no_grad():
        rest = model.encoder.layer[layer]
        after = rest.output(rest.intermediate(rows), rows)
    np.testing.assert_allclose(array(after), output, rtol=0, atol=1e-10)


class Text:
    """The reference's numbers of one text."""

    def __init__(self, model, case, ids, types):
        self.case = case
        output = run_model(model, ids, types)
        self.weights = [array(layer[0]) for layer in output.attentions]  # [heads, seq, seq] each
        self.hidden = [array(state[0]) for state in output.hidden_states]
        self.rows = case["rows"] or list(range(len(ids)))
        self.blocks = [
            AttentionBlock(model.encoder.layer[layer], self.hidden[layer], self.weights[layer])
            for layer in range(LAYERS)
        ]
        for layer, block in enumerate(self.blocks):
            check_block(model, block, layer, self.hidden[layer + 1])

    def _entry(self, matrix, maps):
        """maps: of each of the case's layers, [heads, seq, seq], or [1, seq, seq] of all heads."""
        chosen = np.stack(maps)[:, :, self.rows]
        return {"matrix": matrix, "layers": self.case["layers"], "rows": self.rows,
                "values": encode_floats(chosen)}

    def head_maps(self):
        heads = self.case["heads"]
        chosen = [self.blocks[layer] for layer in self.case["layers"]]
        for matrix, maps in (
            ("RAW_SCORES", [block.raw_scores[heads] for block in chosen]),
            ("VALUE_NORM", [block.value_norm()[heads] for block in chosen]),
        ):
            yield {**self._entry(matrix, maps), "heads": heads}

    def merged_maps(self):
        rollout = map_reference.rollout(self.weights)
        for matrix, maps in (
            ("ROLLOUT", rollout),
            ("HIDDEN_SIMILARITY", [map_reference.similarity(state) for state in self.hidden[1:]]),
        ):
            yield self._entry(matrix, [maps[layer][None] for layer in self.case["layers"]])

    def norm_maps(self):
        """The maps, and the mixing ratios of every row."""
        seq = len(self.hidden[0])
        maps = {matrix: np.zeros((LAYERS, 1, seq, seq)) for matrix in NORM_MAPS}
        ratios = {matrix: np.zeros((LAYERS, seq)) for matrix in NORM_MAPS}
        for layer, block in enumerate(self.blocks):
            for query in range(seq):
                for matrix, parts in block.parts(query).items():
                    maps[matrix][layer, 0, query] = np.linalg.norm(parts, axis=-1)
                    ratios[matrix][layer, query] = map_reference.mixing_ratio(parts, query)
        for matrix in NORM_MAPS:
            entry = self._entry(matrix, [maps[matrix][layer] for layer in self.case["layers"]])
            yield {**entry, "mixing_ratio": encode_floats(ratios[matrix])}

    def weight_mixing(self):
        return encode_floats(np.stack([map_reference.weight_mixing(w) for w in self.weights]))

    def statistics(self, roles):
        """Of every head of every layer."""
        return [head_statistics(head, roles) for layer in self.weights for head in layer]


def measure(model, tokenizer, case):
    """A text as the golden file has it."""
    ids, types, roles = tokenize(tokenizer, case)
    text = Text(model, case, ids, types)
    statistics = text.statistics(roles)
    return {
        **{name: case[name] for name in ("text", "second", "max_tokens") if name in case},
        "ids": ids,
        "maps": [*text.head_maps(), *text.merged_maps(), *text.norm_maps()],
        "weight_mixing": text.weight_mixing(),
        "statistics": {
            name: encode_floats([head[name] for head in statistics]) for name in statistics[0]
        },
        "labels": [head_label(head) for head in statistics],
    }


def main():
    folder = folder_argument(__doc__.split("\n")[0])
    tokenizer = open_tokenizer(folder)
    model = open_model(folder, torch.float64)
    texts = [measure(model, tokenizer, case) for case in TEXTS]
    content = {"versions": versions(), "weights_sha256": WEIGHTS_SHA256, "texts": texts}
    write("attention_maps.json", content, lists=("texts",))


if __name__ == "__main__":
    main()
