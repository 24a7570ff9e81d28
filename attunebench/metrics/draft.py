"""Metrics of the reply that the model drafted itself: what judges say of it, and how far its words overlap.

Source: spec 4.1. `draft` None is not answered. A judge's vote that is missing is an empty mapping or no entry at all,
and costs the model nothing. Texts arrive as token sets (`text.tokens`), so that a reply variant is split once for all
models. A block that was never asked, or a turn without any judge set, is for the caller to leave out.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from operator import eq

from attunebench.metrics.card import DRAFT_AGAINST, OURS, PUBLIC_CODE, CardMaker, Metric
from attunebench.metrics.pairwise import VARIANTS
from attunebench.metrics.text import jaccard

Votes = Mapping[str, Mapping[str, float]]
YesNoVotes = Mapping[str, Mapping[str, str]]
DIMENSIONS = {
    "overall_score": ("overall", "Overall quality of the model's own reply, as rated by a judge model."),
    "emotional_appropriateness": (
        "emotional appropriateness",
        "How well the model's own reply responds to the person's feelings, as rated by a judge model.",
    ),
    "helpfulness": (
        "helpfulness",
        "How well the model's own reply serves the person's needs, as rated by a judge model.",
    ),
    "tone_match": (
        "tone match",
        "How well the tone of the model's own reply suits the person, as rated by a judge model.",
    ),
}
"""What judges rate → its short name and meaning."""
_PARTS = {name: f"draft_judge_{name}" for name in DIMENSIONS}

CARDS: list[Metric] = []
_alongside = CardMaker(CARDS, status="alongside", group="draft", level="turn")
_diagnostic = CardMaker(CARDS, status="diagnostic", group="draft", level="turn")


@_alongside.of(
    "Draft judge",
    "Quality of the model's own reply as rated by a judge model. It depends on the judge as much as on the model.",
)
def draft_judge(has_draft: bool, votes: Votes) -> float | None:
    """Per judge the mean of its given dimensions (1–7), mean over judges, then (x − 1)/6; no draft 0; undefined without
    a judge or a vote.

    `votes`: judge → dimension → 1–7.
    """
    if not has_draft:
        return 0.0
    marks = [sum(given.values()) / len(given) for given in votes.values() if given]
    return (sum(marks) / len(marks) - 1) / 6 if marks else None


for _name, (_short, _meaning) in DIMENSIONS.items():
    _diagnostic(
        _PARTS[_name],
        f"Draft judge, {_short}",
        _meaning,
        f"Mean over judges of {_name} (1–7), then (x − 1)/6; no draft 0; undefined without a judge or a rating.",
    )


def parts(has_draft: bool, votes: Votes) -> dict[str, float | None]:
    """Each of `DIMENSIONS` alone, as `draft_judge`: metric id → the judges' mean rating scaled to [0, 1]."""
    if not (has_draft and votes):
        return dict.fromkeys(_PARTS.values(), None if has_draft else 0.0)
    values: dict[str, float | None] = {}
    for name, metric_id in _PARTS.items():
        ratings = [vote[name] for vote in votes.values() if name in vote]
        values[metric_id] = (sum(ratings) / len(ratings) - 1) / 6 if ratings else None
    return values


@_alongside.of(
    "Draft alignment",
    "How often a judge model finds in the model's own reply what the person wanted a reply to do.",
)
def draft_binary_alignment(has_draft: bool, preferred: Mapping[str, str], votes: YesNoVotes) -> float | None:
    """Share of the questions with a yes/no preference on which the judge's yes/no about the draft equals it, over the
    questions that the judge answered; mean over judges; no draft 0; undefined without a judge or a vote.

    `preferred`: question → "yes" | "no", only those known; `votes`: judge → question → "yes" | "no".
    """
    if not preferred:
        return None
    if not has_draft:
        return 0.0
    judged = ([*map(answers.get, preferred)] for answers in votes.values())
    shares = [
        sum(map(eq, preferred.values(), found)) / count for found in judged if (count := len(found) - found.count(None))
    ]
    return sum(shares) / len(shares) if shares else None


for _variant, (_label, _against) in DRAFT_AGAINST.items():
    _diagnostic(
        f"response_similarity_{_variant}",
        f"Draft similarity, {_label}",
        f"Word overlap of the model's own reply with {_against}.",
        "Largest of the token Jaccards of the draft with the three replies; no draft 0."
        if _variant == "max"
        else "Token Jaccard of draft and text; no draft 0.",
        source=PUBLIC_CODE,
    )


def response_similarity(draft: Set[str] | None, variants: Mapping[str, Set[str]]) -> dict[str, float | None]:
    """Keys: original, alternate, human, max; None for a variant without a text; 0 without a draft."""
    values: dict[str, float | None] = {}
    for variant in VARIANTS:
        text = variants.get(variant)
        values[variant] = None if text is None else 0.0 if draft is None else jaccard(draft, text)
    defined = [value for value in values.values() if value is not None]
    values["max"] = max(defined) if defined else None
    return values


@_diagnostic.of(
    "Draft similarity to the preferred replies",
    "Word overlap of the model's own reply with the replies that the person preferred.",
    source=OURS,
)
def response_preference_alignment(
    similarity: Mapping[str, float | None], wins: Mapping[str, int], *, answered: bool
) -> float | None:
    """Token Jaccard of the draft to each reply, weighted by that reply's share of the person's wins; no draft 0.

    `similarity` as `response_similarity` returns it. A variant without a text has no share. None where no variant with
    a text has won a comparison.
    """
    weighted = [(similarity.get(variant), count) for variant, count in wins.items()]
    known = [(value, count) for value, count in weighted if value is not None and count]
    if not known:
        return None
    if not answered:
        return 0.0
    return sum(value * count for value, count in known) / sum(count for _, count in known)


JUDGED = frozenset(("draft_judge", "draft_binary_alignment", *_PARTS.values()))
"""Metrics that say as much about their judges as about the model."""
