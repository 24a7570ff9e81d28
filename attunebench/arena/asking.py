"""Asks for what an arena lacks: a model's replies to its histories, and judges' verdicts on its pairs.

Both are work for the one engine of a run, with its journal, budget, retries and re-prompts; see `work`."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from attunebench import eventloop
from attunebench.arena.objects import History, Pair, Reply, Side, Verdict, family_of
from attunebench.arena.work import ArenaWork, Key, Planned
from attunebench.codebook import default_codebook
from attunebench.errors import DataError, UsageError
from attunebench.judging import UNNAMED_SCALE
from attunebench.protocol.arena import (
    REPLY_TEMPLATES,
    VERDICT_TEMPLATES,
    Order,
    Shown,
    Told,
    normalised,
    plan_reply,
    plan_verdict,
)
from attunebench.protocol.calls import PREFERENCES, Record
from attunebench.runner.clients import RunExecutor
from attunebench.runner.events import Observer, RunSummary
from attunebench.runner.live import Live
from attunebench.runner.rejudge import rejudge_settings
from attunebench.runner.run import Run
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.text import counted, levelled, listed

Executor = Callable[[RunSettings, Observer], RunExecutor]
_ELLIPSIS = re.compile(r"\.{3,}|…")
_WORD = re.compile(r"\w+(?:'\w+)*")
ORDERS: tuple[Order, Order] = ("left", "right")


def ask_replies(folder: Path, settings: RunSettings, *, author: str = "", **how: Any) -> RunSummary:
    """Have `settings.em` reply to every history of the arena as `author`, by default under the model's name.

    `how`: of `ask_work`. Finished work is skipped. Raises UsageError, DataError (no arena; replies from elsewhere or
    made otherwise) and ConfigurationError."""
    return ask_work(ReplyWork(folder, settings, author), **how)


def ask_verdicts(
    folder: Path, settings: RunSettings, *, orders: int = 2, own_family: bool = False, **how: Any
) -> RunSummary:
    """Have the judges of `verdict_settings` compare the replies of every pair, in both orders or in one that is drawn.

    A judge is not asked about replies of its own family, unless `own_family`. Otherwise as `ask_replies`."""
    return ask_work(VerdictWork(folder, settings, orders=orders, own_family=own_family), **how)


def ask_work(
    work: ArenaWork, *, observer: Observer | None = None, interruptible: bool = False, by: Executor | None = None
) -> RunSummary:
    """Do what there is to do, live or `by` another executor, `batches.executor.BatchExecutor` say."""
    observer, settings = observer or Observer(), work.settings
    executor = (by or partial(Live, interruptible=interruptible))(settings, observer)
    return eventloop.run(Run(work, settings, default_codebook(), observer).by(executor), owner=settings.em.client)


def verdict_settings(folder: Path, judges: Sequence[ModelSettings], **values: Any) -> RunSettings:
    """The settings of `ask_verdicts`; `values` are those of `RunSettings`. Raises as `rejudge_settings`."""
    return rejudge_settings(folder, judges, judge_scale=UNNAMED_SCALE, **values)


class ReplyWork(ArenaWork):
    """The replies of `settings.em`, as `author`. Raises UsageError where that one has replies from elsewhere."""

    kind, part, templates = Reply, "replies", REPLY_TEMPLATES

    def __init__(self, folder: Path, settings: RunSettings, author: str = "") -> None:
        if settings.judges:
            raise UsageError("Replies are requested without judges; `attune-bench arena judge` compares them later.")
        self._author = author or settings.em.model
        if len(self._author) > 500:
            raise UsageError("The name of an author has at most 500 characters; shorten --author.")
        super().__init__(folder, settings, {self._author: settings.em})
        self._unanswered: dict[str, str] = {}
        elsewhere = [name for name, author in self.arena.replies if author == self._author]
        if foreign := [name for name in elsewhere if (name, self._author) not in self.there[self._author]]:
            raise UsageError(
                f"{folder} has {counted(len(foreign), 'reply', 'replies')} of {self._author} from another source; give "
                "the new ones another name."
            )

    def keys(self) -> Iterator[Key]:
        return ((name, "reply") for name in self.histories)

    def plan(self, key: Key) -> list[Planned]:
        return [Planned(self._author, (key[0], self._author), plan_reply(key[0], _told(self.histories[key[0]])))]

    def key(self, line: Reply) -> Key:
        return line.history, line.author

    def line(self, planned: Planned, record: Record, made: Mapping[str, Any]) -> Reply | None:
        history, model = planned.key[0], self.settings.em
        text = record.answer.values.get("drafted_response")
        if text is None:
            self._unanswered[history] = record.answer.outcome
            return None
        family = family_of(model.provider, model.model)
        return Reply(history=history, author=self._author, kind="model", family=family, text=text, **made)

    def noted(self, name: str, lines: Iterable[Any]) -> dict[str, Any]:
        return {"unanswered": dict(sorted(self._unanswered.items()))}


class VerdictWork(ArenaWork):
    """The verdicts of `settings.judges`. Raises UsageError without a judge, DataError without a pair."""

    kind, part, templates = Verdict, "verdicts", VERDICT_TEMPLATES

    def __init__(
        self,
        folder: Path,
        settings: RunSettings,
        *,
        orders: int = 2,
        own_family: bool = False,
        only: Set[str] | None = None,
    ) -> None:
        if not settings.judges or orders not in (1, 2):
            raise UsageError("Name at least one judge." if orders in (1, 2) else "A pair is shown in 1 or 2 orders.")
        super().__init__(folder, settings, {judge.model: judge for judge in settings.judges}, only)
        pairs, replies = self.arena.pairs.values(), self.arena.replies
        if not pairs:
            raise DataError(f"There are no pairs in {folder}; `attune-bench arena pairs {folder}` makes them.")
        self._orders, self._own_family = orders, own_family
        self._pairs = {pair.id: pair for pair in pairs if pair.history in self.histories}
        shown = {each for pair in self._pairs.values() for each in _replies_of(pair)}
        self._texts = {each: normalised(replies[each].text, (each[1],)) for each in shown}
        self._families = {
            name: None if judge.provider == "baseline" else family_of(judge.provider, judge.model)
            for name, judge in self.models.items()
        }
        self.notes = [*self._notes()]

    def keys(self) -> Iterator[Key]:
        of = defaultdict[str, list[str]](list)
        for pair in self._pairs.values():
            of[pair.history].append(pair.id)
        return ((pair, "verdict") for history in self.histories for pair in of[history])

    def plan(self, key: Key) -> list[Planned]:
        pair, planned = self._pairs[key[0]], list[Planned]()
        changes = dict(zip(ORDERS, (self._texts[each][1] for each in _replies_of(pair)), strict=True))
        extra = {"normalised": told} if (told := {side: each for side, each in changes.items() if each}) else {}
        drawn = hashlib.sha256(pair.id.encode("utf-8", "surrogatepass")).digest()[0] % 2
        for order in ORDERS if self._orders == 2 else (ORDERS[drawn],):
            shown = self._shown(pair, order)
            asked = plan_verdict(pair.history, pair.id, order, shown, 0)
            for place, name in enumerate(self.models):
                if self._own_family or not self._is_own(name, pair):
                    call = replace(asked, id=f"{asked.identity}/{place}", judge=place)
                    planned.append(Planned(name, (pair.id, name, order), call, shown, extra))
        return planned

    def key(self, line: Verdict) -> Key:
        return line.pair, line.rater, line.order

    def line(self, planned: Planned, record: Record, made: Mapping[str, Any]) -> Verdict:
        (pair, rater, order), values = planned.key, record.answer.values
        preference, evidence = values.get("preference"), values.get("evidence", "")
        sides: dict[str, Side] = {"1": "left", "2": "right"} if order == "left" else {"1": "right", "2": "left"}
        return Verdict(
            pair=pair,
            rater=rater,
            rater_kind="judge",
            order="left" if order == "left" else "right",
            preference=None if preference is None else PREFERENCES[preference] * (1 if order == "left" else -1),
            dimensions={name: sides.get(side, "same") for name, side in values.get("dimensions", {}).items()},
            decided_by=values.get("decided_by"),
            evidence=evidence,
            evidence_found=is_quoted(evidence, self.histories[self._pairs[pair].history]) if evidence else None,
            rationale=values.get("rationale", ""),
            outcome=record.answer.outcome,
            **made,
        )

    def noted(self, name: str, lines: Iterable[Any]) -> dict[str, Any]:
        checked = Counter(line.evidence_found for line in lines if line.evidence_found is not None)
        return {
            "orders": self._orders,
            "own_family": self._own_family,
            "outcomes": dict(Counter(line.outcome for line in lines)),
            "evidence": {"found": checked[True], "checked": checked.total()},
        }

    def _shown(self, pair: Pair, order: Order) -> Shown:
        first, second = _replies_of(pair) if order == "left" else reversed(_replies_of(pair))
        (one, _), (other, _), of = self._texts[first], self._texts[second], self.arena.replies
        return Shown(_told(self.histories[pair.history]), one, other, of[first].kind, of[second].kind)

    def _is_own(self, judge: str, pair: Pair) -> bool:
        """Whether one of the replies is by the judge itself or its family, as far as that is known."""
        family = (self._families[judge] or "").casefold()
        families = {(self.arena.replies[each].family or "").casefold() for each in _replies_of(pair)}
        itself = judge in (pair.left, pair.right) and self.models[judge].provider != "baseline"
        return itself or (family != "" and family in families)

    def _notes(self) -> Iterator[str]:
        """What is left out, what is unknown, and what judges see changed, each in a sentence."""
        if changed := sum(bool(changes) for _, changes in self._texts.values()):
            yield f"{changed:,} of {len(self._texts):,} replies are shown without markdown, extra white space or names."
        own = {name: sum(self._is_own(name, pair) for pair in self._pairs.values()) for name in self.models}
        for name in filter(own.get, own) if not self._own_family else ():
            yield f"{name} skips {counted(own[name], 'pair')} with a reply of its own family (see --own-family)."
        judges = [name for name, judge in self.models.items() if judge.provider != "baseline"]
        if unknown := [name for name in judges if self._families[name] is None]:
            yield f"The family of these judges is unknown, so they judge every pair: {listed(unknown)}."
        replies = [self.arena.replies[each] for each in self._texts]
        if judges and (authors := {one.author for one in replies if one.kind != "human" and one.family is None}):
            yield f"The family of these authors is unknown, so no judge skips them: {listed(sorted(authors), most=4)}."


def is_quoted(quote: str, history: History) -> bool:
    """Whether the words of a quote, or of each of its parts between ellipses, are in a message of the history."""
    parts = [words for part in _ELLIPSIS.split(quote) if (words := _words(part))]
    messages = [_words(message.text) for message in history.turns]
    return bool(parts) and all(any(part in message for message in messages) for part in parts)


@lru_cache(maxsize=4096)
def _words(text: str) -> str:
    """A text for comparing: its words alone, without case and punctuation."""
    return " ".join(_WORD.findall(levelled(text).casefold()))


def _replies_of(pair: Pair) -> tuple[tuple[str, str], tuple[str, str]]:
    return (pair.history, pair.left), (pair.history, pair.right)


def _told(history: History) -> tuple[Told, ...]:
    return tuple((message.role, message.text) for message in history.turns)
