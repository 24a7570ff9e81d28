"""`attune-bench run`: ask a model (or a built-in baseline) and write one result file for each conversation and mode."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Mapping
from contextlib import nullcontext
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
    model_names,
    one_folder,
)
from attunebench.cli.asking import JUDGES, MODEL, PROVIDER, checked, refuse_further_words
from attunebench.cli.options import flag, options_of, with_options
from attunebench.cli.run_file import RunFile, add_keys, read_run_file, write_run_file
from attunebench.cli.study import study_of
from attunebench.errors import UsageError
from attunebench.options import option, rare
from attunebench.runner.settings import RunSettings
from attunebench.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attunebench.batches.ledger import Submission
    from attunebench.batches.requests import Origin
    from attunebench.cli.progress.stream import EventStream
    from attunebench.codebook import Codebook
    from attunebench.conversations import ConversationSet
    from attunebench.runner import RunSummary
    from attunebench.runner.pricing import Estimate, KnownPrices


class Means(BaseModel):
    """By what means a run is done, which no result depends on."""

    model_config = ConfigDict(allow_inf_nan=False)

    executor: Literal["here", "ray"] = rare(
        "here", "Where calls are made: in this process, or by workers on a Ray cluster (extra `ray`).", "Parallel"
    )
    ray_address: str | None = rare(
        None,
        "Address of the Ray cluster, e.g. auto or 10.0.0.1:6379.",
        "Parallel",
        metavar="ADDRESS",
        shown="RAY_ADDRESS, else a new cluster on this machine",
    )
    workers: int | None = rare(
        None, "Ray workers.", "Parallel", metavar="N", shown="one per machine, at least two", ge=1
    )
    batch: bool = option(
        False,
        "Use the provider's batch service (openai, local): cheaper, done within a day. Rerun to collect.",
        "Batch",
    )
    cancel: bool = rare(
        False, "Cancel the batches in progress, collect finished answers and send nothing new.", "Batch"
    )
    poll_interval: float = rare(60.0, "Seconds between checks of a batch.", "Batch", metavar="S", ge=0)
    batch_discount: float | None = rare(
        None,
        "Share of the price that batches save, such as 0.5.",
        "Batch",
        metavar="SHARE",
        shown="0.5 of openai's, else 0",
        ge=0,
        le=1,
    )

    def check(self, settings: RunSettings, *, alone: bool) -> None:
        """Raises UsageError for options that do not go together; `alone`: no other model is run."""
        if self.executor == "here" and (self.ray_address or self.workers):
            raise UsageError("--ray-address and --workers require --executor ray.")
        if self.batch and (settings.shard or self.executor == "ray"):
            raise UsageError("--batch cannot be combined with --shard or --executor.")
        if not self.batch and (self.cancel or self.batch_discount is not None):
            raise UsageError("--cancel and --batch-discount require --batch.")
        if self.batch and not alone:
            raise UsageError("--batch takes one model at a time: name it before the options, as PROVIDER MODEL.")
        if self.batch:
            from attunebench.batches.service import refuse_what_does_not_fit

            refuse_what_does_not_fit(settings)


@with_options(em=MODEL, judges=JUDGES, values=options_of(RunSettings), means=options_of(Means))
def run(
    context: typer.Context,
    provider: Annotated[str | None, PROVIDER] = None,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            autocompletion=model_names,
            help="The provider's name for the model; baselines: random, majority, no-change, lexicon, oracle.",
        ),
    ] = None,
    conversations: ConversationsArgument = None,
    config: Annotated[
        Path | None,
        flag("Options, models and judges in a TOML file.", "--config", metavar="FILE", panel="What is asked"),
    ] = None,
    folder: ConversationsOption = None,
    modes: ModesOption = None,
    codebook: CodebookOption = None,
    skip_invalid: SkipInvalidOption = False,
    dry_run: DryRunOption = False,
    output: Annotated[Path, flag("Folder of the result files.", "-o", "--output", panel="Output")] = Path("results"),
    json: Annotated[bool, flag("Write events as JSON lines to stdout.", "--json", panel="Output")] = False,
    quiet: QuietOption = False,
    *,
    em: dict[str, Any],
    judges: dict[str, Any],
    values: dict[str, Any],
    means: dict[str, Any],
) -> None:
    """Evaluate a model on a folder of conversations, one result file per conversation and mode. Rerun to resume."""
    from attunebench.cli.progress.stream import EventStream

    events = EventStream() if json else None
    with events.until_exit() if events is not None else nullcontext():
        refuse_further_words(context)
        if config is None and (provider is None or model is None):
            raise UsageError(
                "PROVIDER and MODEL are missing: give both, as in `attune-bench run baseline majority CONVERSATIONS`, "
                "or a run file with --config."
            )
        where = one_folder(conversations, folder) if conversations or folder or config is None else None
        options: dict[str, Any] = {"provider": provider, "model": model, "conversations": where, "modes": modes}
        options |= {"codebook": codebook, "skip_invalid": skip_invalid, "output": output}
        options |= {**em, **judges, **values, **means}
        typed = {"conversations" if name == "folder" else name for name in context.params if _is_typed(context, name)}
        file = RunFile()
        if config is not None:
            add_keys(config.parent)
            file = read_run_file(config, inspect.signature(run).parameters)
        status = _run(file, options, typed, dry_run=dry_run, quiet=quiet, events=events)
        if status:
            raise typer.Exit(status)


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def _run(
    file: RunFile,
    options: Mapping[str, Any],
    typed: Collection[str],
    *,
    dry_run: bool,
    quiet: bool,
    events: EventStream | None,
) -> int:
    """The exit status."""
    from attunebench.cli import running
    from attunebench.cli.emitting import say

    study = study_of(file, options, typed)
    shared = study.values[0]
    by = checked(Means, **{name: shared[name] for name in Means.model_fields})
    for settings in study.runs:
        by.check(settings, alone=len(study.runs) == 1)
    if (where := shared["conversations"]) is None:
        raise UsageError(f"{file.path}: the conversations folder is missing; add the key conversations, or give -d.")
    loaded, book = running.load(where, shared["codebook"], skip_invalid=shared["skip_invalid"], quiet=quiet)
    if dry_run:
        running.estimate_all(study.runs, loaded, book, partial(show_batch_price, by), events)
        return 0
    running.check_all(study.runs, loaded, book)
    if file.path.name:
        from attunebench.runner.files import prepare_folder

        prepare_folder(shared["output"])
        write_run_file(file, study.values, study.judges)
    if by.batch:
        from attunebench.batches.requests import Origin

        origin = partial(Origin, where, shared["codebook"], shared["skip_invalid"])
        summaries = [_by_batches(by, study.runs[0], loaded, book, origin, quiet, events)]
    else:
        for settings in study.runs:
            refuse_beside_batches(settings)
        summaries = running.ask_all(_live(by), loaded, study.runs, book, quiet=quiet, events=events)
    if not quiet and all(map(_is_whole, summaries)):
        say(running.scoring(shared["output"], where))
    return max(running.status_of(summary, loaded) for summary in summaries)


def _is_whole(summary: RunSummary) -> bool:
    done = not (summary.stopped or summary.skipped or summary.unreached)
    return done and summary.whole[0] == summary.whole[1]


def _live(by: Means) -> Any:
    """What does a run, here or on a Ray cluster; it takes what `api.run` takes."""
    from attunebench import api

    if by.executor == "here":
        return api.run
    from attunebench.runner.on_ray import run_on_ray

    return partial(api.run, executor=partial(run_on_ray, address=by.ray_address, workers=by.workers))


def refuse_beside_batches(settings: RunSettings) -> None:
    """Raises UsageError where batches are under way that may hold the same requests: they would be paid twice."""
    from attunebench.batches.ledger import Ledger

    first = next(iter(settings.models.values()))
    if sent := Ledger(settings.output).open_for(first.provider, settings.em.model, settings.modes):
        ids = ", ".join(printable(each.id or each.mark) for each in sent)
        raise UsageError(
            f"Batches of {first.model} are in progress for {settings.output} ({ids}): collect them with --batch, or "
            "cancel them first with --batch --cancel."
        )


def _by_batches(
    by: Means,
    settings: RunSettings,
    loaded: ConversationSet,
    book: Codebook,
    origin: Callable[[str], Origin],
    quiet: bool,
    events: EventStream | None,
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
    shown = batches_shown(settings, discount=by.batch_discount, quiet=quiet)
    with shown if events is None else events.following(settings) as watcher:
        conversations = loaded.conversations
        summary, executor = run_by(opened, conversations, settings, book, observer=watcher, run_again=again)
    if events is not None:
        events.ended(summary, settings)
    running.say_how_it_ended(summary, settings, "" if executor.under_way else again)
    if executor.under_way:
        say_what_goes_on(executor.under_way, again)
    return summary


def say_what_goes_on(under_way: Iterable[Submission], again: str) -> None:
    """Which batches continue, and the commands that collect and cancel them."""
    from attunebench.cli.emitting import folded, say
    from attunebench.cli.progress.batches import described

    for batch in under_way:
        say(folded(f"The batch continues at the provider: {described(batch)}."))
    shown = again if again.isprintable() else printable(again, 2000)
    say(f"Resume with: {shown}")
    say(f"Cancel with: {shown} --cancel")


def show_batch_price(by: Means, estimate: Estimate, settings: RunSettings, known: KnownPrices) -> None:
    """What the requests cost by batch, where they are to be sent so."""
    from attunebench.backends.prices import usd
    from attunebench.batches.pending import batch_prices

    if not by.batch:
        return
    known = batch_prices(known, next(iter(settings.models.values())).provider, by.batch_discount)
    cost = estimate.price(known.prices, settings.max_tokens)
    if estimate.calls and cost is not None:
        typer.echo(f"By batch: about {usd(cost[0])}, at most {usd(cost[1])} ({known.source}).")
