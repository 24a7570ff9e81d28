"""What commands that ask a model do once their options are read: load, plan, show, ask, say how it ended.

Imported inside those commands alone: it brings the engine along.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from pydantic import SecretStr, ValidationError

from attunebench import api
from attunebench.backends.prices import usd
from attunebench.batches.ledger import Ledger
from attunebench.cli.closing import closing_lines, folded, going_on
from attunebench.cli.loading import load
from attunebench.cli.progress import shown
from attunebench.codebook import Codebook
from attunebench.conversations import ConversationSet
from attunebench.errors import UsageError
from attunebench.runner import Estimate, ModelSettings, RunSettings, RunSummary, estimate_run, known_prices
from attunebench.runner.pricing import KnownPrices, options_for_prices
from attunebench.runner.settings import Shard
from attunebench.text import printable

_SECRET_OPTIONS = ("--api-key", "--judge-api-key")


def model_settings(provider: str, model: str, base_url: str | None, api_key: str | None) -> ModelSettings:
    """Where the evaluated model is reached."""
    return ModelSettings(
        provider=provider, model=model, base_url=base_url, api_key=SecretStr(api_key) if api_key else None
    )


def judge_settings(
    em: ModelSettings, model: str, provider: str | None, base_url: str | None, api_key: str | None
) -> ModelSettings:
    """Where a judge is reached: the run's own provider, address and key, as far as nothing else is said.

    The run's address and key go to the judge's provider only where that is the run's own.
    """
    if provider in (None, em.provider):
        inherited = em.api_key.get_secret_value() if em.api_key else None
        # A judge at another address gets the run's key only by name: a key must not travel to a foreign host unasked.
        key = api_key or (inherited if base_url in (None, em.base_url) else None)
        return model_settings(em.provider, model, base_url or em.base_url, key)
    return model_settings(provider, model, base_url, api_key)


def run_settings(**values: Any) -> RunSettings:
    """The run's settings. Raises UsageError in place of pydantic's report."""
    return checked(RunSettings, **values)


def checked(make: Callable[..., RunSettings], **values: Any) -> RunSettings:
    """Settings made of these values. Raises UsageError in place of pydantic's report."""
    try:
        return make(**values)
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + str(first["loc"][0]).replace("_", "-")
        raise UsageError(f"{option}: {first['msg']}, not {first['input']!r}.") from None


def part(shard: str | None) -> Shard | None:
    """The shard of `--shard i/n`. Raises UsageError."""
    return None if shard is None else Shard.parse(shard)


def runner(on_ray: bool, address: str | None, workers: int | None) -> Callable[..., RunSummary]:
    """What does a run, here or on a Ray cluster; it takes what `api.run` takes. Raises UsageError."""
    if not on_ray:
        if address or workers:
            raise UsageError("--ray-address and --workers belong to --executor ray.")
        return api.run
    from attunebench.runner.on_ray import run_on_ray

    return partial(api.run, executor=partial(run_on_ray, address=address, workers=workers))


def main(
    settings: RunSettings,
    folder: Path,
    run: Callable[..., RunSummary] = api.run,
    *,
    codebook: Path | None,
    dry_run: bool,
    skip_invalid: bool,
    quiet: bool,
) -> None:
    """The whole of the command, with `run` to do it (`api.run`, or what takes the same); leaves by typer.Exit where the
    status is not 0."""
    loaded, book = load(folder, codebook, skip_invalid=skip_invalid, quiet=quiet)
    if dry_run:
        show_estimate(estimate_run(loaded.conversations, settings, book), settings)
        return
    _refuse_beside_batches(settings)
    summary = ask(run, loaded, settings, book, quiet=quiet)
    whole = summary.whole[0] == summary.whole[1]
    if whole and not (quiet or summary.stopped or summary.skipped):
        results, truth = shlex.quote(printable(str(summary.output))), shlex.quote(printable(str(folder)))
        _say(f"Next: attune-bench score --results {results} --ground-truth {truth}")
    leave(summary, loaded)


def _refuse_beside_batches(settings: RunSettings) -> None:
    """Raises UsageError where batches are under way that may hold the same requests: they would be paid twice."""
    em = settings.em
    if sent := Ledger(settings.output).open_for(em.provider, em.model, settings.modes):
        ids = ", ".join(printable(each.id or each.mark) for each in sent)
        raise UsageError(
            f"Batches of {em.model} are under way for {settings.output} ({ids}): come back to them with --batch, or "
            "cancel them first with --batch --cancel."
        )


def ask(
    run: Callable[..., RunSummary], loaded: ConversationSet, settings: RunSettings, book: Codebook, *, quiet: bool
) -> RunSummary:
    """Run with its progress shown, and say how it ended and how to go on. `run` takes what `api.run` takes."""
    with shown(settings, quiet=quiet) as observer:
        summary = run(
            loaded.conversations,
            settings,
            codebook=book,
            observer=observer,
            run_again=run_again(sys.argv),
            interruptible=True,
        )
    # On stderr: stdout is for results.
    for line in closing_lines(summary, settings):
        _say(folded(line))
    if command := going_on(summary, run_again(sys.argv)):
        _say(command)
    return summary


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
    *,
    jobs: str = "conversations x modes",
    known: KnownPrices | None = None,
) -> None:
    """Counts on stdout: a table that is also easy to cut. Prices are asked for unless they are given as `known`. `jobs`
    says what is counted."""
    known = known or known_prices(settings)
    for note in estimate.notes:
        _say(printable(note))
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
    cost = estimate.price(known.prices, settings.max_tokens)
    if settings.free or not estimate.calls:
        return
    if cost is None:
        for reason in known.unasked:
            typer.echo(f"No list of prices was asked for. {printable(reason)}")
        typer.echo(f"Cost: unknown for want of prices; {options_for_prices(known.prices)} give them.")
    else:
        typer.echo(
            f"Cost: about {usd(cost[0])}, {usd(cost[1])} with every reply at its limit ({known.source}); "
            "retries and reasks come on top."
        )


def _say(text: str) -> None:
    typer.echo(text, err=True)
