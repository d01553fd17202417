"""Makes every peer's model files from a Hugging Face folder of a BERT model.

  convert.py MODEL_FOLDER WORKLOAD OUTPUT_FOLDER

  onnx/fused.onnx    with ONNX Runtime's own BERT fusions
  onnx/int8.onnx     the same with int8 weights and dynamic quantisation
  openvino/f32.xml   converted from an ONNX export
  openvino/int8.xml  the same quantised by NNCF, calibrated on some of the mixed texts
  ctranslate2/       f32 weights; the type to compute in is chosen when it is loaded
"""

import json
import pathlib
import shutil
import sys

import ctranslate2
import nncf
import numpy
import onnxruntime.quantization
import openvino
import torch
import transformers
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
CALIBRATION_TEXTS = 150


class LastHiddenState(torch.nn.Module):
    """The encoder as the graphs have it: three inputs, one output."""

    def __init__(self, folder, attention):
        super().__init__()
        self.model = transformers.BertModel.from_pretrained(
            folder, add_pooling_layer=False, attn_implementation=attention).eval()

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask,
                          token_type_ids=token_type_ids).last_hidden_state


def export_onnx(folder, path, attention):
    module = LastHiddenState(folder, attention)
    ids = torch.randint(1000, 2000, (2, 11))
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0  # a mask of ones only would let the exporter drop it
    names = (*INPUTS, "last_hidden_state")
    torch.onnx.export(module, (ids, mask, torch.zeros_like(ids)), str(path), dynamo=False,
                      input_names=list(INPUTS), output_names=["last_hidden_state"],
                      dynamic_axes={name: {0: "batch", 1: "seq"} for name in names},
                      opset_version=17)
    return module.model.config


def fuse(source, target, config):
    model = optimizer.optimize_model(str(source), model_type="bert", opt_level=0, use_gpu=False,
                                     num_heads=config.num_attention_heads,
                                     hidden_size=config.hidden_size,
                                     optimization_options=FusionOptions("bert"))
    statistics = model.get_fused_operator_statistics()
    if statistics.get("Attention", 0) != config.num_hidden_layers:
        sys.exit(f"convert.py: the attention of some layers was not fused: {statistics}")
    model.save_model_to_file(str(target))


def quantize_dynamic(source, target):
    onnxruntime.quantization.quantize_dynamic(
        source, target, per_channel=True, weight_type=onnxruntime.quantization.QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Attention", "Gemm"],
        # The fused operators have no shape inference: tensors of unknown type are FLOAT, 1.
        extra_options={"MatMulConstBOnly": True, "DefaultTensorType": 1})


def quantize_static(model, texts):
    """NNCF's post-training quantisation, calibrated on `texts`."""
    def inputs(ids):
        array = numpy.array([ids], dtype=numpy.int64)
        return {"input_ids": array, "attention_mask": numpy.ones_like(array),
                "token_type_ids": numpy.zeros_like(array)}
    return nncf.quantize(model, nncf.Dataset(texts, inputs), subset_size=len(texts),
                         model_type=nncf.ModelType.TRANSFORMER)


def convert_ctranslate2(folder, target):
    # The converter asks for a key that newer transformers leave out where it has its default.
    copy = target.with_name("ctranslate2-source")
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    config_path = copy / "config.json"
    config = json.loads(config_path.read_text(encoding="utf-8"))
    config.setdefault("position_embedding_type", "absolute")
    config_path.write_text(json.dumps(config), encoding="utf-8")
    ctranslate2.converters.TransformersConverter(str(copy)).convert(str(target), force=True)
    shutil.rmtree(copy)


def convert(folder, workload_path, output):
    workload = json.loads(workload_path.read_text(encoding="utf-8"))
    for name in ("onnx", "openvino"):
        (output / name).mkdir(parents=True, exist_ok=True)
    onnx = output / "onnx"
    # ONNX Runtime's fusions know the eager form only.
    config = export_onnx(folder, onnx / "eager.onnx", "eager")
    fuse(onnx / "eager.onnx", onnx / "fused.onnx", config)
    quantize_dynamic(onnx / "fused.onnx", onnx / "int8.onnx")
    export_onnx(folder, onnx / "sdpa.onnx", "sdpa")
    model = openvino.convert_model(str(onnx / "sdpa.onnx"))
    openvino.save_model(model, output / "openvino" / "f32.xml", compress_to_fp16=False)
    quantized = quantize_static(model, workload["mixed"][::5][:CALIBRATION_TEXTS])
    openvino.save_model(quantized, output / "openvino" / "int8.xml", compress_to_fp16=False)
    convert_ctranslate2(folder, output / "ctranslate2")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    convert(*map(pathlib.Path, sys.argv[1:]))


if __name__ == "__main__":
    main()
