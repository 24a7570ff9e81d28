"""Which votes are due on the drafts of result files, and which of them the journal has bought already.

Plans, and keeps no prompt: a file is read again when its turn comes. Asks and writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import TYPE_CHECKING

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.judging import JudgeScale
from attunebench.protocol.plan import with_draft
from attunebench.runner.estimate import Counted
from attunebench.runner.order import order_words, stratified_order
from attunebench.runner.pages import Candidate, Page, Reader
from attunebench.runner.settings import RunSettings
from attunebench.runner.sheets import due_votes

if TYPE_CHECKING:
    from attunebench.journal import Hasher, Journal
    from attunebench.protocol.calls import Call

_PLACES = 8
"""Places among its judges that a run may have had for one; its calls are known by the place."""


class Desk:
    """What there is to judge: the candidates in the order of a run, read one by one.

    `todo`: those with votes to ask for, or whose judges the file does not name yet; `complete` counts the others.
    `rescaled`: scale → votes of these judges on it, which is not the one they are asked for; `anew`: the calls that put
    votes in their place. `left`: file → why it is left as it is. `without_draft`, `other_turns`: file → its turns
    without a draft, and those that the conversation does not have.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        conversations: Sequence[Conversation],
        settings: RunSettings,
        codebook: Codebook,
    ) -> None:
        self.judges = tuple(judge.model for judge in settings.judges)
        self.todo: list[Candidate] = []
        self.complete = 0
        self.rescaled: Counter[JudgeScale] = Counter()
        self.anew = Counted()
        self.left: dict[str, str] = {}
        self.without_draft: dict[str, tuple[int, ...]] = {}
        self.other_turns: dict[str, tuple[int, ...]] = {}
        self._settings = settings
        self._reader = Reader(conversations, codebook, len(self.judges), settings.scale)
        self._candidates = self._ordered(candidates, conversations)

    def survey(self, seen: Callable[[Sequence[Call]], None]) -> None:
        """See what is to do; `seen` is handed the votes that are due on each file."""
        for candidate in self._candidates:
            page = self.page(candidate)
            if page is None:
                continue
            for noted, turns in ((self.without_draft, page.without_draft), (self.other_turns, page.other_turns)):
                if turns:
                    noted[candidate.name] = turns
            due = self.due(page)
            self._compare_scales(page)
            if due or not set(self.judges) <= set(page.sheet.judges):
                self.todo.append(candidate)
                seen(due)
            else:
                self.complete += 1

    def _compare_scales(self, page: Page) -> None:
        asked = {(self.judges[call.judge or 0], call.turn): call for call in page.calls}
        for (judge, turn), call in asked.items():
            scale = page.sheet.scale(judge, turn)
            if scale not in (None, self._settings.scale) and turn in page.sheet.drafts:
                self.rescaled[scale] += 1
                self.anew.add([replace(with_draft(call, page.sheet.drafts[turn]), needs=None)])

    def page(self, candidate: Candidate) -> Page | None:
        """The file as it is now, or None (and noted) where it is left as it is."""
        try:
            return self._reader.page(candidate)
        except ValueError as reason:
            self.left[candidate.name] = str(reason)
            return None

    def due(self, page: Page) -> list[Call]:
        """The votes to ask for, with their drafts."""
        settings, sheet = self._settings, page.sheet
        due = due_votes(sheet, page.calls, self.judges, replace=settings.replace, retry=settings.retry_unanswered)
        return [replace(with_draft(call, sheet.drafts[call.turn]), needs=None) for call in due]

    def _ordered(self, candidates: Sequence[Candidate], conversations: Sequence[Conversation]) -> list[Candidate]:
        """All results of one conversation before those of the next; `limit` counts conversations that have results."""
        settings = self._settings
        by_conversation: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            by_conversation.setdefault(candidate.conversation_id, []).append(candidate)
        ordered = [
            conversation.conversation_id for conversation in stratified_order(conversations, settings.order_seed)
        ]
        known = [name for name in ordered if name in by_conversation]
        unknown = [name for name in by_conversation if name not in set(ordered)]
        chosen = known[: settings.limit]
        self.order = order_words(len(chosen), len(known), settings.order_seed)
        return [candidate for name in (*chosen, *unknown) for candidate in by_conversation[name]]


class Bought:
    """Finds votes in the journal. `hashers`: one for each judge.

    A judge's place among the judges is part of its calls' ids, and in the run that asked it may have been another one.
    """

    def __init__(self, journal: Journal | None, hashers: Sequence[Hasher]) -> None:
        self._journal = journal if journal is not None and journal.count() else None
        self._hashers = hashers

    def placed(self, due: Sequence[Call]) -> tuple[list[Call], frozenset[str]]:
        """The calls, each under the id under which its first reply was bought, where it was; and these ids.

        No two calls get the same id.
        """
        taken: dict[str, str] = {}
        if self._journal is not None:
            for call in due:
                names = [name for name in islice(_names(call), _PLACES) if name not in taken.values()]
                if (bought := next(filter(lambda name: self._has(call, name), names), None)) is not None:
                    taken[call.id] = bought
        free = frozenset(taken.values())
        for call in due:
            if call.id not in taken:
                taken[call.id] = next(name for name in _names(call) if name not in taken.values())
        return [replace(call, id=taken[call.id]) for call in due], free

    def _has(self, call: Call, name: str) -> bool:
        assert self._journal is not None
        hashed = self._hashers[call.judge or 0](replace(call, id=name), call.messages, 0)
        return self._journal.find(hashed.request) is not None


def _names(call: Call) -> Iterator[str]:
    """The call's id, and those that it would have at other places."""
    yield call.id
    turn = call.id.rpartition("/")[0]
    for place in count():
        yield f"{turn}/{place}"
