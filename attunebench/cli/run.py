"""`attune-bench run`: ask a model (or a built-in baseline) and write one result file for each conversation and mode."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import BaseModel, ConfigDict

from attunebench.cli.arguments import (
    CodebookOption,
    ConversationsArgument,
    ConversationsOption,
    DryRunOption,
    ModesOption,
    QuietOption,
    SkipInvalidOption,
    one_folder,
)
from attunebench.cli.asking import (
    JUDGES,
    MODEL,
    ProviderArgument,
    checked,
    model_settings,
    modes_of,
    run_settings,
)
from attunebench.cli.options import flag, options_of, with_options
from attunebench.errors import UsageError
from attunebench.options import option, rare
from attunebench.runner.settings import RunSettings
from attunebench.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attunebench.batches.ledger import Submission
    from attunebench.batches.requests import Origin
    from attunebench.codebook import Codebook
    from attunebench.conversations import ConversationSet
    from attunebench.runner import RunSummary
    from attunebench.runner.pricing import Estimate, KnownPrices


class Means(BaseModel):
    """By what means a run is done, which no result depends on."""

    model_config = ConfigDict(allow_inf_nan=False)

    executor: Literal["here", "ray"] = rare(
        "here", "Where calls are made: this process, or workers on a Ray cluster (extra `ray`).", "Parallel"
    )
    ray_address: str | None = rare(
        None,
        "Of the cluster, e.g. auto or 10.0.0.1:6379.",
        "Parallel",
        metavar="ADDRESS",
        shown="RAY_ADDRESS, else a new one on this machine",
    )
    workers: int | None = rare(None, "Ray workers.", "Parallel", metavar="N", shown="one a machine, two at least", ge=1)
    batch: bool = option(
        False,
        "Use the provider's batch service (openai, local): cheaper, done within a day. Rerun to collect.",
        "Batch",
    )
    cancel: bool = rare(False, "Cancel what is under way, collect what is done of it, send nothing new.", "Batch")
    poll_interval: float = rare(60.0, "Seconds between checks of a batch.", "Batch", metavar="S", ge=0)
    batch_discount: float | None = rare(
        None,
        "The share of the price that a batch saves, such as 0.5.",
        "Batch",
        metavar="SHARE",
        shown="0.5 of openai's, else 0",
        ge=0,
        le=1,
    )

    def check(self, settings: RunSettings) -> None:
        """Raises UsageError for options that do not go together."""
        if self.executor == "here" and (self.ray_address or self.workers):
            raise UsageError("--ray-address and --workers belong to --executor ray.")
        if self.batch and (settings.shard or self.executor == "ray"):
            raise UsageError("--batch hands the whole run to the provider: --shard and --executor do not go with it.")
        if not self.batch and (self.cancel or self.batch_discount is not None):
            raise UsageError("--cancel and --batch-discount belong to --batch.")


@with_options(em=MODEL, judges=JUDGES, values=options_of(RunSettings), means=options_of(Means))
def run(
    context: typer.Context,
    provider: ProviderArgument,
    model: Annotated[
        str, typer.Argument(help="Its name there; baselines: random, majority, no-change, lexicon, oracle.")
    ],
    conversations: ConversationsArgument = None,
    folder: ConversationsOption = None,
    modes: ModesOption = None,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    dry_run: DryRunOption = False,
    output: Annotated[Path, flag("Folder of the result files.", "-o", "--output", panel="Output")] = Path("results"),
    quiet: QuietOption = False,
    *,
    em: dict[str, Any],
    judges: dict[str, Any],
    values: dict[str, Any],
    means: dict[str, Any],
) -> None:
    """Evaluate a model on a folder of conversations.

    Writes one result file per conversation and mode. Rerun to resume.
    """
    from attunebench.cli import running
    from attunebench.cli.emitting import say
    from attunebench.runner.pricing import estimate_run, known_prices

    asked = model_settings(provider, model, em["base_url"], em.get("api_key"))
    settings = run_settings(asked, judges, modes=modes_of(context, modes), output=output, **values)
    by = checked(Means, **means)
    by.check(settings)
    if by.batch:
        from attunebench.batches.service import refuse_what_does_not_fit

        refuse_what_does_not_fit(settings)
    where = one_folder(conversations, folder)
    loaded, book = running.load(where, codebook, skip_invalid=skip_invalid, quiet=quiet)
    if dry_run:
        estimate, known = estimate_run(loaded.conversations, settings, book), known_prices(settings)
        running.show_estimate(estimate, settings, known)
        if by.batch:
            _show_batch_price(estimate, settings, known, by.batch_discount)
        return
    if by.batch:
        from attunebench.batches.requests import Origin

        origin = partial(Origin, where, codebook, skip_invalid)
        summary = _by_batches(by, settings, loaded, book, origin, quiet)
    else:
        _refuse_beside_batches(settings)
        summary = running.ask(_live(by), loaded, settings, book, quiet=quiet)
    whole, done = summary.whole[0] == summary.whole[1], not (summary.stopped or summary.skipped or summary.unreached)
    if whole and done and not quiet:
        say(running.scoring(summary.output, where))
    running.leave(summary, loaded)


def _live(by: Means) -> Any:
    """What does a run, here or on a Ray cluster; it takes what `api.run` takes."""
    from attunebench import api

    if by.executor == "here":
        return api.run
    from attunebench.runner.on_ray import run_on_ray

    return partial(api.run, executor=partial(run_on_ray, address=by.ray_address, workers=by.workers))


def _refuse_beside_batches(settings: RunSettings) -> None:
    """Raises UsageError where batches are under way that may hold the same requests: they would be paid twice."""
    from attunebench.batches.ledger import Ledger

    em = settings.em
    if sent := Ledger(settings.output).open_for(em.provider, em.model, settings.modes):
        ids = ", ".join(printable(each.id or each.mark) for each in sent)
        raise UsageError(
            f"Batches of {em.model} are under way for {settings.output} ({ids}): come back to them with --batch, or "
            "cancel them first with --batch --cancel."
        )


def _by_batches(
    by: Means,
    settings: RunSettings,
    loaded: ConversationSet,
    book: Codebook,
    origin: Callable[[str], Origin],
    quiet: bool,
) -> RunSummary:
    """Hand the run to the batch service, and say how that ended and how to come back."""
    from attunebench.batches.executor import BatchExecutor
    from attunebench.cli import running
    from attunebench.cli.progress.batches import batches_shown
    from attunebench.runner.run import run_by

    # Who has cancelled does not want to do so for ever.
    again = running.run_again([word for word in sys.argv if word != "--cancel"])
    opened = partial(
        BatchExecutor,
        interval=by.poll_interval,
        discount=by.batch_discount,
        cancel=by.cancel,
        origin=origin(again),
        interruptible=True,
    )
    with batches_shown(settings, discount=by.batch_discount, quiet=quiet) as watcher:
        conversations = loaded.conversations
        summary, executor = run_by(opened, conversations, settings, book, observer=watcher, run_again=again)
    running.say_how_it_ended(summary, settings, "" if executor.under_way else again)
    if executor.under_way:
        _say_what_goes_on(executor.under_way, again)
    return summary


def _say_what_goes_on(under_way: Iterable[Submission], again: str) -> None:
    from attunebench.cli.emitting import folded, say
    from attunebench.cli.progress.batches import described

    for batch in under_way:
        say(folded(f"It goes on at the provider: {described(batch)}."))
    shown = again if again.isprintable() else printable(again, 2000)
    say(f"Come back with: {shown}")
    say(f"Cancel with: {shown} --cancel")


def _show_batch_price(estimate: Estimate, settings: RunSettings, known: KnownPrices, discount: float | None) -> None:
    from attunebench.backends.prices import usd
    from attunebench.batches.pending import batch_prices

    known = batch_prices(known, settings.em.provider, discount)
    cost = estimate.price(known.prices, settings.max_tokens)
    if estimate.calls and cost is not None:
        typer.echo(f"By batch: about {usd(cost[0])}, {usd(cost[1])} with every reply at its limit ({known.source}).")
