"""`attune-bench selftest`: prove on this machine that faults and kills cost no answer, no score, no second payment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import comma_list
from attunebench.cli.emitting import first
from attunebench.cli.options import flag
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attunebench.selftest.scenarios import Trial


def selftest(
    seed: Annotated[int, flag("Seed that assigns faults to calls.", min=0)] = 0,
    only: Annotated[list[str] | None, flag("Only these scenarios; repeat or use commas.", metavar="SCENARIO")] = None,
) -> None:
    """Test runs with rate limits, truncated and invalid replies, an empty account and kill -9, and verify that no
    result changes.

    A local server stands in for the model: nothing leaves this machine and nothing is paid. Takes about a minute.
    Exit status 1 if a check fails.
    """
    from attunebench.selftest.checks import COMPARED
    from attunebench.selftest.plans import SCENARIOS
    from attunebench.selftest.scenarios import selftest as begun

    names = comma_list(only) or list(SCENARIOS)
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise UsageError(f"There is no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}.")
    with begun() as (proof, place):
        typer.echo(
            f"Each scenario runs {proof.size} (and a judge's votes), seed {seed}, against a local server, and is "
            f"compared with an undisturbed run: {', '.join(COMPARED)}, and every number of `score` to 1e-12.\n"
        )
        proven = 0
        for each in proof.run([(SCENARIOS[name], seed) for name in names]):
            typer.echo("\n".join(_lines(each)))
            proven += not each.problems
    typer.echo(f"\n{proven} of {len(names)} passed.")
    if proof.failed:
        typer.echo(f"Results, journals and scores of failed scenarios are in {place}.")
        raise typer.Exit(1)


def _lines(trial: Trial) -> Iterator[str]:
    """What was done in a scenario, and what it proves; shown when it is over, for all of them take a minute."""
    scenario = trial.scenario
    requests = f"{trial.requests}" if scenario.counted else f"{trial.calls}+"
    counts = f"{requests} requests, {trial.faults} faults, {scenario.kills} kills, {trial.seconds:.1f} s"
    yield f"{'FAILED' if trial.problems else 'passed':<7}{scenario.name}: {scenario.done} ({counts})"
    if trial.problems:
        yield from (f"  {problem}" for problem in first(trial.problems))
    else:
        yield f"{'':11}{f'{len(trial.unanswered)} calls: ' if trial.unanswered else ''}{scenario.proves}"
