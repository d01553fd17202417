"""How golden files are written."""

import base64
import json
import pathlib

import numpy as np
import tokenizers
import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent


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
