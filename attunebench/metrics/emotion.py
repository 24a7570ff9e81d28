"""Emotion metrics of one turn: the person's tags against the predicted ones. Source: spec 4.1.

Both sides are `Tags`: item name → intensity 1–7, or None where no intensity is known; {} is neutral. As `truth`, None
means no truth and every metric is None. As `predicted`, None means not answered: 0 in every overlap, also where the
truth is empty. A turn that was never asked for tags is not passed to these functions. Names must be spelled the same
on both sides and be known to the similarity table; `as_tags` makes tags of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attunebench.metrics.card import OURS, PUBLIC_CODE, README, CardMaker, Metric
from attunebench.metrics.matching import matched_total
from attunebench.metrics.means import overlap_end

Tags = Mapping[str, float | None]
Similarity = Mapping[str, Mapping[str, float]]

INTENSITY_SPAN = 6.0
"""The largest distance of two intensities on the scale 1–7."""
SIMILARITY_SHARE = 0.7
"""Weight of the valence-arousal part in the combined similarity; the rest goes to intensity."""

CARDS: list[Metric] = []
_canonical = CardMaker(CARDS, status="canonical", group="turn", level="turn")
_diagnostic = CardMaker(CARDS, status="diagnostic", group="diagnostic", level="turn", source=OURS)


def as_tags(pairs: Iterable[tuple[str, float | None]]) -> dict[str, float | None]:
    """Tags from (name, intensity) pairs; of a name that stands twice the highest intensity is kept."""
    tags: dict[str, float | None] = {}
    for name, intensity in pairs:
        known = tags.get(name)
        if known is None or (intensity is not None and intensity > known):
            tags[name] = intensity
    return tags


@_canonical.of("Emotion F1", "Overlap of the predicted emotions with those the person felt, by exact name.")
def emotion_f1(truth: Tags | None, predicted: Tags | None) -> float | None:
    """2·|G∩P| / (|G| + |P|) over item names; both empty 1, exactly one empty 0; not answered 0."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    return 2 * len(truth.keys() & predicted.keys()) / (len(truth) + len(predicted))


@_canonical.of(
    "Emotion VA",
    "Similarity of predicted and felt emotions in valence and arousal, with credit for near misses such as distressed "
    "for upset.",
)
def emotion_va(truth: Tags | None, predicted: Tags | None, similarity: Similarity) -> float | None:
    """Best one-to-one matching by total valence-arousal similarity, over max(|G|, |P|); sim = 1 − distance/√2 rounded
    to 4 digits; both empty 1, exactly one empty 0; not answered 0."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    rows = [similarity[felt] for felt in truth]
    table = [[row[guess] for guess in predicted] for row in rows]
    return matched_total(table) / max(len(truth), len(predicted))


@_diagnostic.of("Emotion precision", "Share of the predicted emotions that the person felt.", source=README)
def emotion_precision(truth: Tags | None, predicted: Tags | None) -> float | None:
    """|G∩P| / |P|; both empty 1, exactly one empty 0; not answered 0."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    return len(truth.keys() & predicted.keys()) / len(predicted)


@_diagnostic.of("Emotion recall", "Share of the felt emotions that the model predicted.", source=README)
def emotion_recall(truth: Tags | None, predicted: Tags | None) -> float | None:
    """|G∩P| / |G|; both empty 1, exactly one empty 0; not answered 0."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    return len(truth.keys() & predicted.keys()) / len(truth)


_diagnostic(
    "emotion_hit_rate",
    "Emotion hit rate",
    "Emotion recall, under the name that other implementations use.",
    "As emotion_recall.",
    source=PUBLIC_CODE,
)


@_diagnostic.of(
    "Emotion VA with intensity",
    "Similarity of predicted and felt emotions, in kind and intensity.",
    source=PUBLIC_CODE,
)
def emotion_va_intensity(truth: Tags | None, predicted: Tags | None, similarity: Similarity) -> float | None:
    """As emotion_va with the similarity 0.7·sim + 0.3·(1 − |Δintensity|/6); intensity part 0 where either is
    unknown."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    rest, guesses = 1 - SIMILARITY_SHARE, predicted.items()
    rows = [(similarity[felt], strength) for felt, strength in truth.items()]
    table = [
        [SIMILARITY_SHARE * row[guess] + rest * _closeness(strength, guessed) for guess, guessed in guesses]
        for row, strength in rows
    ]
    return matched_total(table) / max(len(truth), len(predicted))


def _closeness(one: float | None, other: float | None) -> float:
    return 0.0 if one is None or other is None else 1 - abs(one - other) / INTENSITY_SPAN


@_diagnostic.of(
    "Emotion F1 with intensity",
    "Emotion F1, reduced by errors in the intensity of correctly predicted emotions.",
    source=PUBLIC_CODE,
)
def emotion_f1_intensity(truth: Tags | None, predicted: Tags | None) -> float | None:
    """emotion_f1 × mean over names on both sides with both intensities of (1 − |Δ|/6); 0 without such names; both
    empty 1."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    error = emotion_intensity_mae(truth, predicted)
    if error is None:
        return 0.0
    f1 = 2 * len(truth.keys() & predicted.keys()) / (len(truth) + len(predicted))
    return f1 * (1 - error / INTENSITY_SPAN)


@_diagnostic.of(
    "Emotion intensity error",
    "Mean error in the intensity of correctly predicted emotions, in points of the scale from 1 to 7.",
    group="turn",
    source=PUBLIC_CODE,
    high=INTENSITY_SPAN,
    unit="scale points",
    higher_is_better=False,
)
def emotion_intensity_mae(truth: Tags | None, predicted: Tags | None) -> float | None:
    """Mean |Δintensity| over names on both sides with both intensities; undefined without such names.

    So also where nothing was answered: only hits can be off in intensity.
    """
    if truth is None or predicted is None:
        return None
    shared = [(truth[name], predicted[name]) for name in truth if name in predicted]
    distances = [abs(one - other) for one, other in shared if one is not None and other is not None]
    return sum(distances) / len(distances) if distances else None


for _of, _label, _meaning in (
    ("emotion_f1", "Emotion F1", "Emotion F1 over only the turns on which the person tagged an emotion."),
    ("emotion_va", "Emotion VA", "Emotion VA over only the turns on which the person tagged an emotion."),
    (
        "emotion_hit_rate",
        "Emotion hit rate",
        "Emotion hit rate over only the turns on which the person tagged an emotion.",
    ),
):
    _diagnostic(f"{_of}_tagged", f"{_label}, tagged turns", _meaning, f"{_of} over the turns whose truth has a tag.")


@_diagnostic.of(
    "False alarms on neutral turns",
    "How often the model predicts an emotion where the person tagged none.",
    higher_is_better=False,
)
def neutral_false_alarm(truth: Tags | None, predicted: Tags | None) -> float | None:
    """Share of the neutral turns on which P is not empty; not answered counts as a false alarm."""
    return None if truth is None or truth else float(predicted is None or bool(predicted))


@_diagnostic.of(
    "Neutral turns",
    "Share of turns without an emotion: a property of the data, equal for all models.",
    higher_is_better=None,
)
def neutral_turn_share(truth: Tags | None) -> float | None:
    """Turns whose truth is an empty tag list / turns with truth."""
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
