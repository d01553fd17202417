"""Writes a model of BERT-base's shape with random weights, for speed only.

  random_model.py MODEL_FOLDER OUTPUT_FOLDER

The tokenizer and the kind of pooling are the given model's.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers


def write_model(source, target):
    shutil.copytree(source, target, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("*.safetensors"))
    torch.manual_seed(0)
    vocab = transformers.BertConfig.from_pretrained(source).vocab_size
    model = transformers.BertModel(transformers.BertConfig(vocab_size=vocab),
                                   add_pooling_layer=False)
    model.save_pretrained(target)
    pooling_path = target / "1_Pooling" / "config.json"
    pooling = json.loads(pooling_path.read_text(encoding="utf-8"))
    pooling["word_embedding_dimension"] = model.config.hidden_size
    pooling_path.write_text(json.dumps(pooling), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_model(*map(pathlib.Path, sys.argv[1:]))
