"""Tiny BERT encoders whose weights are a formula, so that no weight file is needed.

formula_weights.cc computes the same formula. Element i of the tensor `name` is
  scale * (2 * (mix(fnv1a(name) + i * 0x9E3779B9) >> 8) / 2^24 - 1), plus 1 for a layer norm's weight
in f32, with arithmetic modulo 2^32 and `mix` the finaliser below. Scales are powers of two, so every
value is exact in f32 (a layer norm's weight is rounded once).
"""

import numpy as np
import torch
import transformers


def spec(
    name,
    hidden_act="gelu",
    epsilon=1e-12,
    embedding_scale_log2=-1,
    hidden=32,
    layers=2,
    heads=4,
    ffn=64,
    maps=False,
):
    """A model: its config.json, the scale of its embeddings, whether its maps are written."""
    return {
        "name": name,
        "config": {
            "model_type": "bert",
            "vocab_size": 50,
            "hidden_size": hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": ffn,
            "hidden_act": hidden_act,
            "layer_norm_eps": epsilon,
            "max_position_embeddings": 24,
            "type_vocab_size": 2,
        },
        "embedding_scale_log2": embedding_scale_log2,
        "maps": maps,
    }


SPECS = [
    spec("gelu", layers=3, maps=True),
    spec("gelu_new", hidden_act="gelu_new"),
    spec("relu", hidden_act="relu"),
    spec("silu", hidden_act="silu"),
    # Embeddings small enough for epsilon to decide the first layer norm.
    spec("epsilon_1e-12", epsilon=1e-12, embedding_scale_log2=-9, layers=1),
    spec("epsilon_1e-5", epsilon=1e-5, embedding_scale_log2=-9, layers=1),
    # Sizes that fill no vector register and no group of rows.
    spec("odd_sizes", hidden=39, heads=3, ffn=50, maps=True),
]

# Texts of 1, 6 and 13 tokens; the last has two types, as a pair of texts has.
TEXTS = [
    {
        "ids": [(7 * i * i + 3 * i + length) % 50 for i in range(length)],
        "types": [int(i >= 9) for i in range(length)],
    }
    for length in (1, 6, 13)
]


def fnv1a(name):
    value = 0x811C9DC5
    for byte in name.encode("ascii"):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def mix(x):
    """A bijection of 32 bits that scatters consecutive numbers (two multiply-xorshift rounds)."""
    x = x.astype(np.uint32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return x


def scale_log2(name, model_spec):
    if name.startswith("embeddings.") and "LayerNorm" not in name:
        return model_spec["embedding_scale_log2"]
    if name.endswith("intermediate.dense.weight"):
        return -1  # wide enough for erf and tanh forms of GELU to differ
    return -2


def tensor(name, shape, model_spec):
    index = np.arange(np.prod(shape), dtype=np.uint32)
    bits = mix(index * np.uint32(0x9E3779B9) + np.uint32(fnv1a(name)))
    unit = (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    values = unit * np.float32(2.0 ** scale_log2(name, model_spec))
    if name.endswith("LayerNorm.weight"):
        values = np.float32(1) + values
    return torch.from_numpy(values.reshape(shape))


def build(model_spec):
    config = transformers.BertConfig(**model_spec["config"], attn_implementation="eager")
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    weights = {
        name: tensor(name, tuple(value.shape), model_spec) for name, value in model.state_dict().items()
    }
    model.load_state_dict(weights, strict=True)
    return model
