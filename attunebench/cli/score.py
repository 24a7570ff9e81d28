"""`attune-bench score`: result files and the people's labels in, scores.json out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import GroundTruthOption, SkipInvalidOption, by_participant
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.scores import Scores


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command("score", short_help="Score results against the participants' labels.")(score)


def score(
    results: Annotated[Path, typer.Option("--results", "-r", help="Folder of the result files.")] = Path("results"),
    ground_truth: GroundTruthOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The scores file to write.")] = Path("scores.json"),
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples behind each interval.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="participant",
            help="What the bootstrap resamples; `participant` keeps a person's conversations together.",
            show_default="conversations",
        ),
    ] = None,
    ci: Annotated[
        str,
        typer.Option(
            metavar="percentile|bca",
            help="Bootstrap interval: `percentile`, or `bca`, which is corrected for bias and skewness.",
        ),
    ] = "percentile",
    skip_invalid: SkipInvalidOption = False,
) -> None:
    """Score results against the participants' labels. Needs no network and asks no model.

    `attune-bench report` shows what it writes.
    """
    from attunebench import api
    from attunebench.reports.model import plural
    from attunebench.text import printable

    if ground_truth is None:
        raise UsageError("The conversations folder is missing; give it with --ground-truth.")
    participants = by_participant(cluster)
    if ci not in ("percentile", "bca"):
        raise UsageError(f"There is no interval {ci}; there are `percentile` and `bca`.")
    scores = api.score_to_file(
        results,
        ground_truth,
        output,
        seed=seed,
        resamples=resamples,
        cluster="participant" if participants else None,
        ci="bca" if ci == "bca" else "percentile",
        skip_invalid=skip_invalid,
        processes=None,
    )
    left_out = _tell(scores)
    _say(f"Scores of {plural(scores['metadata']['n_results'], 'result')} written to {output}.")
    _say(f"Next: attune-bench report --scores {shlex.quote(printable(str(output)))}")
    if left_out:
        raise typer.Exit(1)


def _tell(scores: Scores) -> int:
    """Name on stderr what was not scored; how many results that are."""
    from attunebench.text import printable

    left_out = scores["left_out"]
    for file in left_out["unreadable"]:
        _say(f"Not scored, unreadable: {printable(file['file'])} {printable(file['reason'])}")
    for result in left_out["not_in_ground_truth"]:
        _say(f"Not scored, no such conversation in the ground truth: {printable(result['file'])}")
    for duplicate in left_out["duplicates"]:
        _say(f"Not scored, the same result twice: {printable(' and '.join(duplicate['files']))}")
    for invalid in left_out["invalid_conversations"]:
        _say(f"Conversation left out: {printable(invalid['file'])}: {printable('; '.join(invalid['reasons']))}")
    if profiles := left_out.get("profiles"):
        _say(f"Passed over: {len(profiles)} predicted profiles, which are no results of the benchmark.")
    for group in scores["aggregates"]:
        coverage = group["coverage"]
        if coverage["scored"] < coverage["expected"]:
            _say(
                f"{printable(group['em_model'])} ({group['mode']}): {coverage['scored']} of {coverage['expected']} "
                f"conversations scored, {len(coverage['skipped'])} skipped by the run."
            )
    return sum(map(len, (left_out[name] for name in left_out if name not in ("skipped", "profiles"))))


def _say(text: str) -> None:
    typer.echo(text, err=True)
