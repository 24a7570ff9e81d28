"""`attune-bench arena respond` and `arena judge`: models reply to histories, judges compare replies."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.arguments import DryRunOption, QuietOption, comma_list, model_names
from attunebench.cli.asking import MODEL, ProviderArgument, checked, model_settings, run_settings
from attunebench.cli.emitting import say
from attunebench.cli.options import flag, options_of, with_options
from attunebench.cli.run import Means, refuse_beside_batches, say_what_goes_on, show_batch_price
from attunebench.errors import UsageError
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.arena.work import ArenaWork
    from attunebench.batches.ledger import Submission
    from attunebench.runner import RunSummary

_OF_THE_BENCHMARK = ("judge_scale", "panas_strategy", "shard")
_HISTORIES = {"limit": "Only N histories, chosen at random.", "order_seed": "Seed of the random order of histories."}
_REPLIES = options_of(
    RunSettings,
    without=(*_OF_THE_BENCHMARK, "judge_price_in", "judge_price_out"),
    help={
        **_HISTORIES,
        "replace": "Request replies again that were made with other settings.",
        "retry_unanswered": "Request missing replies again.",
    },
)
VERDICTS_AGAIN = {
    "replace": "Request verdicts again that were made with other settings.",
    "retry_unanswered": "Request verdicts again that stayed incomplete after all re-prompts.",
}
_VERDICTS = options_of(
    RunSettings,
    without=(*_OF_THE_BENCHMARK, "price_in", "price_out"),
    help={**_HISTORIES, **VERDICTS_AGAIN},
)
REACHED = options_of(
    ModelSettings,
    without=("provider",),
    panel="Judges",
    help={"base_url": "The judges' server.", "api_key": "Their API key; prefer the environment variable."},
)


MEANS = options_of(Means, without=("executor", "ray_address", "workers"))


@with_options(em=MODEL, values=_REPLIES, means=MEANS)
def respond(
    provider: ProviderArgument,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            autocompletion=model_names,
            help="The provider's name for the model; baselines: random, majority (others reply like majority).",
        ),
    ],
    histories: Annotated[
        Path, typer.Argument(metavar="HISTORIES", help="An arena, or a JSON or JSONL file of histories.")
    ],
    output: Annotated[
        Path | None,
        flag("The arena that gets the replies.", "-o", "--output", metavar="ARENA", shown="HISTORIES", panel="Output"),
    ] = None,
    author: Annotated[str, flag("Name of the replies' author.", metavar="NAME", shown="MODEL", panel="Output")] = "",
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    *,
    em: dict[str, Any],
    values: dict[str, Any],
    means: dict[str, Any],
) -> None:
    """Have a model reply to every history, as the supporter. Rerun to resume.

    The model gets a neutral task and no rubric. An author has one reply per history.
    """
    from attunebench.arena.asking import ReplyWork

    with _arena_with(histories, output, dry_run) as folder:
        settings = run_settings(model_settings(provider, model, **em), {}, output=folder, **values)
        by, work = means_of(means, settings), ReplyWork(folder, settings, author)
        if dry_run:
            show_work(work, by, "histories")
            return
        _ask(work, by, quiet, lambda n: counted(n, "reply", "replies"), "pairs")


@with_options(reached=REACHED, values=_VERDICTS, means=MEANS)
def judge(
    arena: Annotated[Path, typer.Argument(metavar="ARENA", help="Folder of the arena.")],
    judges: Annotated[
        list[str] | None,
        flag(
            "Judge, such as openrouter:vendor/model; repeat for several. Built in: baseline:longest, shortest, edited, "
            "random, lexicon.  [required]",
            "--judge",
            "-j",
            metavar="PROVIDER:MODEL",
            panel="Judges",
        ),
    ] = None,
    orders: Annotated[
        int, flag("Orders in which a pair is shown: 2 (both), or 1 (at random).", panel="Judges", min=1, max=2)
    ] = 2,
    own_family: Annotated[
        bool, flag("Also judge pairs with a reply of the judge's own family (vendor).", "--own-family", panel="Judges")
    ] = False,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    *,
    reached: dict[str, Any],
    values: dict[str, Any],
    means: dict[str, Any],
) -> None:
    """Have judges compare the replies of every pair, blind and in both orders. Rerun to resume.

    Each verdict is requested in a fresh context. Replies are shown without markdown or author names. A judge skips
    pairs with a reply of its own or of its family (models of the same vendor).
    """
    from attunebench.arena.asking import VerdictWork, verdict_settings

    settings = checked(verdict_settings, folder=arena, judges=judges_of(judges, **reached), **values)
    by, work = means_of(means, settings), VerdictWork(arena, settings, orders=orders, own_family=own_family)
    if dry_run:
        show_work(work, by, "pairs")
        return
    _ask(work, by, quiet, verdicts_on, "score")


def judges_of(named: Sequence[str] | None, base_url: str | None, api_key: str | None) -> list[ModelSettings]:
    """The judges that are named as PROVIDER:MODEL. Raises UsageError."""
    found = [name.partition(":") for name in comma_list(named)]
    if not found:
        raise UsageError("No judge is named; give at least one with --judge, such as openrouter:vendor/model.")
    for provider, _, model in found:
        if not model:
            raise UsageError(f"--judge: give provider and model, such as openrouter:vendor/model, not {provider!r}.")
    reached = {provider: (base_url, api_key) for provider, _, _ in found if provider != "baseline"}
    # A key must not travel to another host than the one that it is for.
    if (base_url or api_key) and len(reached) > 1:
        raise UsageError("--base-url and --api-key apply to judges of one provider; run other providers separately.")
    return [model_settings(provider, model, *reached.get(provider, (None, None))) for provider, _, model in found]


@contextmanager
def _arena_with(histories: Path, output: Path | None, dry_run: bool) -> Iterator[Path]:
    """The arena that gets the replies, with the histories in it; for a dry run one that is gone afterwards. Raises
    UsageError and DataError."""
    if output is None or output == histories:
        if histories.is_file():
            raise UsageError(f"{histories} is a file of histories; name the arena that gets the replies with -o.")
        yield histories
        return
    from attunebench.arena.folder import add_histories, note_step, read_arena
    from attunebench.arena.histories import read_material

    found = read_arena(histories).histories.values() if histories.is_dir() else read_material(histories).histories
    if dry_run and not (output / "histories.jsonl").is_file():
        with TemporaryDirectory() as scratch:
            add_histories(Path(scratch), found)
            yield Path(scratch)
    elif dry_run:
        yield output
    else:
        if add_histories(output, found):
            note_step(output, {"command": "respond", "from": [histories.name]})
        yield output


def means_of(values: dict[str, Any], settings: RunSettings) -> Means:
    """By what means models are asked: live or by batches. Raises UsageError."""
    by = checked(Means, **values)
    by.check(settings, alone=True)
    return by


def show_work(work: ArenaWork, by: Means, jobs: str) -> None:
    """Count what would be requested, and show it."""
    from attunebench.cli.running import show_estimate
    from attunebench.runner.pricing import estimate_work, known_prices

    estimate, settings = estimate_work(work, work.notes), work.settings
    known = known_prices(settings)
    show_estimate(estimate, settings, known, jobs=jobs)
    show_batch_price(by, estimate, settings, known)


def verdicts_on(n: int) -> str:
    """What was made of so many jobs."""
    return f"verdicts on {counted(n, 'pair')}"


def _ask(work: ArenaWork, by: Means, quiet: bool, made: Callable[[int], str], following: str) -> None:
    """`do_work`, and say which command follows. Raises typer.Exit for a status."""
    if status := do_work(work, by, quiet, made):
        raise typer.Exit(status)
    if not quiet:
        say(f"Next: attune-bench arena {following} {shlex.quote(printable(str(work.settings.output)))}")


def do_work(work: ArenaWork, by: Means, quiet: bool, made: Callable[[int], str]) -> int:
    """Ask, live or by batches, show the progress, and say how it ended: the exit status."""
    from attunebench.arena.asking import ask_work
    from attunebench.cli.progress import shown
    from attunebench.cli.running import run_again, say_how_it_ended, status_of

    # Who has cancelled does not want to do so for ever.
    again, settings = run_again([word for word in sys.argv if word != "--cancel"]), work.settings
    under_way: list[Submission] = []
    if by.batch:
        summary, under_way = _ask_by_batches(work, by, again, quiet)
    else:
        refuse_beside_batches(settings)
        with shown(settings, quiet=quiet) as observer:
            summary = ask_work(work, observer=observer, interruptible=True)
    say_how_it_ended(summary, settings, "" if under_way else again, made=made(summary.written))
    if under_way:
        say_what_goes_on(under_way, again)
    return status_of(summary)


def _ask_by_batches(work: ArenaWork, by: Means, again: str, quiet: bool) -> tuple[RunSummary, list[Submission]]:
    """Ask by the provider's batch service: how it ended, and what continues there."""
    from attunebench.arena.asking import ask_work
    from attunebench.batches.executor import BatchExecutor
    from attunebench.batches.requests import Origin
    from attunebench.cli.progress.batches import batches_shown

    options: dict[str, Any] = {"interval": by.poll_interval, "discount": by.batch_discount, "cancel": by.cancel}
    with batches_shown(work.settings, discount=by.batch_discount, quiet=quiet) as watcher:
        service = BatchExecutor(work.settings, watcher, origin=Origin(command=again), interruptible=True, **options)
        summary = ask_work(work, observer=watcher, by=lambda *_: service)
    return summary, service.under_way
