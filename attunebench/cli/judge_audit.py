"""`attune-bench judge-audit`: how often judges prefer the reply that the participant preferred."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attunebench.cli.arena.asking import MEANS, REACHED, ask_by_batches, judges_of, means_of
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
from attunebench.cli.run import Means, refuse_beside_batches, say_what_goes_on, show_batch_price
from attunebench.runner.settings import RunSettings
from attunebench.text import counted

if TYPE_CHECKING:
    from attunebench.batches.ledger import Submission
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.runner.events import RunSummary
    from attunebench.scores.audits import AuditTask

_VALUES = options_of(
    RunSettings,
    without=("price_in", "price_out", "panas_strategy", "shard"),
    help={
        "limit": "Only the first N conversations: a fair sample. The pairwise task takes 6 calls a turn, rating 3.",
        "replace": "Request verdicts again that were made with other settings.",
        "retry_unanswered": "Request verdicts again that stayed incomplete after all re-prompts.",
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
        if dry_run:
            _estimate(folder, chosen, settings, by, book, task, every)
            return
        auditing.make_arena(folder, chosen, task, every=every)
        ask = partial(_ask_judges, loaded.conversations, book, task)
        if (status := _ask(ask, settings.model_copy(update={"output": folder}), by, task, quiet)) == 130:
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


def _estimate(
    folder: Path,
    chosen: list[Conversation],
    settings: RunSettings,
    by: Means,
    book: Codebook,
    task: AuditTask,
    every: bool,
) -> None:
    """Count what the audit would request, in a copy of its folder that is gone afterwards."""
    import shutil

    from attunebench.arena import auditing
    from attunebench.cli.running import show_estimate
    from attunebench.runner.pricing import known_prices

    with TemporaryDirectory() as scratch:
        copy = Path(scratch) / task
        if folder.is_dir():
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".*"))
        auditing.make_arena(copy, chosen, task, every=every)
        estimate = auditing.estimate_audit(copy, chosen, settings, book, task)
        known = known_prices(settings)
        show_estimate(estimate, settings, known, jobs="pairs" if task == "pairwise" else "turns")
        show_batch_price(by, estimate, settings, known)


def _ask_judges(
    conversations: Sequence[Conversation],
    book: Codebook,
    task: AuditTask,
    folder: Path,
    settings: RunSettings,
    **how: Any,
) -> RunSummary:
    from attunebench.arena.auditing import ask_judges

    return ask_judges(folder, conversations, settings, book, task, **how)


def _ask(ask: Callable[..., RunSummary], settings: RunSettings, by: Means, task: AuditTask, quiet: bool) -> int:
    """Ask, show the progress, and say how it ended: the exit status."""
    from attunebench.cli.progress import shown
    from attunebench.cli.running import run_again, say_how_it_ended, status_of

    again = run_again([word for word in sys.argv if word != "--cancel"])
    under_way: list[Submission] = []
    if by.batch:
        summary, under_way = ask_by_batches(ask, settings, by, again, quiet)
    else:
        refuse_beside_batches(settings)
        with shown(settings, quiet=quiet) as observer:
            summary = ask(settings.output, settings, observer=observer, interruptible=True)
    made = f"verdicts on {counted(summary.written, 'pair')}"
    if task == "rating":
        made = f"ratings of the replies of {counted(summary.written, 'turn')}"
    say_how_it_ended(summary, settings, "" if under_way else again, made=made)
    if under_way:
        say_what_goes_on(under_way, again)
    return status_of(summary)
