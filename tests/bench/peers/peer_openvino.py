"""OpenVINO: its CPU plugin on an IR model. In int8, quantised by NNCF, what is not quantised runs in
whichever of f32 and bf16 is faster here: its own choice is bf16 wherever the CPU has it."""

import time

import numpy
import openvino

import peer

TRIAL_TEXTS = [[2003] * 128] * 8


class OpenVino(peer.Peer):

    def __init__(self, precision, threads, models):
        if precision == "int8":
            choices = [Model("int8", other, threads, models) for other in ("f32", "bf16")]
            trial = self.prepare(TRIAL_TEXTS)
            self.model = min(choices, key=lambda model: model.best_seconds(trial))
        else:
            self.model = Model("f32", precision, threads, models)
        self.versions = {"openvino": openvino.__version__.split("-", maxsplit=1)[0],
                         "inference precision": self.model.inference_precision}

    def prepare(self, texts):
        ids, mask = peer.pad(texts)
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}

    def run(self, prepared):
        return self.model.run(prepared)


class Model:

    def __init__(self, file, inference_precision, threads, models):
        self.inference_precision = inference_precision
        config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                  "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": inference_precision}
        self.request = openvino.Core().compile_model(
            str(models / "openvino" / f"{file}.xml"), "CPU", config).create_infer_request()

    def run(self, prepared):
        self.request.infer(prepared, share_inputs=True)
        return self.request.get_output_tensor(0).data

    def best_seconds(self, prepared):
        seconds = []
        for _ in range(6):
            begin = time.perf_counter()
            self.run(prepared)
            seconds.append(time.perf_counter() - begin)
        return min(seconds)
