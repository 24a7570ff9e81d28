"""Cards of the quantities that the released scorer alone computes (`released`). Scores by our own rules lack them."""

from __future__ import annotations

from attunebench.metrics.card import PUBLIC_CODE, CardMaker, Metric

_UNBOUNDED = 1e6
"""A ratio of two scores has no bound; the smallest MCC that is not 0 is far above its inverse."""

CARDS: list[Metric] = []
_released = CardMaker(CARDS, status="released", group="released", level="conversation", source=PUBLIC_CODE)

_released(
    "equal_weight_composite",
    "Equal-weight composite",
    "Overall score with equal weights for turns and whole conversation.",
    "(turn_level_average + conversation_wide_average)/2 · 100, rounded to two decimals.",
    high=100.0,
    unit="points",
)
_released(
    "z_score",
    "Composite, z-score",
    "Number of standard deviations by which the Composite is above the mean of all models and modes in the scores.",
    "(mean Composite − mean of all)/standard deviation of all (n − 1), four decimals; 0 with fewer than two.",
    low=-_UNBOUNDED,
    high=_UNBOUNDED,
    unit="standard deviations",
)
_released(
    "hp_perspective_alignment",
    "Phrasing ratio",
    "Binary HP in the person's phrasing as a share of Binary HP in the observer's phrasing.",
    "binary_hp_accuracy_hp / binary_hp_accuracy of the conversation; 0 where the latter is 0.",
    high=_UNBOUNDED,
    unit="ratio",
    higher_is_better=None,
)
_released(
    "hp_perspective_gap_mcc",
    "Phrasing gap, MCC",
    "Effect of the wording of the questions on MCC: observer's phrasing minus the person's.",
    "MCC of the Binary HP answers of the conversation, observer's phrasing − person's phrasing.",
    low=-2.0,
    high=2.0,
    unit="difference",
    higher_is_better=None,
)
_released(
    "hp_perspective_alignment_mcc",
    "Phrasing ratio, MCC",
    "MCC of Binary HP in the person's phrasing as a share of that in the observer's phrasing.",
    "As hp_perspective_alignment, with the MCC of each conversation; 0 where the observer's is not above 0.",
    low=-_UNBOUNDED,
    high=_UNBOUNDED,
    unit="ratio",
    higher_is_better=None,
)
_released(
    "panas_mae",
    "PANAS totals, error",
    "Mean error of the predicted positive and negative totals, in points.",
    "Mean |Δ| over the two totals, a missing one counting as 40; a side that is missing on both is left out.",
    high=70.0,
    unit="scale points",
    higher_is_better=False,
)
_released(
    "panas_normalized_positive",
    "PANAS totals, positive",
    "Closeness of the predicted positive total to the person's.",
    "max(0, 1 − |Δ|/60) of this side.",
)
_released(
    "panas_normalized_negative",
    "PANAS totals, negative",
    "Closeness of the predicted negative total to the person's.",
    "max(0, 1 − |Δ|/60) of this side.",
)
_released(
    "panas_item_mae",
    "PANAS items, error",
    "Mean error of the predicted ratings of single feelings, in points.",
    "Mean |Δ| over the items that both have.",
    high=6.0,
    unit="scale points",
    higher_is_better=False,
)
_released(
    "q1_jaccard",
    "Q1 goals, intersection over union",
    "Q1 goals as the README of the study describes it; the released scorer computes F1.",
    "Selected options in common / options selected by either; both empty 1.",
)
