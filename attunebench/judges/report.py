"""The two questions asked of judges, as analyses: how scores change with who judges, and whether judges agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses.base import Settings, value_of
from attunebench.analyses.table import Analysis
from attunebench.analyses.verdicts import counted, small_text, with_interval
from attunebench.judges.agreeing import Agreeing, alpha_table, answers_table, family_table, marks_table
from attunebench.judges.ballots import METRICS, Ballots
from attunebench.judges.moves import panels_of, scores_and_orders

_NONE = "No draft in these results has a vote; `attune-bench rejudge --judge-model` asks for some."
_ONE = "Only one judge has voted; `attune-bench rejudge --judge-model` adds the votes of another."
_SEPARATE = "Votes on different scales are reported separately; they are never averaged or compared."


def judge_report(
    ballots: Ballots,
    *,
    added: Sequence[str] = (),
    before: Ballots | None = None,
    settings: Settings | None = None,
) -> tuple[Analysis, ...]:
    """How judged scores change with who judges, and how far judges agree; for each scale of votes on its own.

    `added`: judges that are new, so that scores are compared with those by the others; `before`: the votes as they
    were, where some were replaced. Of the settings level, resamples, seed, `by_participant` and `small` count.
    """
    settings, scales, analyses = settings or Settings(), ballots.scales, list[Analysis]()
    for scale in scales or (None,):
        mine, earlier = ballots, before
        if scale is not None and len(scales) > 1:
            mine = ballots.on(scale)
        if scale is not None and before is not None:
            earlier = before.on(scale)
        own = tuple(judge for judge in added if judge in mine.judges)
        for analysis in (_scores(mine, own, earlier, settings), _agreement(mine, settings)):
            if scale is not None:
                name = analysis.name if scale == scales[0] else f"{analysis.name}-{scale}"
                notes = (*analysis.notes, *((_SEPARATE,) if len(scales) > 1 else ()))
                analysis = replace(analysis, name=name, title=f"{analysis.title} ({scale} scale)", notes=notes)
            analyses.append(analysis)
    return tuple(analyses)


def _scores(ballots: Ballots, added: tuple[str, ...], before: Ballots | None, settings: Settings) -> Analysis:
    about = Analysis("judge-scores", "Judged scores", "How do judged scores change with who judges?")
    if all(np.isnan(ballots.values(metric, ballots.judges)).all() for metric in METRICS):
        return replace(about, missing=_NONE)
    tables, shows = scores_and_orders(ballots, panels_of(ballots, added, before), settings)
    return replace(
        about,
        shows=shows,
        cannot="Which judge is right: that needs people's ratings of the same drafts. A judged score depends on its "
        "judges; name them wherever it stands.",
        tables=tables,
        notes=(small_text(settings),),
    )


def _agreement(ballots: Ballots, settings: Settings) -> Analysis:
    about = Analysis("judge-agreement", "Agreement of judges", "Do judges agree about the same drafts?")
    if not any(cast.judges for cast in ballots.casts):
        return replace(about, missing=_NONE)
    if len(ballots.judges) < 2:
        return replace(about, missing=_ONE)
    agreeing = Agreeing(ballots, settings)
    alpha = alpha_table(agreeing)
    tables = (answers_table(agreeing), marks_table(agreeing), alpha, family_table(agreeing))
    shown = [
        f"α {with_interval(cell, 2)} on the {kind.value} ({counted(int(value_of(n)), 'item')}"
        f"{', too few conversations for a claim' if cell.small else ''})"
        for kind, _, n, _, cell in alpha.rows[:2]
        if cell.value is not None
    ]
    return replace(
        about,
        shows=f"All judges together reach {' and '.join(shown)}." if shown else "No item was answered by two judges.",
        cannot="That judges agree does not make them right: models trained alike err alike. And where one answer "
        "dominates κ and α are low however often judges agree; AC1 and the share of equal answers stand beside them.",
        tables=tuple(shown for shown in tables if shown.rows),
        notes=(small_text(settings),),
    )
