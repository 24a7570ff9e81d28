"""What `run --batch` does once its options are read: load, show what it will cost, hand over, say how it ended.

Imported by `run` alone, and only where batches are wanted.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from attunebench.backends.prices import usd
from attunebench.batches.executor import BatchExecutor
from attunebench.batches.pending import batch_prices
from attunebench.batches.requests import Origin
from attunebench.batches.service import refuse_what_does_not_fit
from attunebench.cli.closing import closing_lines, folded, going_on
from attunebench.cli.loading import load
from attunebench.cli.progress.batches import batches_shown, described
from attunebench.cli.running import leave, run_again, show_estimate
from attunebench.codebook import Codebook
from attunebench.runner import RunSettings, RunSummary, estimate_run, known_prices
from attunebench.runner.run import run_by
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.batches.ledger import Submission
    from attunebench.conversations import ConversationSet


def main(
    settings: RunSettings,
    folder: Path,
    *,
    interval: float,
    discount: float | None,
    cancel: bool,
    codebook: Path | None,
    dry_run: bool,
    skip_invalid: bool,
    quiet: bool,
) -> None:
    """The whole of `run --batch`; leaves by typer.Exit where the status is not 0."""
    refuse_what_does_not_fit(settings)
    loaded, book = load(folder, codebook, skip_invalid=skip_invalid, quiet=quiet)
    if dry_run:
        _show_both_prices(loaded, settings, book, discount)
        return
    again = _without_cancel(run_again(sys.argv))
    origin = Origin(folder, codebook, skip_invalid, again)
    with batches_shown(settings, discount=discount, quiet=quiet) as watcher:
        opened = partial(
            BatchExecutor, interval=interval, discount=discount, cancel=cancel, origin=origin, interruptible=True
        )
        talks = loaded.conversations
        summary, executor = run_by(opened, talks, settings, book, observer=watcher, run_again=again)
    _say_how_it_ended(summary, executor.under_way, settings, again)
    if not (quiet or summary.stopped or summary.skipped or summary.unreached):
        results, truth = shlex.quote(printable(str(summary.output))), shlex.quote(printable(str(folder)))
        _say(f"Next: attune-bench score --results {results} --ground-truth {truth}")
    leave(summary, loaded)


def _show_both_prices(loaded: ConversationSet, settings: RunSettings, book: Codebook, discount: float | None) -> None:
    estimate, live = estimate_run(loaded.conversations, settings, book), known_prices(settings)
    show_estimate(estimate, settings, known=live)
    known = batch_prices(live, settings.em.provider, discount)
    cost = estimate.price(known.prices, settings.max_tokens)
    if estimate.calls and cost is not None:
        typer.echo(f"By batch: about {usd(cost[0])}, {usd(cost[1])} with every reply at its limit ({known.source}).")


def _say_how_it_ended(summary: RunSummary, under_way: Sequence[Submission], settings: RunSettings, again: str) -> None:
    # On stderr: stdout is for results.
    for line in closing_lines(summary, settings):
        _say(folded(line))
    if under_way:
        for batch in under_way:
            _say(folded(f"It goes on at the provider: {described(batch)}."))
        shown = again if again.isprintable() else printable(again, 2000)
        _say(f"Come back with: {shown}")
        _say(f"Cancel with: {shown} --cancel")
    elif command := going_on(summary, again):
        _say(command)


def _without_cancel(command: str) -> str:
    """The command that goes on: who has cancelled does not want to do so for ever."""
    return shlex.join(word for word in shlex.split(command) if word != "--cancel")


def _say(text: str) -> None:
    typer.echo(text, err=True)
