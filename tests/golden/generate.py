#!/usr/bin/env python3
"""Writes the golden files of this folder from the reference implementation.

  python3 generate.py --model ~/.cache/attune/all-MiniLM-L6-v2

The reference is transformers with attn_implementation="eager", eval(), f32, one text at a time: no
padding, no batching, one thread. README.md says which versions and how to read the files.
"""

import argparse
import base64
import hashlib
import json
import pathlib

import numpy as np
import tokenizers
import torch
import transformers

import golden_texts
import tiny_models

FOLDER = pathlib.Path(__file__).resolve().parent
# The official all-MiniLM-L6-v2 weights.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MAX_TOKENS = 256  # sentence_bert_config.json's max_seq_length


def encode_floats(array):
    """Little-endian f32, row-major, in base64."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def versions():
    return {
        "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "numpy": np.__version__,
    }


def write(name, content, lists):
    """JSON with one line per element of the `lists`, so that a diff shows what changed."""
    parts = []
    for key, value in content.items():
        if key in lists:
            lines = ",\n".join("  " + json.dumps(element) for element in value)
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    (FOLDER / name).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="ascii")


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


def run_model(model, ids, types=None):
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([ids]),
            token_type_ids=torch.tensor([types if types is not None else [0] * len(ids)]),
            output_hidden_states=True,
            output_attentions=True,
        )


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
    digest = hashlib.sha256((model_folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"{model_folder}/model.safetensors is not the official file: {digest}")
    tokenizer = tokenizers.Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = golden_text_list(tokenizer)
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    model = transformers.BertModel.from_pretrained(
        model_folder, attn_implementation="eager", dtype=torch.float32
    ).eval()

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
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, required=True, help="all-MiniLM-L6-v2's folder")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    write_tiny_models()
    write_real_model(arguments.model)


if __name__ == "__main__":
    main()
