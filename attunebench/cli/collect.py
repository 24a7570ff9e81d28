"""`attune-bench collect`: answers out of response files, into the journal and result files."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunebench.cli.arguments import FOLDER, CodebookOption, ResultsOption
from attunebench.cli.emitting import say, working
from attunebench.cli.options import flag
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.batches.collecting import Collected
    from attunebench.batches.files import CollectSummary, RequestFiles

_NAMED_AT_MOST = 5


def collect(
    responses: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESPONSES",
            help="Response files, folders of them, or - for stdin; plain or compressed, in any order.",
        ),
    ],
    results: ResultsOption = Path("results"),
    conversations: Annotated[Path | None, flag("Folder of the conversations.", *FOLDER, shown="as in the plan")] = None,
    codebook: CodebookOption = None,
) -> None:
    """Collect the responses to requests that `attune-bench plan` wrote: store them in the journal of the results
    folder and write the results that are complete. Calls no model.

    Files may be partial, truncated or repeated; nothing is counted twice. The exit status is 0 if nothing is left to
    request, otherwise 1.
    """
    from attunebench import api

    with working("Collecting responses …"):
        summary = api.collect(responses, results, conversations=conversations, codebook=codebook)
    for line in _lines(summary, printable(str(results))):
        say(line)
    if summary.problems or not summary.collected.tags:
        raise typer.Exit(2)
    if not summary.done:
        raise typer.Exit(1)


def _lines(summary: CollectSummary, results: str) -> Iterator[str]:
    collected = summary.collected
    attention = [f"Attention: {printable(problem, 2000)}" for problem in summary.problems]
    for path, of_file in summary.files.items():
        yield from _oddities(printable(str(path)), of_file)
    yield from _replies(summary)
    yield from _errors(collected)
    if not collected.tags:
        yield from attention
        if not summary.problems and collected.asking < collected.lines:
            yield f"No line answers a request planned for {results}; is this the right folder?"
        return
    yield f"{counted(summary.written, 'result')} written to {results}, {summary.complete} complete before."
    if gone := sorted(summary.gone):
        named = ", ".join(printable(each, 80) for each in gone[:_NAMED_AT_MOST]) + ", …" * (len(gone) > _NAMED_AT_MOST)
        what = "that are no longer among the conversations"
        yield f"Answers are stored but not used: {counted(len(gone), 'conversation')} {what}: {named}."
    yield from attention
    for left in summary.left:
        yield from _left(left)
    if summary.done and summary.conversations is not None:
        words = ["attune-bench", "score", "--results", results, "--ground-truth", str(summary.conversations)]
        yield f"Nothing is left to request. Next: {printable(shlex.join(words), 2000)}"


def _oddities(path: str, of_file: Collected) -> Iterator[str]:
    """What in a file is no answer to a request of this folder."""
    if of_file.asking:
        what = "contains requests, not responses" if of_file.asking == of_file.lines else "also contains requests"
        yield f"{path} {what} ({counted(of_file.asking, 'line')})."
    if of_file.unreadable:
        what = "; it looks like a web page" if of_file.pages else " (truncated, or no JSON with a custom_id)"
        yield (
            f"{path}: {of_file.unreadable:,} of {counted(of_file.lines, 'line')} cannot be read{what}. Collect these "
            "responses from an intact file first; otherwise their requests are planned, and paid for, again."
        )
    if of_file.foreign:
        yield f"{path}: {counted(of_file.foreign, 'line')} for requests of other folders."


def _replies(summary: CollectSummary) -> Iterator[str]:
    collected = summary.collected
    parts = [f"{collected.kept:,} new"]
    if collected.replaced:
        parts.append(f"{collected.replaced:,} of them in place of an error")
    if collected.known:
        parts.append(f"{collected.known:,} known before")
    yield f"{counted(collected.lines, 'line')} in {counted(len(summary.files), 'file')}; answers: {', '.join(parts)}."
    spent, usage = collected.spent, collected.spent.usage
    known = spent.replies - spent.unpriced
    counts = ((usage.prompt_tokens, "prompt"), (usage.completion_tokens, "completion"))
    told = [f"{count:,} {what} tokens" for count, what in counts if count is not None]
    told += [f"${spent.cost:,.4f}" + (f" for {known:,} of them" if spent.unpriced else "")] if known else []
    if collected.kept and told:
        yield f"The new ones took {', '.join(told)}."


def _errors(collected: Collected) -> Iterator[str]:
    yield from _reasons("cannot be answered and count as not answered", collected.final)
    yield from _reasons("failed; the requests are planned again", collected.later)
    yield from _reasons("failed with an error that you have to fix first", collected.stopped)
    if collected.adapted:
        yield f"{counted(collected.adapted, 'request')} rejected because of a parameter, and planned again without it."


def _reasons(what: str, reasons: Counter[str]) -> Iterator[str]:
    if not reasons:
        return
    yield f"{counted(sum(reasons.values()), 'line')} {what}:"
    # Equal counts in the order of their words: the order of lines shows nowhere.
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    for reason, count in ordered[:_NAMED_AT_MOST]:
        yield f"  {count:,} × {printable(reason)}"
    if rest := ordered[_NAMED_AT_MOST:]:
        yield f"  {sum(count for _, count in rest):,} × {counted(len(rest), 'other reason')}"


def _left(left: RequestFiles) -> Iterator[str]:
    parts = [f"{counted(count, 'request')} to {printable(model)}" for model, count in sorted(left.requests.items())]
    again = f" ({left.again:,} of them once more)" if left.again else ""
    waiting = [f"{counted(left.waiting, 'judge call')} waiting for drafts"] if left.waiting else []
    yield f"Left to request: {', '.join([*parts, *waiting])}{again}."
    if left.requests and left.command:
        yield f"Plan them with: {left.command if left.command.isprintable() else printable(left.command, 2000)}"
