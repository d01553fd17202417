"""A peer in a process of its own, which executes the same commands as `engine_bench --serve`
(tests/bench/bench_commands.h): one JSON line each on standard input and output.

  child.py PEER PRECISION THREADS WORKLOAD MODELS MODEL_FOLDER
"""

import json
import os
import pathlib
import sys
import time

import numpy

import peer as peer_module

BATCH = 32


def load(name, precision, threads, models, model_folder):
    # Each library is imported only where it is measured.
    # pylint: disable=import-outside-toplevel
    if name == "openvino":
        import peer_openvino
        return peer_openvino.OpenVino(precision, threads, models)
    if name == "onnxruntime":
        import peer_onnxruntime
        return peer_onnxruntime.OnnxRuntime(precision, threads, models)
    if name == "ctranslate2":
        import peer_ctranslate2
        return peer_ctranslate2.CTranslate2(precision, threads, models)
    if name == "torch":
        import peer_torch
        return peer_torch.Torch(precision, threads, model_folder)
    raise ValueError(f"no such peer: {name}")


def batches_of(texts, size):
    return [texts[begin:begin + size] for begin in range(0, len(texts), size)]


class Commands:

    def __init__(self, peer, workload):
        self.peer = peer
        self.workload = workload
        self.prepared = {}

    def execute(self, command):
        run = command["run"]
        if run == "info":
            return {"versions": self.peer.versions}
        if run == "vectors":
            return {"vectors": self.vectors(command).tolist()}
        return self.measure(command)

    def passes_of(self, command):
        """Lists of batches: each pass runs one list, the next pass the next."""
        if command["run"] == "mixed":
            texts = self.workload["mixed"][:command.get("texts") or None]
            if command.get("sorted"):
                texts = sorted(texts, key=len)
            return [batches_of(texts, BATCH)]
        texts = self.workload["uniform"][str(command["seq"])]
        if command["run"] == "alone":
            return [[[text]] for text in texts]
        return [batches_of(texts, BATCH)]

    def prepared_for(self, command):
        key = json.dumps({name: command.get(name) for name in ("run", "seq", "texts", "sorted")})
        if key not in self.prepared:
            self.prepared[key] = [[self.peer.prepare(batch) for batch in one_pass]
                                  for one_pass in self.passes_of(command)]
        return self.prepared[key]

    def measure(self, command):
        passes = self.prepared_for(command)
        warm = command.get("warm", 1)
        seconds = []
        for i in range(warm + command.get("passes", 1)):
            begin = time.perf_counter()
            for batch in passes[i % len(passes)]:
                self.peer.run(batch)
            if i >= warm:
                seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds}

    def vectors(self, command):
        texts = self.workload["accuracy"]
        texts = [texts[i] for i in command.get("order", range(len(texts)))]
        parts = [peer_module.token_means(self.peer.run(self.peer.prepare(batch)),
                                         [len(text) for text in batch])
                 for batch in batches_of(texts, 1 if command.get("alone") else BATCH)]
        return numpy.concatenate(parts)


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    # Answers go to the real standard output; what a library prints goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, precision, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    workload = json.loads(pathlib.Path(sys.argv[4]).read_text(encoding="utf-8"))
    peer = load(name, precision, threads, pathlib.Path(sys.argv[5]), sys.argv[6])
    commands = Commands(peer, workload)
    for line in sys.stdin:
        answers.write(json.dumps(commands.execute(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
