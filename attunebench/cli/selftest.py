"""`attune-bench selftest`: prove on this machine that faults and kills cost no answer, no score, no second payment."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import comma_list
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from attunebench.selftest.scenarios import Trial

_SHOWN = 5
_WIDEST, _UNSEEN = 160, 120
"""Columns of the table: at most, and where there is no terminal."""


def selftest(
    seed: Annotated[int, typer.Option(min=0, help="Decides which call meets which fault; the same faults again.")] = 0,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="SCENARIO", help="Only these scenarios; several by commas or repeated."),
    ] = None,
) -> None:
    """Take real runs through rate limits, cut bodies, nonsense, an empty account and kill -9, and prove that nothing
    comes of it.

    A server on this machine answers for the model: nothing leaves the machine and nothing is paid. Takes about a
    minute. Exit status 1 where something is not proven.
    """
    from attunebench.selftest.checks import COMPARED
    from attunebench.selftest.plans import SCENARIOS
    from attunebench.selftest.scenarios import selftest as begun

    names = comma_list(only) or list(SCENARIOS)
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise UsageError(f"There is no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}.")
    console = _console()
    with begun() as (proof, place):
        console.print(
            f"Each time {proof.size} (and a judge's votes), seed {seed}, against a server on this machine. Compared "
            f"with an undisturbed run: {', '.join(COMPARED)}, and every number of `score` to 1e-12.\n"
        )
        row = _rows(console)
        proven = 0
        for each in proof.run([(SCENARIOS[name], seed) for name in names]):
            row(each)
            proven += not each.problems
    console.print(f"\n{proven} of {len(names)} proven.")
    if proof.failed:
        console.print(f"The results, journals and scores of what failed are kept in {place}.")
        raise typer.Exit(1)


def _console() -> Console:
    from rich.console import Console

    seen = sys.stdout.isatty()
    width = min(_WIDEST, shutil.get_terminal_size((_UNSEEN, 24)).columns) if seen else _UNSEEN
    return Console(width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def _rows(console: Console) -> Callable[[Trial], None]:
    """Prints the table's head, and gives what prints a row: one after the other, for the whole takes a minute."""
    from rich.table import Table

    def line(*cells: str, style: str = "") -> None:
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(width=11)
        table.add_column(ratio=4)
        for width in (8, 6, 5):
            table.add_column(width=width, justify="right")
        table.add_column(ratio=5)
        table.add_column(width=6, justify="right")
        table.add_row(*cells, style=style)
        console.print(table)

    def row(proven: Trial) -> None:
        scenario = proven.scenario
        requests = f"{proven.requests}" if scenario.counted else f"{proven.calls}+"
        holds = f"{len(proven.unanswered)} calls: {scenario.proves}" if proven.unanswered else scenario.proves
        cells = (scenario.name, scenario.done, requests, str(proven.faults), str(scenario.kills))
        if proven.problems:
            line(*cells, "NOT PROVEN", f"{proven.seconds:.1f} s", style="bold red")
            for problem in proven.problems[:_SHOWN]:
                console.print(f"  {problem}")
            if (more := len(proven.problems) - _SHOWN) > 0:
                console.print(f"  … and {more} more")
        else:
            line(*cells, holds, f"{proven.seconds:.1f} s")

    line("scenario", "what is done to it", "requests", "faults", "kills", "proven", "took", style="bold")
    return row
