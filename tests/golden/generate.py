#!/usr/bin/env python3
"""Writes the golden files of this folder from the reference implementation.

  python3 generate.py --model ~/.cache/attune/all-MiniLM-L6-v2

The reference is transformers with attn_implementation="eager", eval(), f32, one text at a time: no
padding, no batching, one thread. README.md says which versions and how to read the files.
"""

import torch

import golden_texts
import tiny_models
from default_model import WEIGHTS_SHA256, folder_argument, open_model, open_tokenizer, run_model
from golden_file import encode_floats, versions, write

MAX_TOKENS = 256  # sentence_bert_config.json's max_seq_length


# ---- The real model ------------------------------------------------------------------------------


def prefix_of_length(tokenizer, passage, length):
    """The longest run of leading words that is exactly `length` tokens, specials included."""
    words = passage.split(" ")
    for skip in range(len(words)):
        for count in range(1, length + 1):
            text = " ".join(words[skip : skip + count])
            tokens = len(tokenizer.encode(text).ids)
            if tokens == length:
                return text
            if tokens > length:
                break
    raise ValueError(f"no prefix of {length} tokens")


def golden_text_list(tokenizer):
    cut = [
        prefix_of_length(tokenizer, golden_texts.HARBOUR, length)
        for length in golden_texts.LENGTHS_FROM_HARBOUR
    ]
    return golden_texts.TEXTS + cut + golden_texts.TRUNCATED_TEXTS


def mean_pool_and_normalize(hidden):
    return torch.nn.functional.normalize(hidden.mean(dim=0), p=2, dim=0)


# Whole maps of two short texts, a few rows of a long one: which text, cells and rows.
def map_requests(texts, lengths):
    question = texts.index("Why does the cat that chased the dog look so pleased with itself?")
    chinese = texts.index("没吃饭")
    longest = lengths.index(MAX_TOKENS)
    return [
        {"text": question, "layers": [0, 2, 5], "heads": [0, 5, 11], "rows": list(range(16))},
        {"text": chinese, "layers": list(range(6)), "heads": list(range(12)), "rows": list(range(5))},
        {"text": longest, "layers": [1, 5], "heads": [2, 10], "rows": [0, 128, 255]},
    ]


def write_real_model(model_folder):
    tokenizer = open_tokenizer(model_folder)
    texts = golden_text_list(tokenizer)
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    model = open_model(model_folder, torch.float32)

    ids = [tokenizer.encode(text).ids for text in texts]
    outputs = [run_model(model, text_ids) for text_ids in ids]
    lengths = [len(text_ids) for text_ids in ids]
    maps = []
    for request in map_requests(texts, lengths):
        chosen = [
            outputs[request["text"]].attentions[layer][0, head]
            for layer in request["layers"]
            for head in request["heads"]
        ]
        weights = torch.stack(chosen)[:, request["rows"], :].numpy()
        maps.append({**request, "weights": encode_floats(weights)})
    traced = maps[0]["text"]
    write(
        "all_minilm_l6_v2.json",
        {
            "versions": versions(),
            "weights_sha256": WEIGHTS_SHA256,
            "max_tokens": MAX_TOKENS,
            "texts": [
                {
                    "text": text,
                    "ids": text_ids,
                    "vector": encode_floats(
                        mean_pool_and_normalize(output.last_hidden_state[0]).numpy()
                    ),
                }
                for text, text_ids, output in zip(texts, ids, outputs)
            ],
            "attention": maps,
            "first_token_by_layer": {
                "text": traced,
                "hidden": encode_floats(
                    torch.stack([state[0, 0] for state in outputs[traced].hidden_states]).numpy()
                ),
            },
        },
        lists=("texts", "attention"),
    )


# ---- Tiny models -----------------------------------------------------------------------------------


def write_tiny_models():
    cases = []
    for spec in tiny_models.SPECS:
        model = tiny_models.build(spec)
        outputs = [run_model(model, text["ids"], text["types"]) for text in tiny_models.TEXTS]
        config = spec["config"]
        hidden_states = [
            torch.cat([output.hidden_states[layer][0] for output in outputs])
            for layer in range(config["num_hidden_layers"] + 1)
        ]
        case = {**spec, "hidden_states": encode_floats(torch.stack(hidden_states).numpy())}
        if spec["maps"]:
            attention = [
                output.attentions[layer][0, head].flatten()
                for output in outputs
                for layer in range(config["num_hidden_layers"])
                for head in range(config["num_attention_heads"])
            ]
            case["attention"] = encode_floats(torch.cat(attention).numpy())
        cases.append(case)
    content = {"versions": versions(), "texts": tiny_models.TEXTS, "models": cases}
    write("tiny_models.json", content, lists=("texts", "models"))


def main():
    folder = folder_argument(__doc__.split("\n")[0])
    write_tiny_models()
    write_real_model(folder)


if __name__ == "__main__":
    main()
