"""The default model, all-MiniLM-L6-v2, as the reference runs it: transformers'
attn_implementation="eager", eval(), one text at a time."""

import argparse
import hashlib
import pathlib

import tokenizers
import torch
import transformers

# The official all-MiniLM-L6-v2 weights.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def folder_argument(description):
    """The folder named on the command line. One thread from here on: sums have one order."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--model", type=pathlib.Path, required=True, help="all-MiniLM-L6-v2's folder"
    )
    torch.set_num_threads(1)
    return parser.parse_args().model


def open_tokenizer(folder):
    """Without padding and, until it is asked for, truncation."""
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def open_model(folder, dtype):
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"{folder}/model.safetensors is not the official file: {digest}")
    return transformers.BertModel.from_pretrained(
        folder, attn_implementation="eager", dtype=dtype
    ).eval()


def run_model(model, ids, types=None):
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([ids]),
            token_type_ids=torch.tensor([types if types is not None else [0] * len(ids)]),
            output_hidden_states=True,
            output_attentions=True,
        )
