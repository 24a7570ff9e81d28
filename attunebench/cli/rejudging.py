"""What `rejudge` does once its options are read: load, ask, say how it ended, report. Imported by `rejudge` alone."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from attunebench import api
from attunebench.analyses.base import Settings
from attunebench.cli.arguments import Format
from attunebench.cli.closing import closing_lines, folded, going_on
from attunebench.cli.emitting import emit_analyses, working
from attunebench.cli.loading import load
from attunebench.cli.progress import shown as progress
from attunebench.cli.running import checked, model_settings, run_again, show_estimate
from attunebench.errors import UsageError
from attunebench.judges import Ballots, judge_report, read_ballots
from attunebench.protocol.calls import Mode
from attunebench.runner import RunSettings
from attunebench.runner.rejudge import RejudgeSummary, estimate_rejudge, rejudge_settings
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations import ConversationSet
    from attunebench.results.schema import Result

_NAMED_AT_MOST = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which results are judged by whom."""

    results: Path
    conversations: Path
    models: tuple[str, ...]
    modes: tuple[Mode, ...]
    judges: tuple[str, ...]
    codebook: Path | None
    skip_invalid: bool

    def load(self, quiet: bool) -> tuple[ConversationSet, Codebook]:
        """The conversations and their codebook."""
        return load(self.conversations, self.codebook, skip_invalid=self.skip_invalid, quiet=quiet)

    def ballots(self, conversations: ConversationSet) -> Ballots:
        """The votes that are in the results now."""
        names = {name.strip().casefold() for name in self.models}

        def wanted(result: Result) -> bool:
            spellings = {result.em_model.casefold(), f"{result.provider}/{result.em_model}".casefold()}
            return (not names or bool(names & spellings)) and (not self.modes or result.mode in self.modes)

        return read_ballots(self.results, conversations, wanted=wanted)


@dataclass(frozen=True, slots=True)
class Shown:
    """How the report is made, and where it goes."""

    settings: Settings
    format: Format
    output: Path | None
    all_rows: bool
    quiet: bool


def settings(wanted: Wanted, provider: str | None, base_url: str | None, key: str | None, **values: Any) -> RunSettings:
    """Whom to ask and how. UsageError in place of pydantic's report."""
    if not wanted.judges:
        raise UsageError("No judge is named; give at least one with --judge-model, or ask for the --report-only.")
    if provider is None:
        raise UsageError(
            "No provider is named for the judge. Give --judge-provider openrouter, openai, prime, azure, local or "
            "baseline."
        )
    judges = [model_settings(provider, judge, base_url, key) for judge in wanted.judges]
    return checked(rejudge_settings, results=wanted.results, judges=judges, **values)


def report_only(wanted: Wanted, shown: Shown) -> None:
    """What the votes say that are there; judges that are named count as added to the others."""
    loaded, _ = wanted.load(shown.quiet)
    ballots = wanted.ballots(loaded)
    unknown = [judge for judge in wanted.judges if judge not in ballots.judges]
    if unknown:
        there = ", ".join(map(printable, ballots.judges)) or "nobody"
        raise UsageError(f"{', '.join(unknown)} has judged nothing here; votes are there of {there}.")
    _report(ballots, None, wanted, shown)


def main(wanted: Wanted, settings: RunSettings, shown: Shown, *, dry_run: bool) -> None:
    """The whole of `rejudge`; leaves by typer.Exit where the status is not 0."""
    loaded, book = wanted.load(shown.quiet)
    narrow: Mapping[str, Any] = {"models": wanted.models, "modes": wanted.modes}
    if dry_run:
        estimate = estimate_rejudge(loaded.conversations, settings, book, **narrow)
        show_estimate(estimate, settings, jobs="results")
        return
    before = wanted.ballots(loaded) if settings.replace else None
    with progress(settings, quiet=shown.quiet) as observer:
        summary = api.rejudge(
            loaded.conversations, settings, codebook=book, observer=observer, interruptible=True, **narrow
        )
    _close(summary, settings, wanted.conversations)
    if summary.run.stopped == "interrupted":
        raise typer.Exit(130)
    _report(wanted.ballots(loaded), before, wanted, shown)
    if summary.run.stopped == "max-cost":
        raise typer.Exit(3)
    if summary.run.stopped or summary.run.votes_owed or summary.left or summary.other_turns or loaded.skipped:
        raise typer.Exit(1)


def _report(ballots: Ballots, before: Ballots | None, wanted: Wanted, shown: Shown) -> None:
    with working("comparing judges"):
        analyses = judge_report(ballots, added=wanted.judges, before=before, settings=shown.settings)
    results = [path for path in wanted.results.rglob("*.json") if path.is_file()]
    emit_analyses(analyses, shown.format, shown.output, all_rows=shown.all_rows, protect=results)


def _close(summary: RejudgeSummary, settings: RunSettings, conversations: Path) -> None:
    """How it ended, on stderr: stdout is for the report."""
    for line in (*_left(summary), *_votes(summary), *closing_lines(summary.run, settings)):
        _say(folded(line))
    if command := going_on(summary.run, run_again(sys.argv)):
        _say(command)
    elif summary.run.written:
        results, truth = (shlex.quote(printable(str(folder))) for folder in (summary.run.output, conversations))
        _say(f"Next: attune-bench score --results {results} --ground-truth {truth}")


def _votes(summary: RejudgeSummary) -> list[str]:
    """What became of the votes."""
    lines = [f"{counted(summary.added, 'vote')} added."]
    if summary.replaced:
        differ = "none of them says" if not summary.changed else f"{summary.changed} of them say"
        lines[0] = f"{counted(summary.added, 'vote')} added, {summary.replaced} replaced; {differ} something else now."
    if summary.kept:
        lines.append(f"{counted(summary.kept, 'older vote')} kept: the new answer could not be used.")
    if summary.foreign:
        lines.append(
            f"{counted(summary.foreign, 'result')} also hold votes that were asked with other judge prompts, or with "
            "unknown ones: where judges differ there, prompts may be the reason."
        )
    return lines


def _left(summary: RejudgeSummary) -> list[str]:
    """What was not judged, and why: named as far as a screen holds it, and counted."""
    lines = _some(
        [f"Left as it is: {printable(name)}: {printable(why)}." for name, why in summary.left.items()], "results left"
    )
    if summary.without_draft:
        turns = sum(map(len, summary.without_draft.values()))
        named = [f"  {printable(name)}: {_turns(numbers)}" for name, numbers in summary.without_draft.items()]
        lines += [f"{counted(turns, 'turn')} without a draft in {counted(len(named), 'result')}, not judged:"]
        lines += _some(named, "results")
    if summary.other_turns:
        named = [f"  {printable(name)}: {_turns(numbers)}" for name, numbers in summary.other_turns.items()]
        lines += [f"{counted(len(named), 'result')} with turns that the conversation does not have, not judged:"]
        lines += _some(named, "results")
    return lines


def _turns(numbers: Sequence[int]) -> str:
    return f"turn{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _some(lines: list[str], what: str) -> list[str]:
    more = len(lines) - _NAMED_AT_MOST
    return lines if more <= 0 else [*lines[:_NAMED_AT_MOST], f"  … and {more} more {what}."]


def _say(text: str) -> None:
    typer.echo(text, err=True)
