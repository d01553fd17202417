"""Attention maps by their definitions, in float64: the vector that each key adds to each query is made
by every head and measured. Nothing is rearranged to save time or memory.

A is a head's weights [query, key], x the layer's input, and f_h(x_j) = W_O[h] v_j^h what head h adds
for token j: value bias in, output bias out (Kobayashi et al. 2020, 2021).
"""

import numpy as np


def array(tensor):
    return tensor.detach().numpy().astype(np.float64)


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


class AttentionBlock:
    """The attention block of one layer (a transformers BertLayer) over one text.

    x: [seq, hidden], what the layer reads; weights: [heads, seq, seq], as transformers made them.
    """

    def __init__(self, layer, x, weights):
        self.x, self.weights = x, weights
        self.heads, self.seq = weights.shape[:2]
        attention = layer.attention
        queries, keys, values = (
            self._by_head(linear)
            for linear in (attention.self.query, attention.self.key, attention.self.value)
        )
        self.raw_scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(queries.shape[-1])
        output = attention.output.dense
        head_outputs = array(output.weight).reshape(len(x[0]), self.heads, -1).transpose(1, 2, 0)
        self.head_vectors = values @ head_outputs  # f: [heads, seq, hidden]
        norm = attention.output.LayerNorm
        self.gamma, self.beta = array(norm.weight), array(norm.bias)
        # The rows that the layer normalisation reads: [seq, hidden].
        self.before_norm = (self.weights @ self.head_vectors).sum(axis=0) + array(output.bias) + self.x
        self.deviation = np.sqrt(self.before_norm.var(axis=-1, keepdims=True) + norm.eps)
        np.testing.assert_allclose(softmax(self.raw_scores), self.weights, rtol=0, atol=1e-12)

    def _by_head(self, linear):
        projected = self.x @ array(linear.weight).T + array(linear.bias)
        return projected.reshape(self.seq, self.heads, -1).transpose(1, 0, 2)

    def value_norm(self):
        """[heads, seq, seq]"""
        return self.weights * np.linalg.norm(self.head_vectors, axis=-1)[:, None, :]

    def parts(self, query):
        """The vectors whose lengths are the query's row of each map: {matrix: [seq, hidden]}."""
        moved = (self.weights[:, query, :, None] * self.head_vectors).sum(axis=0)  # u
        with_residual = moved.copy()
        with_residual[query] += self.x[query]
        return {
            "ATTN_NORM": moved,
            "RES_NORM": with_residual,
            "RES_LN_NORM": self._centred(with_residual) / self.deviation[query],
        }

    def after_norm(self):
        """The block's output: [seq, hidden]."""
        return self._centred(self.before_norm) / self.deviation + self.beta

    def _centred(self, vectors):
        return self.gamma * (vectors - vectors.mean(axis=-1, keepdims=True))


def mixing_ratio(parts, query):
    """|others| / (|others| + |own|)"""
    others = np.linalg.norm(np.delete(parts, query, axis=0).sum(axis=0))
    return others / (others + np.linalg.norm(parts[query]))


def weight_mixing(weights):
    """[seq]: what heads [heads, seq, seq] give to others, in the mean."""
    return 1 - np.einsum("hii->hi", weights).mean(axis=0)


def rollout(attentions):
    """Of each layer's weights [heads, seq, seq], R after it (Abnar & Zuidema 2020)."""
    product = np.eye(attentions[0].shape[-1])
    products = []
    for weights in attentions:
        product = (0.5 * weights.mean(axis=0) + 0.5 * np.eye(len(product))) @ product
        products.append(product)
    return products


def similarity(hidden):
    """Cosines of the rows of hidden [seq, hidden]."""
    directions = hidden / np.linalg.norm(hidden, axis=-1, keepdims=True)
    return directions @ directions.T
