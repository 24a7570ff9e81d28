"""`attune-bench rejudge`: existing drafts judged by other or more judges, and what becomes of the scores by it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.arguments import (
    OUTPUT,
    ClusterOption,
    CodebookOption,
    DryRunOption,
    QuietOption,
    RanConversationsOption,
    ResamplesOption,
    ResultsOption,
    SkipInvalidOption,
    comma_list,
    model_names,
    ran_folders,
)
from attunebench.cli.asking import JUDGE_MODEL, checked, model_settings
from attunebench.cli.emitting import emit_analyses, first, folded, say, working
from attunebench.cli.options import flag, options_of, with_options
from attunebench.errors import UsageError
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations import ConversationSet
    from attunebench.judges import Ballots
    from attunebench.protocol.calls import Mode
    from attunebench.results.schema import Result
    from attunebench.runner.rejudge import RejudgeSummary

_JUDGES = [JUDGE_MODEL, *options_of(ModelSettings, prefix="judge-", panel="Judges", also_bare=("base_url", "api_key"))]
_VALUES = options_of(
    RunSettings,
    without=("price_in", "price_out", "panas_strategy", "shard"),
    help={
        "replace": "Request these judges' votes again and replace existing ones.",
        "retry_unanswered": "Request incomplete votes again.",
    },
)


@with_options(shown=OUTPUT, judges=_JUDGES, values=_VALUES)
def rejudge(
    results: ResultsOption = Path("results"),
    conversations: RanConversationsOption = None,
    report_only: Annotated[bool, flag("Call no model; report on the existing votes.", "--report-only")] = False,
    models: Annotated[
        list[str] | None,
        flag(
            "Only results of these models, by name or as provider/model; repeat or use commas.",
            metavar="MODEL",
            complete=model_names,
            shown="all",
            panel="What is asked",
        ),
    ] = None,
    modes: Annotated[
        list[str] | None,
        flag(
            "Only results in these modes; words or a comma list.", metavar="MODE…", shown="all", panel="What is asked"
        ),
    ] = None,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    cluster: ClusterOption = None,
    resamples: ResamplesOption = 10_000,
    *,
    shown: dict[str, Any],
    judges: dict[str, Any],
    values: dict[str, Any],
) -> None:
    """Have further judges rate the drafts of existing results and add their votes to the files.

    Does not call the evaluated model, keeps existing votes, and changes nothing else in a file. Rerun the same
    command to resume. Reports how judged scores depend on the judge and how far judges agree.
    """
    from attunebench.analyses.base import Settings
    from attunebench.cli.loading import load
    from attunebench.judges import judge_report
    from attunebench.protocol.modes import parse_modes
    from attunebench.scores.audits import audits_beside

    folder, names = ran_folders(results, conversations), comma_list(judges["judge_model"])
    narrow: dict[str, Any] = {"models": comma_list(models), "modes": parse_modes(modes) if modes else ()}
    how = Settings(resamples=resamples, by_participant=cluster is not None)
    settings = None if report_only else _settings(results, names, judges, values)
    loaded, book = load(folder, codebook, skip_invalid=skip_invalid, quiet=quiet)
    ballots = partial(_ballots, results, loaded, **narrow)
    if settings is None:
        status, before = 0, None
        _refuse_unknown(names, ballots())
    elif dry_run:
        _estimate(settings, loaded, book, narrow)
        return
    else:
        before = ballots() if settings.replace else None
        status = _ask(settings, loaded, book, folder, narrow, quiet)
    with working("comparing judges"):
        audits = audits_beside(results)
        analyses = judge_report(ballots(), added=names, before=before, settings=how, audits=audits)
    there = [path for path in results.rglob("*.json") if path.is_file()]
    emit_analyses(analyses, **shown, protect=there)
    if status:
        raise typer.Exit(status)


def _settings(results: Path, names: Sequence[str], judges: Mapping[str, Any], values: Mapping[str, Any]) -> RunSettings:
    """Whom to ask and how. Raises UsageError."""
    from attunebench.runner.rejudge import rejudge_settings

    if not names:
        raise UsageError("No judge is named; give at least one with --judge-model, or use --report-only.")
    if judges["judge_provider"] is None:
        raise UsageError(
            "No provider is named for the judge. Give --judge-provider openrouter, openai, prime, azure, local or "
            "baseline."
        )
    reached = (judges["judge_base_url"], judges["judge_api_key"])
    asked = [model_settings(judges["judge_provider"], name, *reached) for name in names]
    return checked(rejudge_settings, results=results, judges=asked, **values)


def _ballots(results: Path, loaded: ConversationSet, models: Sequence[str], modes: Sequence[Mode]) -> Ballots:
    """The votes that are in the results now."""
    from attunebench.judges import read_ballots

    names = {name.strip().casefold() for name in models}

    def wanted(result: Result) -> bool:
        spellings = {result.em_model.casefold(), f"{result.provider}/{result.em_model}".casefold()}
        return (not names or bool(names & spellings)) and (not modes or result.mode in modes)

    return read_ballots(results, loaded, wanted=wanted)


def _refuse_unknown(names: Sequence[str], ballots: Ballots) -> None:
    """For a report judges that are named count as added to the others: their votes have to be there."""
    if unknown := [name for name in names if name not in ballots.judges]:
        there = ", ".join(map(printable, ballots.judges)) or "nobody"
        raise UsageError(f"{', '.join(unknown)} has no votes here; there are votes of {there}.")


def _estimate(settings: RunSettings, loaded: ConversationSet, book: Codebook, narrow: Mapping[str, Any]) -> None:
    from attunebench.cli.running import show_estimate
    from attunebench.runner.pricing import known_prices
    from attunebench.runner.rejudge import estimate_rejudge

    estimate = estimate_rejudge(loaded.conversations, settings, book, **narrow)
    show_estimate(estimate, settings, known_prices(settings), jobs="results")


def _ask(
    settings: RunSettings,
    loaded: ConversationSet,
    book: Codebook,
    folder: Path,
    narrow: Mapping[str, Any],
    quiet: bool,
) -> int:
    """Ask the judges and say how it ended: the exit status. Raises typer.Exit where there is no report to follow."""
    from attunebench import api
    from attunebench.cli.progress import shown
    from attunebench.cli.running import run_again, say_how_it_ended, scoring

    with shown(settings, quiet=quiet) as observer:
        summary = api.rejudge(
            loaded.conversations, settings, codebook=book, observer=observer, interruptible=True, **narrow
        )
    for line in (*_left(summary), *_votes(summary)):
        say(folded(line))
    say_how_it_ended(summary.run, settings, run_again(sys.argv))
    run = summary.run
    if run.stopped == "interrupted":
        raise typer.Exit(130)
    if run.written and not (run.stopped or run.skipped or run.unreached):
        say(scoring(run.output, folder))
    if run.stopped == "max-cost":
        return 3
    return int(bool(run.stopped or run.votes_owed or summary.left or summary.other_turns or loaded.skipped))


def _votes(summary: RejudgeSummary) -> list[str]:
    """What became of the votes."""
    lines = [f"{counted(summary.added, 'vote')} added."]
    if summary.replaced:
        differ = "none of them says" if not summary.changed else f"{summary.changed} of them say"
        lines[0] = (
            f"{counted(summary.added, 'vote')} added, {summary.replaced} replaced; {differ} something different now."
        )
    if summary.kept:
        lines.append(f"{counted(summary.kept, 'older vote')} kept, because the new answer was unusable.")
    if summary.foreign:
        lines.append(
            f"{counted(summary.foreign, 'result')} also contain votes from other or unknown judge prompts, which may "
            "explain differences between judges."
        )
    return lines


def _left(summary: RejudgeSummary) -> list[str]:
    """What was not judged, and why: named as far as a screen holds it, and counted."""
    lines = first(
        [f"Skipped: {printable(name)}: {printable(why)}." for name, why in summary.left.items()],
        " more results left.",
    )
    if summary.without_draft:
        turns = sum(map(len, summary.without_draft.values()))
        named = [f"  {printable(name)}: {_turns(numbers)}" for name, numbers in summary.without_draft.items()]
        lines += [f"{counted(turns, 'turn')} without a draft in {counted(len(named), 'result')}, not judged:"]
        lines += first(named, " more results.")
    if summary.other_turns:
        named = [f"  {printable(name)}: {_turns(numbers)}" for name, numbers in summary.other_turns.items()]
        lines += [f"{counted(len(named), 'result')} with turns that the conversation does not have, not judged:"]
        lines += first(named, " more results.")
    return lines


def _turns(numbers: Sequence[int]) -> str:
    return f"turn{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
