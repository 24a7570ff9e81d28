"""`attune-bench compare`: which models of one or more scores files differ, and how sure that is.

Parses, reads the scores, makes the comparison and writes; decides nothing about what it says.
"""

from __future__ import annotations

from typing import Annotated, Any

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


@with_options(how=analysis_options(), shown=OUTPUT)
def compare(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    models: ModelsOption = None,
    force: Annotated[bool, flag("Compare even if labels or judges differ; the output says so.", "--force")] = False,
    *,
    how: dict[str, Any],
    shown: dict[str, Any],
) -> None:
    """Compare models in pairs over the conversations that both have: differences with intervals, corrected p, minimum
    detectable effects, ranks and tiers. Compares the Composite and pairwise accuracy unless --metric names others.

    Refuses scores on different labels. Works offline and calls no model.
    """
    from attunebench.comparison import compare as compared
    from attunebench.comparison.screen import on_screen
    from attunebench.scores.loading import load_scores

    sources, names = scores_and_models(files, scores, models)
    settings = analysis_settings(how)
    with working("comparing"):
        study = load_scores(sources)
        found = compared(study, settings, models=names, force=force)
    shown_first = on_screen(found, settings) if is_brief(**shown) else found.analyses
    emit_analyses(shown_first, **shown, rules=study.rules, protect=sources)
