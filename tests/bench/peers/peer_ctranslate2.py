"""CTranslate2: its Encoder on lists of ids, which it pads itself."""

import ctranslate2
import numpy

import peer


class CTranslate2(peer.Peer):
    versions = {"ctranslate2": ctranslate2.__version__}

    def __init__(self, precision, threads, models):
        compute_type = {"f32": "float32", "int8": "int8_float32"}[precision]
        self.encoder = ctranslate2.Encoder(str(models / "ctranslate2"), device="cpu",
                                           compute_type=compute_type, intra_threads=threads,
                                           inter_threads=1)

    def prepare(self, texts):
        return texts

    def run(self, prepared):
        return numpy.array(self.encoder.forward_batch(prepared).last_hidden_state)
