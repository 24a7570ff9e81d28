"""Tiers turn by turn and conversation-wide: which model is at the top of both?"""

from __future__ import annotations

from attunebench.analyses.base import Subject, defined_metrics, levels_of, models_of
from attunebench.analyses.table import Analysis, Cell, Chart, Filled, Missing, column, counts, ranks, table, words
from attunebench.analyses.verdicts import comparability, counted, listed
from attunebench.comparison.ranking import Ranking, tiers_of
from attunebench.metrics.registry import REGISTRY

TURN, WIDE = "turn_level_average", "conversation_wide_average"


def analyse(subject: Subject) -> Analysis:
    """Score, tier and ranks per model on both averages."""
    study, settings = models_of(subject, least=1), subject.settings
    if len(defined_metrics(study, (TURN, WIDE))) < 2:
        raise Missing("These scores do not have both turn-by-turn and conversation-wide metrics.")
    turn, wide = (tiers_of(study, metric_id, settings) for metric_id in (TURN, WIDE))
    both = [i for i in turn.tiers[0] if i in wide.tiers[0]] if turn.tiers and wide.tiers else []
    marks = ["top of both" if i in both and not turn.small else "" for i in range(len(study.groups))]
    shown = table(
        "tiers",
        "Turn-by-turn and conversation-wide tiers",
        words("model", [Cell(label, mark=mark) for label, mark in zip(study.labels, marks, strict=True)]),
        counts("n", turn.n, "conversations"),
        *_columns("turn", "turn by turn", turn),
        *_columns("wide", "conversation-wide", wide),
        order=turn.order,
        caption=f"{turn.caption(settings)} A tier contains its best model and all models that do not differ "
        "significantly from it.",
        chart=Chart(
            *("intervals", "model", ("turn", "wide"), "Turn-by-turn and conversation-wide averages", "share"),
            lines=levels_of(study, {"turn": TURN, "wide": WIDE}),
        ),
    )
    return Analysis(
        tables=(shown,),
        shows=_shows(turn, wide, [study.labels[i] for i in both]),
        cannot="A tier groups models that these conversations cannot distinguish from the best of them; with more "
        "conversations, a tier may split. The two averages use other weights than the Composite.",
        warnings=comparability(study, (TURN, WIDE)),
    )


def _columns(prefix: str, label: str, ranking: Ranking) -> list[Filled]:
    meaning = REGISTRY[ranking.metric_id].definition
    return [
        column(prefix, ranking.score_cells(), label, "share", meaning, better=True),
        ranks(f"{prefix}_tier", ranking.tier_cells(), f"tier, {label}", "1 is the top tier."),
        ranks(
            f"{prefix}_rank",
            ranking.rank_cells(),
            f"rank, {label}",
            "By the mean; in brackets, the range over resamples.",
        ),
    ]


def _shows(turn: Ranking, wide: Ranking, both: list[str]) -> str:
    if len(turn.groups) < 2:
        return "Tiers require at least two models."
    if turn.small:
        return f"The models share {turn.sample}, too few for tiers."
    sizes = f"{counted(len(turn.tiers), 'tier')} turn by turn and {counted(len(wide.tiers), 'tier')} conversation-wide"
    top = f"{both[0]} alone is" if len(both) == 1 else f"{listed(both)} are" if both else "no model is"
    return f"{sizes}; {top} in the top tier of both."
