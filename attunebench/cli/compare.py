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
    analysis_values,
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
    from attunebench import api

    sources, names = scores_and_models(files, scores, models)
    with working("comparing"):
        found = api.compare(sources, *names, force=force, **analysis_values(how))
    shown_first = found.on_screen if is_brief(**shown) else found.analyses
    emit_analyses(shown_first, **shown, rules=found.rules, protect=sources)
