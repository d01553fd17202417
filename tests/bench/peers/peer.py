"""What every peer offers: padded batches of token ids in, the last hidden state out."""

import abc

import numpy


def pad(texts):
    """ids and mask, int64 [batch, longest], of lists of token ids."""
    longest = max(map(len, texts))
    ids = numpy.zeros((len(texts), longest), dtype=numpy.int64)
    mask = numpy.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, :len(text)] = text
        mask[row, :len(text)] = 1
    return ids, mask


def token_means(hidden, lengths):
    """Mean of each text's own token vectors, normalised, in double precision."""
    means = numpy.stack([hidden[row, :length].astype(numpy.float64).mean(axis=0)
                         for row, length in enumerate(lengths)])
    return means / numpy.linalg.norm(means, axis=1, keepdims=True)


class Peer(abc.ABC):
    """One library with one model in one precision on a number of threads."""

    versions: dict

    @abc.abstractmethod
    def prepare(self, texts):
        """The input for run(); never timed, so that no peer is charged for Python's padding."""

    @abc.abstractmethod
    def run(self, prepared):
        """The last hidden state, f32 [batch, longest, hidden]."""
