"""Statistics of a head's weights by their formulas, in float64."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Roles:
    """Which tokens of a text heads are known to look at."""

    first_is_special: bool
    separator: np.ndarray  # [seq], of bool
    punctuation: np.ndarray


def mean_or_0(values):
    return values.mean() if values.size > 0 else 0.0


def head_statistics(weights, roles):
    """By the names of attune.v1.HeadSummary. weights: [seq, seq], row = query."""
    seq = len(weights)
    query, key = np.indices((seq, seq))
    step = key - query
    smooth = 0.9999 * weights + 0.0001 / seq
    row_entropy = -(smooth * np.log(smooth)).sum(axis=1)
    to_separators = weights[:, roles.separator].sum(axis=1)
    counted = np.ones(seq, dtype=bool)  # all keys but the last separator
    counted[np.flatnonzero(roles.separator)[-1:]] = False
    looks_most = weights.argmax(axis=1) - np.arange(seq)
    first = weights[:, 0].mean()
    entropy = row_entropy.mean()
    return {
        "self_mass": weights[step == 0].sum() / seq,
        "previous_mass": weights[step == -1].sum() / seq,
        "next_mass": weights[step == 1].sum() / seq,
        "first_mass": first,
        "cls_mass": first if roles.first_is_special else 0.0,
        "separator_mass": to_separators.mean(),
        "punctuation_mass": weights[:, roles.punctuation].sum() / seq,
        "separator_to_separator": mean_or_0(to_separators[roles.separator]),
        "rest_to_separator": mean_or_0(to_separators[~roles.separator]),
        "entropy": entropy,
        "entropy_normalized": entropy / np.log(seq) if seq > 1 else 0.0,
        "support": np.exp(entropy),
        "first_entropy": row_entropy[0],
        "distance": (weights * np.abs(step)).sum() / seq,
        "offset": (weights * step).sum() / seq,
        "confidence": weights[:, counted].max(axis=1).mean(),
        "previous_share": (looks_most == -1).mean(),
        "next_share": (looks_most == 1).mean(),
        "locality": weights[np.abs(step) <= 2].sum() / seq,
        "symmetry": 1 - np.abs(weights - weights.T).sum() / (2 * seq),
    }


def head_label(statistics):
    """By the thresholds of Clark et al. 2019; where several hold, the last one."""
    label = "UNSPECIFIED"
    for name, holds in (
        ("NEXT", statistics["next_mass"] > 0.5),
        ("PREVIOUS", statistics["previous_mass"] > 0.5),
        ("BROAD", statistics["entropy_normalized"] > 3.8 / np.log(128)),
        ("CLS", statistics["cls_mass"] > 0.6),
        ("SEPARATOR", statistics["separator_mass"] > 0.6),
        ("PUNCTUATION", statistics["punctuation_mass"] > 0.6),
    ):
        if holds:
            label = name
    return label
