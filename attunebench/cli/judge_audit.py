"""`attune-bench judge-audit`: how often judges prefer the reply that the participant preferred."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from attunebench.cli.arena.asking import (
    MEANS,
    REACHED,
    VERDICTS_AGAIN,
    do_work,
    judges_of,
    means_of,
    show_work,
    verdicts_on,
)
from attunebench.cli.arguments import (
    CodebookOption,
    DryRunOption,
    FormatOption,
    FullOption,
    GroundTruthOption,
    QuietOption,
    ResamplesOption,
    ResultsOption,
    SkipInvalidOption,
    ran_folders,
)
from attunebench.cli.asking import checked
from attunebench.cli.emitting import emit_analyses, say, working
from attunebench.cli.options import flag, options_of, with_options
from attunebench.runner.settings import RunSettings
from attunebench.text import counted

_VALUES = options_of(
    RunSettings,
    without=("price_in", "price_out", "panas_strategy", "shard"),
    help={
        "limit": "Only the first N conversations: a fair sample. The pairwise task takes 6 calls a turn, rating 3.",
        **VERDICTS_AGAIN,
    },
)


@with_options(reached=REACHED, values=_VALUES, means=MEANS)
def judge_audit(
    results: ResultsOption = Path("results"),
    conversations: GroundTruthOption = None,
    judges: Annotated[
        list[str] | None,
        flag(
            "Judge, such as openrouter:vendor/model; repeat for several.  [required]",
            "--judge",
            "-j",
            metavar="PROVIDER:MODEL",
            panel="Judges",
        ),
    ] = None,
    task: Annotated[
        Literal["pairwise", "rating"],
        flag(
            "pairwise: compare two replies, as in an arena. rating: rate each reply by the prompt that rates drafts; "
            "this is what validates draft scores.",
            panel="What is asked",
        ),
    ] = "pairwise",
    questions: Annotated[
        Literal["general", "all"],
        flag(
            "Choices of the participant that count: by the general question, or by all questions on two replies.",
            panel="What is asked",
        ),
    ] = "general",
    report_only: Annotated[bool, flag("Call no model; report on the existing verdicts.", "--report-only")] = False,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    output: Annotated[
        Path | None,
        flag(
            "Folder of the audits.", "-o", "--output", metavar="DIR", shown="judge-audit beside RESULTS", panel="Output"
        ),
    ] = None,
    format: FormatOption = "terminal",
    full: FullOption = False,
    resamples: ResamplesOption = 2000,
    *,
    reached: dict[str, Any],
    values: dict[str, Any],
    means: dict[str, Any],
) -> None:
    """Test judges against the participants, who chose between the three replies of every turn.

    Judges compare (or rate) the same replies, blind. A judge passes if the lower bound of its agreement with
    participants lies above the best simple rule (longest, shortest, edited or random reply). `report` finds the audit
    beside the results and marks the scores of judges that did not pass. Rerun the same command to resume.
    """
    from attunebench.analyses.table import Missing
    from attunebench.arena import auditing
    from attunebench.arena.sampling import ArenaSettings
    from attunebench.cli.loading import load
    from attunebench.errors import DataError
    from attunebench.scores.audits import audit_folder

    every = questions == "all"
    where = ran_folders(results, conversations)
    folder = (output or audit_folder(results)) / task
    loaded, book = load(where, codebook, skip_invalid=skip_invalid, quiet=quiet)
    status = 0
    if report_only and not (folder / "histories.jsonl").is_file():
        raise DataError(f"There is no audit in {folder}; run the command without --report-only first.")
    if not report_only:
        settings = checked(auditing.audit_settings, results=results, judges=judges_of(judges, **reached), **values)
        by, chosen = means_of(means, settings), auditing.sampled(loaded.conversations, settings)
        with _folder(folder, dry_run) as into:
            auditing.make_arena(into, chosen, task, every=every)
            work = auditing.audit_work(into, chosen, settings, book, task)
            if dry_run:
                show_work(work, by, "pairs" if task == "pairwise" else "turns")
                return
            if (status := do_work(work, by, quiet, verdicts_on if task == "pairwise" else _ratings_of)) == 130:
                raise typer.Exit(status)
    try:
        with working("comparing judges with participants"):
            how = ArenaSettings(resamples=resamples)
            analysis = auditing.make_audit(folder, loaded.conversations, task, how, every=every)
    except Missing as why:
        if status:
            raise typer.Exit(status) from None
        raise DataError(f"No audit in {folder}: {why}") from None
    emit_analyses([analysis], format, None, full=full)
    if not quiet:
        say(f"Audit written to {folder / 'audit.json'}.")
    if status or loaded.skipped:
        raise typer.Exit(status or 1)


@contextmanager
def _folder(folder: Path, dry_run: bool) -> Iterator[Path]:
    """The folder; for a dry run a copy that is gone afterwards."""
    if not dry_run:
        yield folder
        return
    import shutil

    with TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        if folder.is_dir():
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".*"))
        yield copy


def _ratings_of(n: int) -> str:
    return f"ratings of the replies of {counted(n, 'turn')}"
