"""What commands that ask a model do once their options are read: load, show, ask, say how it ended.

Imported inside those commands alone: it brings the engine along.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from attunebench.backends.prices import usd
from attunebench.cli.closing import closing_lines, going_on
from attunebench.cli.emitting import folded, say
from attunebench.cli.loading import load
from attunebench.cli.progress import shown
from attunebench.codebook import Codebook
from attunebench.conversations import ConversationSet
from attunebench.runner import RunSettings, RunSummary
from attunebench.runner.pricing import Estimate, KnownPrices, options_for_prices
from attunebench.text import printable

__all__ = ["ask", "leave", "load", "run_again", "say_how_it_ended", "scoring", "show_estimate"]

_SECRET_OPTIONS = ("--api-key", "--judge-api-key")


def ask(
    run: Callable[..., RunSummary], loaded: ConversationSet, settings: RunSettings, book: Codebook, *, quiet: bool
) -> RunSummary:
    """Run with its progress shown, and say how it ended and how to go on. `run` takes what `api.run` takes."""
    again = run_again(sys.argv)
    with shown(settings, quiet=quiet) as observer:
        summary = run(
            loaded.conversations, settings, codebook=book, observer=observer, run_again=again, interruptible=True
        )
    say_how_it_ended(summary, settings, again)
    return summary


def say_how_it_ended(summary: RunSummary, settings: RunSettings, again: str) -> None:
    """The closing lines, and the command `again` where something is left, on stderr: stdout is for results."""
    for line in closing_lines(summary, settings):
        say(folded(line))
    if again and (command := going_on(summary, again)):
        say(command)


def scoring(results: Path, conversations: Path) -> str:
    """The line that names the next command."""
    folders = (shlex.quote(printable(str(folder))) for folder in (results, conversations))
    return "Next: attune-bench score --results {} --ground-truth {}".format(*folders)


def leave(summary: RunSummary, loaded: ConversationSet) -> None:
    """End the command by typer.Exit where its status is not 0 (spec 5.1)."""
    if summary.stopped == "interrupted":
        raise typer.Exit(130)
    if summary.stopped == "max-cost":
        raise typer.Exit(3)
    if summary.stopped or summary.skipped or summary.votes_owed or loaded.skipped:
        raise typer.Exit(1)


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
    typer.echo(f"{estimate.jobs} to do, {estimate.complete} complete ({jobs}), {estimate.calls} calls, nothing asked.")
    typer.echo(f"{'call':<10}{'calls':>9}{'characters':>14}{'tokens, about':>15}{'of replies':>13}")
    rows = [(kind.calls, kind.characters, kind.tokens, kind.reply_tokens) for kind in estimate.kinds]
    sums = tuple(map(sum, zip(*rows, strict=True))) or (0, 0, 0, 0)
    names = [*(str(kind.kind) for kind in estimate.kinds), "all"]
    for name, (calls, characters, tokens, replies) in zip(names, [*rows, sums], strict=True):
        typer.echo(f"{name:<10}{calls:>9,}{characters:>14,}{tokens:>15,}{replies:>13,}")
    typer.echo(
        "Prompt tokens are estimated at 4 characters each, replies by their usual length "
        f"({settings.max_tokens:,} tokens each at most; models that think take more)."
    )
    if settings.free or not estimate.calls:
        return
    cost = estimate.price(known.prices, settings.max_tokens)
    if cost is None:
        for reason in known.unasked:
            typer.echo(f"No list of prices was asked for. {printable(reason)}")
        typer.echo(f"Cost: unknown for want of prices; {options_for_prices(known.prices)} give them.")
    else:
        typer.echo(
            f"Cost: about {usd(cost[0])}, {usd(cost[1])} with every reply at its limit ({known.source}); "
            "retries and re-prompts come on top."
        )
