"""A tally in words: the fragments that both displays and the closing lines are put together from. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attunebench.backends.prices import usd
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.progress.tally import Pause, Tally
    from attunebench.protocol.calls import Usage
    from attunebench.runner import RunPlan, RunSettings
    from attunebench.runner.budget import Budget

LONGEST_REASON = 160
"""Characters of a server's words that are shown."""
UNKNOWN = "cost unknown"
_SHARE_WORTH_TELLING = 0.005


def duration(seconds: float) -> str:
    """ "45 s", "12 min", "1 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def amount(tokens: int) -> str:
    """ "812", "12.4k", "1.24M"."""
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.1f}k" if tokens < 999_950 else f"{tokens / 1_000_000:.2f}M"


def rate(per_second: float) -> str:
    """ "3.2 calls/s", "12 calls/min"."""
    if per_second >= 1:
        return f"{per_second:,.0f} calls/s" if per_second >= 100 else f"{per_second:.1f} calls/s"
    return f"{per_second * 60:.0f} calls/min"


def tokens(usage: Usage) -> list[str]:
    """Prompt and completion tokens with the shares that were cached or spent on reasoning, as far as they are known."""
    parts = []
    for count, part, direction, what in (
        (usage.prompt_tokens, usage.cached_tokens, "in", "cached"),
        (usage.completion_tokens, usage.reasoning_tokens, "out", "reasoning"),
    ):
        if count:
            share = f" ({part / count:.0%} {what})" if part and part / count >= _SHARE_WORTH_TELLING else ""
            parts.append(f"{amount(count)} tokens {direction}{share}")
    return parts


def cost(spending: Budget) -> str:
    """The cost so far: "$1.23", "at least $1.23 (12 replies of unknown cost)", `UNKNOWN`; "" before a reply."""
    shares = (spending.model, spending.judges)
    known, unpriced = sum(share.cost for share in shares), sum(share.unpriced for share in shares)
    if spending.cost is not None:
        return usd(spending.cost)
    if not unpriced:
        return ""
    return f"at least {usd(known)} ({counted(unpriced, 'reply', 'replies')} of unknown cost)" if known else UNKNOWN


def split(spending: Budget) -> list[str]:
    """Who and what took the money, where there is more than one thing to say; tokens for waste of unknown cost."""
    shares = (("model", spending.model), ("judges", spending.judges))
    parts = []
    if all(share.replies for _, share in shares) and any(share.total is not None for _, share in shares):
        parts = [f"{who} {'unknown' if share.total is None else usd(share.total)}" for who, share in shares]
    if wasted := waste(spending):
        parts.append(f"wasted {wasted}")
    return parts


def waste(spending: Budget) -> str:
    """What replies took that had to be asked for again: "$0.02", "12.4k tokens", or "" for nothing."""
    share = spending.wasted
    if share.total:
        return usd(share.total)
    burnt = (share.usage.prompt_tokens or 0) + (share.usage.completion_tokens or 0)
    return f"{amount(burnt)} tokens" if share.unpriced and burnt else ""


def money(tally: Tally) -> str:
    """The cost so far and as it will be, and the limit."""
    if tally.plan is None or tally.settings.free:
        return ""
    so_far, projected, limit = cost(tally.plan.spending), tally.projected, tally.settings.max_cost
    if not so_far:
        return ""
    parts = [so_far] + ([f"of about {usd(projected)}"] if projected is not None else [])
    return " ".join(parts) + (f" (limit {usd(limit)})" if limit is not None else "")


def troubles(tally: Tally) -> list[str]:
    """Retries, re-prompts and skipped conversations, as far as there are any, and the reason of the last retry."""
    words = (("retry", "retries"), ("re-prompt", "re-prompts"), ("skipped", "skipped"))
    counts = (tally.retries, tally.reasks, tally.skips)
    last = [f"last: {reason(tally.last_reason)}"] if tally.last_reason else []
    return [counted(count, *word) for count, word in zip(counts, words, strict=True) if count] + last


def done(tally: Tally) -> list[str]:
    """How far the run is, and how fast."""
    assert tally.plan is not None
    speed = [rate(tally.rate)] if tally.rate else []
    results = f"{tally.results:,}/{tally.plan.jobs - tally.plan.complete:,} results"
    return [f"{tally.calls:,}/{tally.planned:,} calls", results, *speed, *pace(tally)]


def taken(tally: Tally) -> list[str]:
    """Tokens and money, as far as they are known."""
    assert tally.plan is not None
    spending, so_far = tally.plan.spending, money(tally)
    return [*tokens(spending.usage), *([so_far] if so_far else ()), *split(spending)]


def pace(tally: Tally) -> list[str]:
    """How many calls may be under way at once: to the evaluated model, and to judges that are held back."""
    em = printable(tally.settings.em.model)
    ceiling = tally.settings.concurrency
    limit, ceiling = tally.limits.get(tally.settings.em.model, (ceiling, ceiling))
    parts = [f"{limit} of {ceiling} at once"] if limit < ceiling else [f"{ceiling} at once"]
    for model, (limit, ceiling) in tally.limits.items():
        if limit < ceiling and printable(model) != em:
            parts.append(f"{printable(model, 40)}: {limit} of {ceiling}")
    return parts


def states(tally: Tally) -> list[str]:
    """What the run is waiting for or about to do, most pressing first; most of the time there is nothing."""
    now = tally.clock()
    return [*([stopping(tally)] if tally.stop else ()), *(waiting(pause, now) for pause in tally.pauses_now())]


def waiting(pause: Pause, now: float) -> str:
    """For whom nothing is sent, for how long and why."""
    return f"waiting {duration(math.ceil(pause.until - now))} for {printable(pause.model, 60)}: {reason(pause.reason)}"


def stopping(tally: Tally) -> str:
    """What an interruption does, and how long that may take."""
    stop = tally.stop
    if stop is None:
        return ""
    if not stop.grace:
        return "Exiting now; every finished call is kept."
    under_way = max(0, stop.under_way - (tally.calls - stop.answered))
    seconds = max(0.0, stop.until - tally.clock())
    if not under_way:
        return "Stopping: no new calls."
    are = "call in flight has" if under_way == 1 else "calls in flight have"
    return f"Stopping: no new calls; {under_way} {are} {seconds:.0f} s to finish. Ctrl-C again exits now."


def reason(text: str) -> str:
    """A server's words, harmless, short and without a final stop."""
    return printable(text, LONGEST_REASON).rstrip(".")


def opening(plan: RunPlan, settings: RunSettings) -> list[str]:
    """What is about to be done and what it is expected to take, before anything is sent."""
    lines = [printable(plan.headline) if plan.headline else _of_a_run(plan, settings)]
    if plan.journalled:
        lines.append(f"{plan.journalled:,} of the calls have an answer in the journal and are not sent again.")
    if expected := _expected(plan):
        lines.append(expected)
    return [*lines, *map(printable, plan.notes)]


def _of_a_run(plan: RunPlan, settings: RunSettings) -> str:
    em = settings.em
    judges = ", ".join(printable(judge.model) for judge in settings.judges)
    return (
        f"{printable(em.model)} ({em.provider}), {', '.join(settings.modes)}: "
        f"{counted(plan.jobs - plan.complete, 'result')} pending ({plan.order}), {plan.complete} complete, "
        f"{counted(plan.calls, 'call')}"
        + (f", judged by {judges}" if judges else "")
        + f", into {printable(str(settings.output))}"
    )


def _expected(plan: RunPlan) -> str:
    if plan.prompt_tokens is None:
        return ""
    about = f"About {amount(plan.prompt_tokens)} prompt tokens"
    if plan.price is None:
        return f"{about}; {UNKNOWN}."
    likely, worst = plan.price
    source = f" ({printable(plan.price_source)})" if plan.price_source else ""
    return f"{about}, about {usd(likely)} in all and {usd(worst)} at worst{source}."
