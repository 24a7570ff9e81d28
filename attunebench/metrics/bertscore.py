"""BERTScore of a draft against the candidate replies (Zhang et al. 2020), from the tokens that a language model saw.

Owns the matching of tokens, a turn's values and their cards. Refuses to know the language model: texts arrive as
arrays, and a turn's scores as numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.metrics.card import DRAFT_AGAINST, Metric
from attunebench.metrics.pairwise import VARIANTS

DIGITS = 6
"""Decimals that are kept: beyond them a score depends on which texts shared a batch with it."""
_PAPER = "Zhang et al. 2020, BERTScore (ICLR)"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text as a language model sees it, token by token.

    `vectors`: (tokens, size), each of length 1. `own`: (tokens,), True for tokens of the text; the others, which the
    model puts around it, can be matched but are not asked for a match.
    """

    vectors: NDArray[np.float32]
    own: NDArray[np.bool_]


def bertscore(candidate: Embedded, reference: Embedded) -> float:
    """F1 of two texts, in [0, 1]; symmetric, and 1 for equal texts. Source: Zhang et al. 2020, equations 1–3.

    Precision is the mean, over the candidate's own tokens, of the largest cosine to any token of the reference; recall
    the same the other way round. Every token weighs the same (no IDF), and nothing is rescaled. 0 where precision or
    recall is not positive, which models that have learnt something do not bring about. Both texts without any own
    token 1, exactly one 0.
    """
    if not (candidate.own.any() and reference.own.any()):
        return float(candidate.own.any() == reference.own.any())
    cosines = candidate.vectors @ reference.vectors.T
    precision = float(cosines.max(axis=1)[candidate.own].mean(dtype=np.float64))
    recall = float(cosines.max(axis=0)[reference.own].mean(dtype=np.float64))
    if precision <= 0 or recall <= 0:
        return 0.0
    return min(1.0, round(2 * precision * recall / (precision + recall), DIGITS))


def turn_values(has_draft: bool, variants: Collection[str], found: Mapping[str, float]) -> dict[str, float | None]:
    """A turn's values by metric id; `found`: variant → BERTScore of the draft with it.

    `variants` are those that have a text: None for the others and for what was not found; 0 without a draft.
    """
    values = {
        variant: None if variant not in variants else found.get(variant) if has_draft else 0.0 for variant in VARIANTS
    }
    defined = [value for value in values.values() if value is not None]
    return {
        **{f"bertscore_{variant}": value for variant, value in values.items()},
        "bertscore_max": max(defined) if defined else None,
    }


_ASKED_FOR = "no draft 0; computed only by `score --bertscore`."

CARDS: tuple[Metric, ...] = tuple(
    Metric(
        f"bertscore_{variant}",
        f"Draft BERTScore, {label}",
        f"Similarity in meaning of the model's own reply to {against}, by a small language model. Most such models "
        "score unrelated texts at 0.8 or more, so compare differences only.",
        f"Largest of the BERTScores of the draft with the three replies; {_ASKED_FOR}"
        if variant == "max"
        else "BERTScore F1 of draft and text: every token with the nearest of the other text, by cosine; no IDF, no "
        f"rescaling; {_ASKED_FOR}",
        group="draft",
        status="diagnostic",
        level="turn",
        source=_PAPER,
        optional=True,
    )
    for variant, (label, against) in DRAFT_AGAINST.items()
)
