"""`attune-bench analyze`: one question asked of scores, or all of them; tables to stdout, a file or a folder.

Parses, reads the scores, makes the analyses and writes; decides nothing about what they say.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.arguments import (
    OUTPUT,
    ScoresFilesOption,
    analysis_options,
    analysis_settings,
    comma_list,
    scores_files,
)
from attunebench.cli.emitting import emit, emit_analyses, emit_folder, is_brief, listing, look, say, working
from attunebench.cli.options import flag, with_options
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.scores.table import ScoreTable


@with_options(how=analysis_options("power"), shown=OUTPUT)
def analyze(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME…", help="Analyses by name, `all`, or `list` to see them.", show_default="list"),
    ] = None,
    scores: ScoresFilesOption = None,
    other_labels: Annotated[
        list[Path] | None, flag("The same results scored on other labels, for `label-sets`; repeat.", metavar="FILE")
    ] = None,
    save: Annotated[
        Path | None,
        flag("Also write each analysis as JSON and each table as CSV into this folder.", metavar="DIR", panel="Output"),
    ] = None,
    *,
    how: dict[str, Any],
    shown: dict[str, Any],
) -> None:
    """Analyse scores. Each analysis answers one question with n and intervals, and states what it cannot show.

    Works offline and calls no model.
    """
    from attunebench import analyses
    from attunebench.reports.analyses import files, render_findings
    from attunebench.scores.loading import load_by_rules, load_each, load_scores

    chosen = _chosen(comma_list(names))
    if not chosen:
        emit(_listing(), shown["output"])
        say("Next: attune-bench analyze NAME -s scores.json, or `all` for NAME.")
        return
    sources = scores_files(None, scores)
    settings = analysis_settings(how)
    others: tuple[ScoreTable, ...]
    if chosen == ("rules",):
        study, *further = load_by_rules(sources).values()
        others = tuple(further)
    else:
        study, others = load_scores(sources), load_each(other_labels or ())
        if any(other.rules != study.rules for other in others):
            raise UsageError("The files of --other-labels follow different rules; score them with the same --rules.")
    if settings.mode is not None:
        study.of_mode(settings.mode)
    subject = analyses.Subject(study, settings, others)
    made = []
    for place, name in enumerate(chosen, 1):
        with working(f"{name} ({place} of {len(chosen)})"):
            made.append(analyses.analyse(name, subject))
    rules = " and ".join(one.rules for one in (study, *others)) if chosen == ("rules",) else study.rules
    if save is not None:
        emit_folder(files(made, rules), save)
    if is_brief(**shown) and "all" in comma_list(names):
        where = " ".join(f"-s {shlex.quote(str(source))}" for source in sources)
        below = (
            f"Tables of one analysis: attune-bench analyze NAME {where}. Of all: --full, another --format, --save DIR."
        )
        emit(render_findings(made, **look(None), rules=rules, below=(below,)), None)
    else:
        emit_analyses(made, **shown, rules=rules, protect=sources)


def _chosen(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names in catalogue order for `all`, else as given; () for the list."""
    from attunebench.analyses import ANALYSES, entry

    if not names or names == ("list",):
        return ()
    if "list" in names:
        raise UsageError("`list` lists the analyses and cannot be combined with names.")
    return tuple(ANALYSES) if "all" in names else tuple(dict.fromkeys(entry(name).name for name in names))


def _listing() -> str:
    """Name and question of each analysis, a line each."""
    from attunebench.analyses import ANALYSES

    return listing({entry.name: entry.question for entry in ANALYSES.values()})
