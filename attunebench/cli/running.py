"""What commands that ask a model do once their options are read: load, show, ask, say how it ended.

Imported inside those commands alone: it brings the engine along.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from attunebench.backends import endpoint_of
from attunebench.backends.prices import usd
from attunebench.cli.asking import errors_about
from attunebench.cli.closing import closing_lines, going_on
from attunebench.cli.emitting import folded, say
from attunebench.cli.loading import load as load
from attunebench.cli.progress import shown
from attunebench.cli.progress.stream import EventStream
from attunebench.codebook import Codebook
from attunebench.conversations import ConversationSet
from attunebench.errors import ConfigurationError
from attunebench.progress import words
from attunebench.runner import RunSettings, RunSummary
from attunebench.runner.budget import Budget, Cost
from attunebench.runner.pricing import (
    Estimate,
    KnownPrices,
    check_bound,
    estimate_run,
    known_prices,
    options_for_prices,
)
from attunebench.text import printable

_STATUS = {"interrupted": 130, "max-cost": 3}
_SECRET_OPTIONS = ("--api-key", "--judge-api-key")


def ask_all(
    run: Callable[..., RunSummary],
    loaded: ConversationSet,
    runs: Sequence[RunSettings],
    book: Codebook,
    *,
    quiet: bool,
    events: EventStream | None = None,
) -> list[RunSummary]:
    """Run one after the other within the first one's --max-cost, show the progress of each, and say how it ended and
    how to go on. `run` takes what `api.run` takes. A ConfigurationError of one model leaves the others to be run,
    and is raised at the end; after --max-cost and an interruption none begins."""
    again, left, several, failure = run_again(sys.argv), runs[0].max_cost, len(runs) > 1, None
    summaries, budgets = list[RunSummary](), list[Budget]()
    for number, settings in enumerate(runs, 1):
        if several and not quiet:
            say(f"Model {number} of {len(runs)}: {printable(settings.em.model)} ({settings.em.provider})")
        settings = settings.model_copy(update={"max_cost": left})
        ended: RunSummary | ConfigurationError
        with shown(settings, quiet=quiet, events=events) as tally:
            options = {"codebook": book, "observer": tally, "run_again": again, "interruptible": True}
            try:
                ended = run(loaded.conversations, settings, **options)
            except ConfigurationError as error:
                if not several:
                    raise
                failure, ended = failure or error, error
            finally:
                if tally.plan is not None:
                    budgets.append(tally.plan.spending)
                    left = None if left is None else max(0.0, left - tally.plan.spending.spent)
        if isinstance(ended, ConfigurationError):
            _say_failure(settings, ended, events)
            continue
        summaries.append(ended)
        if events is not None:
            events.ended(ended, settings)
        say_how_it_ended(ended, settings, "" if several else again)
        if ended.stopped in _STATUS:
            failure = None
            break
    if several:
        _say_in_all(summaries, budgets, len(runs), again)
    if failure is not None:
        raise failure
    return summaries


def _say_failure(settings: RunSettings, error: ConfigurationError, events: EventStream | None) -> None:
    if events is not None:
        events.write("error", provider=settings.em.provider, model=settings.em.model, message=str(error))
    say(folded(f"{printable(settings.em.model)} failed: {printable(str(error), 1000)}"))


def _say_in_all(summaries: Sequence[RunSummary], budgets: Sequence[Budget], models: int, again: str) -> None:
    """What several runs made and cost, and the command that goes on with what is left."""
    done = sum(not (each.stopped or each.skipped or each.unreached) for each in summaries)
    total = Budget()
    total.model, total.judges = (sum((getattr(b, who) for b in budgets), Cost()) for who in ("model", "judges"))
    say(f"{done} of {models} models done. Cost in all: {words.cost(total) or 'nothing was requested'}.")
    calls = sum(each.calls for each in summaries)  # where some were made, the same limit reaches further next time
    if command := next(filter(None, (going_on(replace(each, calls=calls), again) for each in summaries)), ""):
        say(command)


def check_all(runs: Sequence[RunSettings], loaded: ConversationSet, book: Codebook) -> None:
    """Raise, before anything is written or sent, what would stop one of several runs at its start: no key, no
    prices for --max-cost, older results in the way. A single run says so itself, but for prices of a new folder."""
    for settings in runs:
        calls = not settings.output.exists()
        with errors_about(settings.em.model if len(runs) > 1 else ""):
            if len(runs) > 1:
                for model in settings.models.values():
                    endpoint_of(model)
                calls = estimate_run(loaded.conversations, settings, book).calls > 0
            if calls and settings.max_cost is not None:
                check_bound(settings, known_prices(settings).prices)


def say_how_it_ended(summary: RunSummary, settings: RunSettings, again: str, *, made: str = "") -> None:
    """The closing lines, and the command `again` where something is left, on stderr: stdout is for results. `made` is
    what was written, where it is no result files."""
    for line in closing_lines(summary, settings, made):
        say(folded(line))
    if again and (command := going_on(summary, again)):
        say(command)


def scoring(results: Path, conversations: Path) -> str:
    """The line that names the next command."""
    folders = (shlex.quote(printable(str(folder))) for folder in (results, conversations))
    return "Next: attune-bench score --results {} --ground-truth {}".format(*folders)


def leave(summary: RunSummary, loaded: ConversationSet) -> None:
    """End the command by typer.Exit where its status is not 0."""
    if status := status_of(summary, loaded):
        raise typer.Exit(status)


def status_of(summary: RunSummary, loaded: ConversationSet | None = None) -> int:
    """The exit status of spec 5.1."""
    if summary.stopped in _STATUS:
        return _STATUS[summary.stopped]
    return int(bool(summary.stopped or summary.skipped or summary.votes_owed or (loaded and loaded.skipped)))


def run_again(argv: Sequence[str]) -> str:
    """The command as it was typed, without any key."""
    words: list[str] = []
    hide = False
    for word in argv[1:]:
        if hide or word.startswith(tuple(f"{option}=" for option in _SECRET_OPTIONS)):
            hide = False
        elif word in _SECRET_OPTIONS:
            hide = True
        else:
            words.append(word)
    return shlex.join(["attune-bench", *words])


def estimate_all(
    runs: Sequence[RunSettings],
    loaded: ConversationSet,
    book: Codebook,
    further: Callable[[Estimate, RunSettings, KnownPrices], None],
    events: EventStream | None,
) -> None:
    """What each run would ask and cost: shown, with `further` lines, or as an event."""
    for number, settings in enumerate(runs, 1):
        estimate, known = estimate_run(loaded.conversations, settings, book), known_prices(settings)
        if events is not None:
            events.estimated(estimate, settings, known)
            continue
        if len(runs) > 1:
            typer.echo(f"Model {number} of {len(runs)}: {printable(settings.em.model)} ({settings.em.provider})")
        show_estimate(estimate, settings, known)
        further(estimate, settings, known)


def show_estimate(
    estimate: Estimate,
    settings: RunSettings,
    known: KnownPrices,
    *,
    jobs: str = "conversations x modes",
) -> None:
    """Counts and cost on stdout: a table that is also easy to cut. `jobs` says what is counted."""
    for note in estimate.notes:
        say(printable(note))
    typer.echo(
        f"{estimate.jobs} pending, {estimate.complete} complete ({jobs}); {estimate.calls} calls; no prompt was sent."
    )
    typer.echo(f"{'call':<10}{'calls':>9}{'characters':>14}{'prompt tokens':>15}{'reply tokens':>14}")
    rows = [(kind.calls, kind.characters, kind.tokens, kind.reply_tokens) for kind in estimate.kinds]
    sums = tuple(map(sum, zip(*rows, strict=True))) or (0, 0, 0, 0)
    names = [*(str(kind.kind) for kind in estimate.kinds), "all"]
    for name, (calls, characters, tokens, replies) in zip(names, [*rows, sums], strict=True):
        typer.echo(f"{name:<10}{calls:>9,}{characters:>14,}{tokens:>15,}{replies:>14,}")
    typer.echo(
        "Estimates: 4 characters per prompt token, replies of the usual length "
        f"(at most {settings.max_tokens:,} tokens each; reasoning models use more)."
    )
    if settings.free or not estimate.calls:
        return
    cost = estimate.price(known.prices, settings.max_tokens)
    if cost is None:
        for reason in known.unasked:
            typer.echo(f"Prices not fetched: {printable(reason)}")
        typer.echo(f"Cost: unknown, as there are no prices; set {options_for_prices(known.prices)}.")
    else:
        typer.echo(
            f"Cost: about {usd(cost[0])}, {usd(cost[1])} with every reply at its limit ({known.source}); "
            "retries and re-prompts cost extra."
        )
