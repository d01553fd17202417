"""ONNX Runtime on its own fused graph; int8 with dynamic quantisation."""

import numpy
import onnxruntime

import peer


class OnnxRuntime(peer.Peer):
    versions = {"onnxruntime": onnxruntime.__version__}

    def __init__(self, precision, threads, models):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        name = {"f32": "fused.onnx", "int8": "int8.onnx"}[precision]
        self.session = onnxruntime.InferenceSession(
            str(models / "onnx" / name), options, providers=["CPUExecutionProvider"])
        self.types = {x.name: numpy.int32 if "int32" in x.type else numpy.int64
                      for x in self.session.get_inputs()}
        self.output = self.session.get_outputs()[0].name

    def prepare(self, texts):
        ids, mask = peer.pad(texts)
        inputs = {"input_ids": ids, "attention_mask": mask,
                  "token_type_ids": numpy.zeros_like(ids)}
        return {name: inputs[name].astype(dtype) for name, dtype in self.types.items()}

    def run(self, prepared):
        return self.session.run([self.output], prepared)[0]
