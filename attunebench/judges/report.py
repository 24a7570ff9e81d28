"""The two questions asked of judges, as analyses that every renderer draws: how scores move, and whether judges agree.

Puts tables and sentences together; works nothing out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Analysis, Cell, Settings, Table
from attunebench.judges.agreeing import Agreeing, alpha_table, answers_table, family_table, marks_table
from attunebench.judges.ballots import METRICS, Ballots
from attunebench.judges.moves import (
    Order,
    Panel,
    order_table,
    orders_of,
    panels_of,
    reference_of,
    sampling_of,
    scores_table,
)
from attunebench.judging import JudgeScale
from attunebench.metrics.registry import REGISTRY

_NONE = "No draft in these results has a vote; `attune-bench rejudge --judge-model` asks for some."
_ONE = "One judge alone has voted; `attune-bench rejudge --judge-model` adds the votes of another."


def judge_report(
    ballots: Ballots,
    *,
    added: Sequence[str] = (),
    before: Ballots | None = None,
    settings: Settings | None = None,
) -> tuple[Analysis, ...]:
    """How judged scores move with who judges, and how far judges agree.

    `added`: judges that are new, so that scores are compared with those by the others; `before`: the votes as they
    were, where some were replaced. Of the settings level, resamples, seed, `by_participant` and `small` count.
    Votes on different scales are reported apart: ratings on them are never averaged or compared.
    """
    settings, scales, found = settings or Settings(), ballots.scales, list[Analysis]()
    for scale in scales or (None,):
        mine, earlier = ballots, before
        if scale is not None:
            mine, earlier = ballots.on(scale) if len(scales) > 1 else ballots, before and before.on(scale)
        own = tuple(judge for judge in added if judge in mine.judges)
        for analysis in (_moves(mine, own, earlier, settings), _agreement(mine, settings)):
            found.append(_on_scale(analysis, scale, scales))
    return tuple(found)


def _on_scale(analysis: Analysis, scale: JudgeScale | None, scales: Sequence[JudgeScale]) -> Analysis:
    """The analysis with its scale in the title, and a name of its own where there are votes on several."""
    if scale is None:
        return analysis
    apart = "Votes on different scales are reported separately; they are never averaged or compared."
    return replace(
        analysis,
        name=f"{analysis.name}-{scale}" if scale != scales[0] else analysis.name,
        title=f"{analysis.title} ({scale} scale)",
        notes=(*analysis.notes, *((apart,) if len(scales) > 1 else ())),
    )


def _moves(ballots: Ballots, added: tuple[str, ...], before: Ballots | None, settings: Settings) -> Analysis:
    analysis = Analysis("judge-scores", "Judged scores", "How do judged scores move with who judges?")
    voted = [metric for metric in METRICS if not np.isnan(ballots.values(metric, ballots.judges)).all()]
    if not voted:
        return replace(analysis, missing=_NONE)
    panels, sampling = panels_of(ballots, added, before), sampling_of(ballots, settings)
    table = scores_table(ballots, panels, sampling)
    orders = orders_of(ballots, panels, sampling)
    tables = (table, order_table(orders)) if orders else (table,)
    return replace(
        analysis,
        shows=" ".join(filter(None, (_moved(table, panels), _order_said(orders)))),
        cannot="Which judge is right: that needs people's ratings of the same drafts. A judged score is an artefact of "
        "its judges; name them wherever it stands.",
        tables=tables,
        notes=(common.small_text(settings),),
    )


def _moved(table: Table, panels: Sequence[Panel]) -> str:
    """How far the judged scores of all judges lie from those of the judges before, or of single judges."""
    reference = reference_of(panels)
    if reference is None:
        return f"{panels[0].label} is the only judge."
    last = panels[-1] if panels[-1] is not reference else None
    said = []
    for metric in METRICS:
        at = next(place for place, column in enumerate(table.columns) if column.id == f"{metric}_moved")
        rows = [row for row in table.rows if last is None or row[2].value == last.label]
        known = [(abs(common.value_of(row[at])), row) for row in rows if row[at].value is not None]
        if known:
            _, row = max(known, key=lambda each: each[0])
            who = f"{row[0].value}, {row[1].value}" + (f", by {row[2].value}" if last is None else "")
            moved = common.with_interval(row[at], sign=True)
            said.append(f"{REGISTRY[metric].label} moves by {moved} at most ({who})")
    against = reference.label.partition(":")[0]
    what = "With all judges" if last is not None else "Judge by judge"
    return f"{what}, against {against}: {'; '.join(said)}." if said else ""


def _order_said(orders: Sequence[Order]) -> str:
    compared = [order for order in orders if order.turned is not None]
    if not compared:
        return ""
    turned = [order for order in compared if order.turned]
    clearly = [order for order in compared if order.clearly]
    if not turned:
        return "No two models change places with who judges."
    where = common.listed(
        [f"{REGISTRY[o.metric].label} by {o.panel.label.partition(':')[0]} ({o.mode})" for o in turned]
    )
    if not clearly:
        return f"Models change places in {where}, none of them clearly."
    return f"Models change places in {where}; some of them clearly, so who leads depends on who judges."


def _agreement(ballots: Ballots, settings: Settings) -> Analysis:
    analysis = Analysis("judge-agreement", "Agreement of judges", "Do judges agree about the same drafts?")
    if not any(cast.judges for cast in ballots.casts):
        return replace(analysis, missing=_NONE)
    if len(ballots.judges) < 2:
        return replace(analysis, missing=_ONE)
    agreeing = Agreeing.of(ballots, settings)
    alpha, family = alpha_table(agreeing), family_table(agreeing)
    tables = (answers_table(agreeing), marks_table(agreeing), alpha)
    return replace(
        analysis,
        shows=_agreed(alpha),
        cannot="That judges agree does not make them right: models trained alike err alike. And where one answer "
        "dominates κ and α are low however often judges agree; AC1 and the share of equal answers stand beside them.",
        tables=(*tables, family) if family is not None else tables,
        notes=(common.small_text(settings),),
    )


def _agreed(alpha: Table) -> str:
    """α for the yes/no questions and for all ratings, in a sentence."""
    said = []
    for row in alpha.rows[:2]:
        n, cell = row[2], row[4]
        if cell.value is not None:
            doubt = " (too few conversations for a claim)" if cell.small else ""
            said.append(f"α {common.with_interval(cell, 2)} on the {row[0].value}, {_count(n)}{doubt}")
    return f"All judges together reach {' and '.join(said)}." if said else "No item was answered by two judges."


def _count(cell: Cell) -> str:
    return common.counted(int(common.value_of(cell)), "item")
