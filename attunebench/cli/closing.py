"""The closing lines of a run: what to know first, what was made, what it took, what servers did, how to go on.

A summary in, lines out. Unknown is said to be unknown; what there is nothing to say about is left out.
"""

from __future__ import annotations

from attunebench.cli.emitting import first
from attunebench.metrics.rates import ANSWERED_ENOUGH, percent
from attunebench.progress import words
from attunebench.reports.servers import adaptation
from attunebench.runner import RunSettings, RunSummary
from attunebench.text import counted, printable

_STOPPED = {
    "max-cost": "Stopped by --max-cost: the next request could exceed it.",
    "outage": "Stopped by an outage: the server no longer answers.",
    "interrupted": "Interrupted: finished work is kept.",
    "cancelled": "Stopped: a batch was cancelled, so no further requests were sent.",
}

_ENDED = {
    "refused": "refused",
    "truncated": "truncated at --max-tokens",
    "incomplete": "answered in part",
    "unreadable": "without a usable answer",
}


def closing_lines(summary: RunSummary, settings: RunSettings, made: str = "") -> list[str]:
    """The lines in the order in which they matter; `going_on` comes after them. `made`: what was written, unless that
    is result files, beside which skipped conversations are listed."""
    skipped = [f"  skipped {printable(name)}: {words.reason(why)}" for name, why in summary.skipped.items()]
    more = " more." if made else " more, in the _skipped file there."
    done = _made(summary, made or counted(summary.written, "result"))
    tried = summary.written or summary.skipped or summary.unreached or summary.calls or summary.unanswered
    if made and not (tried or summary.votes_owed or summary.stopped):
        done = [
            f"Nothing was pending in {printable(str(summary.output))}, {summary.complete_before:,} complete before."
        ]
    lines = [*_first(summary), *done, *first(skipped, more)]
    if not settings.free:
        lines += [*_taken(summary), *_cost(summary), *_servers(summary)]
    ended = [f"{summary.unanswered[how]:,} {said}" for how, said in _ENDED.items() if how in summary.unanswered]
    if ended:
        lines.append(f"Calls without a complete answer: {', '.join(ended)}.")
    if summary.votes_owed:
        lines.append(f"{counted(summary.votes_owed, 'judge vote')} pending; rerun the same command to request them.")
    return lines


def going_on(summary: RunSummary, again: str) -> str:
    """The line with the command that goes on with what is left, which is `again`; "" where nothing is."""
    if not (_stopped(summary) or summary.skipped or summary.unreached):
        return ""
    more = ""
    if summary.stopped == "max-cost":
        # What this start has spent does not count towards the next one's limit.
        more = " (each run has its own --max-cost limit)" if summary.calls else " (raise --max-cost)"
    # Only white space as it was typed makes the same command; what could steer a terminal goes all the same.
    return f"Resume{more} with: {again if again.isprintable() else printable(again, 2000)}"


def _first(summary: RunSummary) -> list[str]:
    """What changes how everything below is read."""
    lines = []
    rate = summary.answered_rate
    if rate is not None and rate < ANSWERED_ENOUGH:
        refused = summary.unanswered["refused"]
        if refused and not summary.answered_items and set(summary.unanswered) == {"refused"}:
            lines.append(f"Attention: the model refused every call ({refused:,}); all items count as not answered.")
        else:
            why = f" ({counted(refused, 'call')} refused)" if refused else ""
            lines.append(
                f"Attention: only {percent(rate)} of the items were answered{why}; the rest count as not answered."
            )
    if stopped := _stopped(summary):
        sample = f" Done: {printable(summary.sample)}." if summary.sample else ""
        unheard = stopped == "outage" and not summary.calls
        check = " Check address and key with `attune-bench doctor`." if unheard else ""
        lines.append(_STOPPED[stopped] + check + sample)
    return lines


def _stopped(summary: RunSummary) -> str:
    return summary.stopped


def _made(summary: RunSummary, made: str) -> list[str]:
    parts = [
        f"{made} written to {printable(str(summary.output))}",
        f"{summary.complete_before} complete before",
        f"{len(summary.skipped)} skipped",
    ]
    if summary.unreached:
        parts.append(f"{summary.unreached} not reached")
    lines = [f"{', '.join(parts)}; {words.duration(summary.seconds)}."]
    if summary.shard:
        there, whole = summary.whole
        lines.append(f"Shard {summary.shard}; all shards together: {there:,} of {counted(whole, 'result')} written.")
    return lines


def _taken(summary: RunSummary) -> list[str]:
    """Calls and tokens, and what came out of the journal."""
    spending = summary.spending
    again = ((summary.retries, "retry", "retries"), (summary.reasks, "re-prompt", "re-prompts"))
    parts = [counted(summary.calls, "call") + " answered", *(counted(*each) for each in again if each[0])]
    parts += words.tokens(spending.usage)
    lines = [f"{', '.join(parts)}."] if summary.calls else []
    if replayed := spending.replayed:
        count = counted(replayed, "reply", "replies")
        lines.append(f"{count} came from the journal: paid for by an earlier run, not counted here.")
    return lines


def _cost(summary: RunSummary) -> list[str]:
    """What it took, by who took it. A sum that lacks something is said to."""
    spending = summary.spending
    so_far = words.cost(spending)
    parts = words.split(spending)
    lines = []
    if so_far == words.UNKNOWN:
        judge = "" if spending.model.unpriced else "judge-"
        so_far = f"unknown (the server reports none; set --{judge}price-in and --{judge}price-out)"
    if so_far:
        lines.append(f"Cost: {so_far}" + (f", of which {', '.join(parts)}" if parts else "") + ".")
    if spending.lost:
        lost = counted(spending.lost, "request")
        lines.append(f"{lost} got no usable reply; the provider may still bill them.")
    return lines


def _servers(summary: RunSummary) -> list[str]:
    """What servers did not take as asked, and who answered where that is not simply the model that was asked."""
    lines = [
        f"{clause[0].upper()}{clause[1:]}."
        for parameter, how in summary.adapted.items()
        if (clause := printable(adaptation(parameter, how)))
    ]
    for model, names in summary.served.items():
        lines.append(f"Attention: calls to {printable(model)} were answered by {', '.join(map(printable, names))}.")
    return lines
