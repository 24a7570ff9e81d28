"""Emotion metrics of one turn: the person's tags against the predicted ones.

Both sides are `Tags`: item name → intensity 1–7, or None where no intensity is known; {} is neutral. As `truth`, None
means no truth and every metric is None. As `predicted`, None means not answered: 0 in every overlap, also where the
truth is empty. A turn that was never asked for tags is not passed to these functions. Names must be spelled the same
on both sides and be known to the similarity table; `as_tags` makes tags of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from attunebench.metrics.card import OURS, PUBLIC_CODE, README, Metric
from attunebench.metrics.matching import matched_total

Tags = Mapping[str, float | None]
Similarity = Mapping[str, Mapping[str, float]]

INTENSITY_SPAN = 6.0
"""The largest distance of two intensities on the scale 1–7."""
SIMILARITY_SHARE = 0.7
"""Weight of the valence-arousal part in the combined similarity; the rest goes to intensity."""


def as_tags(pairs: Iterable[tuple[str, float | None]]) -> dict[str, float | None]:
    """Tags from (name, intensity) pairs; of a name that stands twice the highest intensity is kept."""
    tags: dict[str, float | None] = {}
    for name, intensity in pairs:
        known = tags.get(name)
        if known is None or (intensity is not None and intensity > known):
            tags[name] = intensity
    return tags


def emotion_precision(truth: Tags | None, predicted: Tags | None) -> float | None:
    """Share of the predicted emotions that were felt, in [0, 1]. Both empty 1, one empty 0. Source: spec 4.1."""
    return _share_of_shared(truth, predicted, of_predicted=True)


def emotion_recall(truth: Tags | None, predicted: Tags | None) -> float | None:
    """Share of the felt emotions that were predicted, in [0, 1]. Both empty 1, one empty 0. Source: spec 4.1."""
    return _share_of_shared(truth, predicted, of_predicted=False)


def _share_of_shared(truth: Tags | None, predicted: Tags | None, *, of_predicted: bool) -> float | None:
    if truth is None:
        return None
    if predicted is None:
        return 0.0
    if not truth or not predicted:
        return float(not truth and not predicted)
    return len(truth.keys() & predicted.keys()) / len(predicted if of_predicted else truth)


def emotion_f1(truth: Tags | None, predicted: Tags | None) -> float | None:
    """F1 of the two sets of names, in [0, 1]: 2·|G∩P| / (|G| + |P|). Both empty 1, one empty 0. Source: spec 4.1."""
    if truth is None:
        return None
    if predicted is None:
        return 0.0
    if not truth and not predicted:
        return 1.0
    return 2 * len(truth.keys() & predicted.keys()) / (len(truth) + len(predicted))


def emotion_va(truth: Tags | None, predicted: Tags | None, similarity: Similarity) -> float | None:
    """Matched valence-arousal similarity over max(|G|, |P|), in [0, 1]. Both empty 1, one empty 0. Source: spec 4.1.

    The matching is one to one and maximises the total similarity.
    """
    if truth is None:
        return None
    if predicted is None:
        return 0.0
    if not truth or not predicted:
        return float(not truth and not predicted)
    table = [[similarity[felt][guess] for guess in predicted] for felt in truth]
    return matched_total(table) / max(len(truth), len(predicted))


def emotion_va_intensity(truth: Tags | None, predicted: Tags | None, similarity: Similarity) -> float | None:
    """As `emotion_va`, with 0.7·sim + 0.3·(1 − |Δintensity|/6) as what is matched, in [0, 1]. Source: spec 4.1.

    The intensity part is 0 where either intensity is unknown.
    """
    if truth is None:
        return None
    if predicted is None:
        return 0.0
    if not truth or not predicted:
        return float(not truth and not predicted)
    table = [
        [
            SIMILARITY_SHARE * similarity[felt][guess] + (1 - SIMILARITY_SHARE) * _closeness(strength, guessed)
            for guess, guessed in predicted.items()
        ]
        for felt, strength in truth.items()
    ]
    return matched_total(table) / max(len(truth), len(predicted))


def _closeness(one: float | None, other: float | None) -> float:
    return 0.0 if one is None or other is None else 1 - abs(one - other) / INTENSITY_SPAN


def _intensity_distances(truth: Tags, predicted: Tags) -> list[float]:
    shared = ((truth[name], predicted[name]) for name in truth if name in predicted)
    return [abs(one - other) for one, other in shared if one is not None and other is not None]


def emotion_f1_intensity(truth: Tags | None, predicted: Tags | None) -> float | None:
    """`emotion_f1` × mean closeness of the intensities of names on both sides, in [0, 1]. Source: spec 4.1.

    Closeness is 1 − |Δ|/6 over the names with both intensities; the metric is 0 where there are none. Both empty 1.
    """
    f1 = emotion_f1(truth, predicted)
    if not f1 or truth is None or predicted is None or not truth:
        return f1
    distances = _intensity_distances(truth, predicted)
    return f1 * (1 - sum(distances) / len(distances) / INTENSITY_SPAN) if distances else 0.0


def emotion_intensity_mae(truth: Tags | None, predicted: Tags | None) -> float | None:
    """Mean |Δintensity| over names on both sides with both intensities, 0–6, lower is better. Source: spec 4.1.

    None where there is no such name, so also where nothing was answered: only hits can be off in intensity.
    """
    if truth is None or predicted is None:
        return None
    distances = _intensity_distances(truth, predicted)
    return sum(distances) / len(distances) if distances else None


def neutral_false_alarm(truth: Tags | None, predicted: Tags | None) -> float | None:
    """On a neutral turn 1 where an emotion was predicted, or nothing answered, else 0; lower is better. Spec 4.1.

    None on turns that are not neutral.
    """
    if truth is None or truth:
        return None
    return float(predicted is None or bool(predicted))


def neutral_turn_share(truth: Tags | None) -> float | None:
    """1 on a neutral turn, 0 on a tagged one: a property of the data, not of a model. None without truth."""
    return None if truth is None else float(not truth)


def turn_values(truth: Tags | None, predicted: Tags | None, similarity: Similarity) -> dict[str, float | None]:
    """All metrics of one turn by id that compare tags with tags; the `_tagged` ones are None on neutral turns."""
    f1 = emotion_f1(truth, predicted)
    va = emotion_va(truth, predicted, similarity)
    hit_rate = emotion_recall(truth, predicted)
    tagged = bool(truth)
    return {
        "emotion_f1": f1,
        "emotion_va": va,
        "emotion_precision": emotion_precision(truth, predicted),
        "emotion_recall": hit_rate,
        "emotion_hit_rate": hit_rate,
        "emotion_va_intensity": emotion_va_intensity(truth, predicted, similarity),
        "emotion_f1_intensity": emotion_f1_intensity(truth, predicted),
        "emotion_intensity_mae": emotion_intensity_mae(truth, predicted),
        "emotion_f1_tagged": f1 if tagged else None,
        "emotion_va_tagged": va if tagged else None,
        "emotion_hit_rate_tagged": hit_rate if tagged else None,
        "neutral_false_alarm": neutral_false_alarm(truth, predicted),
    }


_canonical = partial(Metric, status="canonical", group="turn", level="turn")
_diagnostic = partial(Metric, status="diagnostic", group="diagnostic", level="turn", source=OURS)

CARDS: tuple[Metric, ...] = (
    _canonical(
        "emotion_f1",
        "Emotion F1",
        "How well the emotions that the model names are the ones the person felt, by exact name.",
        "2·|G∩P| / (|G| + |P|) over item names; both empty 1, exactly one empty 0; not answered 0.",
    ),
    _canonical(
        "emotion_va",
        "Emotion VA",
        "How close the named emotions come to the felt ones in valence and arousal, with credit for near misses "
        "such as distressed for upset.",
        "Best one-to-one matching by total valence-arousal similarity, over max(|G|, |P|); sim = 1 − distance/√2 "
        "rounded to 4 digits; both empty 1, exactly one empty 0; not answered 0.",
    ),
    _diagnostic(
        "emotion_precision",
        "Emotion precision",
        "Of the emotions that the model named, how many the person felt.",
        "|G∩P| / |P|; both empty 1, exactly one empty 0; not answered 0.",
        source=README,
    ),
    _diagnostic(
        "emotion_recall",
        "Emotion recall",
        "Of the emotions that the person felt, how many the model named.",
        "|G∩P| / |G|; both empty 1, exactly one empty 0; not answered 0.",
        source=README,
    ),
    _diagnostic(
        "emotion_hit_rate",
        "Emotion hit rate",
        "The recall of emotions under the name that other implementations print.",
        "As emotion_recall.",
        source=PUBLIC_CODE,
    ),
    _diagnostic(
        "emotion_va_intensity",
        "Emotion VA with intensity",
        "How close the named emotions come to the felt ones in kind and in strength.",
        "As emotion_va with the similarity 0.7·sim + 0.3·(1 − |Δintensity|/6); intensity part 0 where either is "
        "unknown.",
        source=PUBLIC_CODE,
    ),
    _diagnostic(
        "emotion_f1_intensity",
        "Emotion F1 with intensity",
        "The exact-name score, reduced where the strength of the right emotions is off.",
        "emotion_f1 × mean over names on both sides with both intensities of (1 − |Δ|/6); 0 without such names; "
        "both empty 1.",
        source=PUBLIC_CODE,
    ),
    _diagnostic(
        "emotion_intensity_mae",
        "Emotion intensity error",
        "By how many steps of the 1–7 scale the strength of the rightly named emotions is off.",
        "Mean |Δintensity| over names on both sides with both intensities; undefined without such names.",
        group="turn",
        source=PUBLIC_CODE,
        high=INTENSITY_SPAN,
        unit="scale points",
        higher_is_better=False,
    ),
    _diagnostic(
        "emotion_f1_tagged",
        "Emotion F1, tagged turns",
        "The exact-name score over only those turns on which the person felt something.",
        "emotion_f1 over the turns whose truth has a tag.",
    ),
    _diagnostic(
        "emotion_va_tagged",
        "Emotion VA, tagged turns",
        "The near-miss score over only those turns on which the person felt something.",
        "emotion_va over the turns whose truth has a tag.",
    ),
    _diagnostic(
        "emotion_hit_rate_tagged",
        "Emotion hit rate, tagged turns",
        "Of the emotions that the person felt, how many the model named, over turns with at least one.",
        "emotion_recall over the turns whose truth has a tag.",
    ),
    _diagnostic(
        "neutral_false_alarm",
        "False alarms on neutral turns",
        "How often the model sees an emotion where the person reported none.",
        "Share of the neutral turns on which P is not empty; not answered counts as a false alarm.",
        higher_is_better=False,
    ),
    _diagnostic(
        "neutral_turn_share",
        "Neutral turns",
        "How many of the person's turns carry no emotion: a property of the data, the same for every model.",
        "Turns whose truth is an empty tag list / turns with truth.",
        higher_is_better=None,
    ),
)
