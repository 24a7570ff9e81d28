"""What a run would send, and what that costs: by the user's prices, else by what providers list. Prompts are counted
from the plan, replies are guessed by their kind; retries and re-prompts come on top."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from attunebench import eventloop
from attunebench.backends import open_backend
from attunebench.backends.base import Backend
from attunebench.backends.prices import Prices, usd
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import ConfigurationError, UsageError
from attunebench.protocol.calls import ALL_KINDS, Call, Kind
from attunebench.runner.fingerprint import settled
from attunebench.runner.settings import RunSettings
from attunebench.runner.work import BENCHMARK, ConversationWork, Task, Work

FREE = Prices(0.0, 0.0)
CHARACTERS_PER_TOKEN = 4  # a rule of thumb for English text; tokenizers differ by some 20 %
WORST = 2.0  # times the estimated tokens of a prompt: tokenizers differ, and servers count the answer schema too
_LONGEST_DRAFT = 1200  # characters that a draft adds to a judge's prompt: a long one, so as not to understate
EXPECTED_REPLY: dict[Kind, int] = {
    "draft": 200, "judge": 150, "review": 330, "binary_hp": 290, "pairwise": 90, "post": 300, "profile": 180,
    "respond": 200, "verdict": 180,
}  # fmt: skip
"""Tokens of a usual reply: a paragraph for a draft, about seven tokens for an answer. Models that think before they
answer take more, often several times as much."""
EXPECTED_REASONS = 250  # tokens more where reasons are asked for


@dataclass(frozen=True, slots=True)
class KnownPrices:
    """Prices of the evaluated model, then of the judges; their `source`, and why lists were not asked (`unasked`)."""

    prices: Sequence[Prices | None] = ()
    source: str = ""
    unasked: Sequence[str] = ()


def known_prices(settings: RunSettings) -> KnownPrices:
    """The prices for an estimate of a run; a provider that cannot be asked has none. Raises UsageError where a run
    would."""
    reasons, backends = dict[str, None](), dict[int, Backend]()
    for who, model in settings.models.items():
        try:
            backends[who] = open_backend(model)
        except ConfigurationError as error:  # noqa: PERF203
            reasons[str(error)] = None
    known = eventloop.run(prices_of(settings, backends))
    return replace(known, unasked=tuple(reasons) if None in known.prices else ())


async def prices_of(settings: RunSettings, backends: Mapping[int, Backend]) -> KnownPrices:
    """The prices at these backends, by `who`; a model without one has none but what the options give. Raises UsageError
    where an option lacks its other half."""

    async def price(who: int) -> tuple[Prices | None, str]:
        if who not in settings.models or settings.models[who].provider == "baseline":
            return FREE, ""
        given, source = prices_for(settings, None, judge=who > 0)
        if given is None and who in backends:
            return prices_for(settings, await backends[who].prices(), judge=who > 0)
        return given, source

    found = await asyncio.gather(*map(price, range(1 + len(settings.judges))))
    sources = dict.fromkeys(source for _, source in found if source)
    return KnownPrices([prices for prices, _ in found], "; ".join(sources))


def prices_for(settings: RunSettings, listed: Prices | None, *, judge: bool) -> tuple[Prices | None, str]:
    """The prices of the evaluated model, or of the judges, and where they come from: what the user gives, else what is
    `listed`. Raises UsageError where only one of the two is given."""
    name = "judge_price" if judge else "price"
    option, into, out = f"--{name.replace('_', '-')}", getattr(settings, f"{name}_in"), getattr(settings, f"{name}_out")
    if into is None and out is None:
        return listed, "the provider's list" if listed is not None else ""
    if into is None or out is None:
        given, lacking = ("out", "in") if into is None else ("in", "out")
        raise UsageError(f"{option}-{given} without {option}-{lacking}: give both, in USD for a million tokens.")
    return Prices(into / 1e6, out / 1e6), f"{option}-in and {option}-out"


def check_bound(settings: RunSettings, prices: Sequence[Prices | None]) -> None:
    """Raises ConfigurationError where --max-cost has no prices to go by."""
    if settings.max_cost is not None and (lacking := options_for_prices(prices)):
        raise ConfigurationError(
            "--max-cost needs prices, and the provider lists none under this name (is it right?): "
            f"give {lacking} in USD for a million tokens."
        )


def options_for_prices(prices: Sequence[Prices | None]) -> str:
    """The options that would give the prices that are not known, "" for none."""
    lacking = ["--price-in and --price-out"] if prices[0] is None else []
    if None in prices[1:]:
        lacking.append("--judge-price-in and --judge-price-out")
    return " and ".join(lacking)


class KindEstimate(NamedTuple):
    """The calls of one kind that are still to make. Tokens are estimated from characters."""

    kind: Kind
    calls: int
    characters: int
    reply_tokens: int

    @property
    def tokens(self) -> int:
        return round(self.characters / CHARACTERS_PER_TOKEN)


@dataclass(slots=True)
class Estimate:
    """Planned calls, added up by whom they go to and kind. `jobs` are to do, `complete` have their result; `notes`:
    what the results folder has decided where the settings leave something open."""

    jobs: int = 0
    complete: int = 0
    notes: Sequence[str] = ()
    _sums: dict[tuple[int, Kind], list[int]] = field(default_factory=dict, init=False)

    def add(self, calls: Iterable[Call]) -> None:
        for call in calls:
            sums = self._sums.setdefault((call.who, call.kind), [0, 0, 0])
            sums[0] += 1
            sums[1] += call.prompt_characters + (_LONGEST_DRAFT if call.slot is not None else 0)
            sums[2] += EXPECTED_REPLY[call.kind] + (EXPECTED_REASONS if call.asked.verbose else 0)

    @property
    def calls(self) -> int:
        return sum(each.calls for each in self.kinds)

    @property
    def prompt_tokens(self) -> int:
        return round(sum(each.characters for each in self.kinds) / CHARACTERS_PER_TOKEN)

    @property
    def kinds(self) -> tuple[KindEstimate, ...]:
        by_kind = [(kind, [sums for (_, of), sums in self._sums.items() if of == kind]) for kind in ALL_KINDS]
        return tuple(KindEstimate(kind, *map(sum, zip(*rows, strict=True))) for kind, rows in by_kind if rows)

    def price(self, prices: Sequence[Prices | None], max_tokens: int) -> tuple[float, float] | None:
        """USD expected, and with every reply at the limit; None where a price is unknown."""
        expected = worst = 0.0
        for (who, _), (calls, characters, replies) in self._sums.items():
            known = prices[who] if who < len(prices) else None
            if known is None:
                return None
            prompts = characters / CHARACTERS_PER_TOKEN * known.prompt + calls * known.request
            expected += prompts + min(replies, calls * max_tokens) * known.completion
            worst += prompts * WORST + calls * max_tokens * known.completion
        return expected, worst

    def in_words(self, prices: Sequence[Prices | None] = (), max_tokens: int = 0) -> str:
        """ "40 calls would be new (40 judge): about 61,000 prompt tokens, about $0.12 …", "" for none."""
        if not self.calls:
            return ""
        kinds = ", ".join(f"{each.calls:,} {each.kind}" for each in self.kinds)
        known = self.price(prices, max_tokens)
        cost = "cost unknown (no prices)" if known is None else f"about {usd(known[0])}, {usd(known[1])} at worst"
        new = f"{self.calls:,} {'call' if self.calls == 1 else 'calls'} would be new ({kinds})"
        return f"{new}: about {self.prompt_tokens:,} prompt tokens, {cost}."


def estimate_run(
    conversations: Sequence[Conversation], settings: RunSettings, codebook: Codebook, task: Task = BENCHMARK
) -> Estimate:
    """The calls of a run (or its shard) that are not complete in its output folder, those in its journal included.
    Raises what the run would raise before it sends anything."""
    notes: list[str] = []
    work = ConversationWork(conversations, settled(settings, notes.append), codebook, task)
    work.look()
    return estimate_work(work, notes)


def estimate_work(work: Work, notes: Sequence[str]) -> Estimate:
    estimate, refused = Estimate(notes=notes), Estimate()
    for calls, allowed in work.survey():
        (estimate if allowed else refused).add(calls)
    work.check(refused.in_words())
    estimate.jobs, estimate.complete = len(work.todos), work.complete
    return estimate
