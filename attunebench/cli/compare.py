"""`attune-bench compare`: which models of one or more scores files differ, and how sure that is.

Parses, reads the scores, makes the comparison and writes; decides nothing about what it says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from attunebench.cli.arguments import (
    OUTPUT,
    ModelsOption,
    ScoresFilesArgument,
    ScoresFilesOption,
    analysis_options,
    analysis_settings,
    scores_and_models,
)
from attunebench.cli.emitting import emit_analyses, is_brief, working
from attunebench.cli.options import flag, with_options

if TYPE_CHECKING:
    from attunebench.analyses.table import Analysis
    from attunebench.comparison import Comparison

_LEAST_ROWS = 15
"""Rows of the pairs that a terminal shows: fifty-five would push the tiers out of sight."""


@with_options(how=analysis_options(), shown=OUTPUT)
def compare(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    models: ModelsOption = None,
    force: Annotated[
        bool, flag("Compare what is not comparable (other labels, other judges), and say so.", "--force")
    ] = False,
    *,
    how: dict[str, Any],
    shown: dict[str, Any],
) -> None:
    """Compare models pair by pair over the conversations that both have: differences with intervals, corrected p,
    minimum detectable effects, tiers of models that do not differ significantly, and how firm the ranking is; in
    Composite and pairwise accuracy, unless --metric names others.

    Refuses scores on different labels. Needs no network and asks no model.
    """

    from attunebench.comparison import compare as compared
    from attunebench.scores.loading import load_scores

    sources, names = scores_and_models(files, scores, models)
    settings = analysis_settings(how)
    with working("comparing"):
        study = load_scores(sources)
        found = compared(study, settings, models=names, force=force)
    brief = is_brief(**shown)
    analyses = _without_pairs_of_other_modes(found) if brief else found.analyses
    whole = [len(table.rows) for analysis in analyses for table in analysis.tables if not table.id.startswith("pairs_")]
    rows = max(_LEAST_ROWS, *whole)
    emit_analyses(analyses, **shown, rows=rows, rules=study.rules, protect=sources)


def _without_pairs_of_other_modes(found: Comparison) -> tuple[Analysis, ...]:
    """What a screen shows first: in modes beside the first one the tiers, and where their pairs are to be had."""
    others = list(dict.fromkeys(f"compare-{mode}" for _, mode in found.rankings))[1:]
    shown = []
    for analysis in found.analyses:
        if analysis.name in others and analysis.tables:
            note = f"The pairs: --mode {analysis.name.removeprefix('compare-')}, --all-rows or another --format."
            kept = tuple(table for table in analysis.tables if not table.id.startswith("pairs_"))
            analysis = replace(analysis, tables=kept, notes=(*analysis.notes, note))
        shown.append(analysis)
    return tuple(shown)
