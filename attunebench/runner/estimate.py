"""What a run would send, counted from its plan; nothing is opened, sent or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.protocol.calls import KINDS, Kind
from attunebench.runner.files import ResultFolder
from attunebench.runner.run import choose
from attunebench.runner.settings import RunSettings
from attunebench.runner.work import Planner

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English text; tokenizers differ by some 20 %."""
_LONGEST_DRAFT = 1200
"""Characters that a draft adds to a judge's prompt: a long reply, so that the estimate is no understatement."""


@dataclass(frozen=True, slots=True)
class KindEstimate:
    """The calls of one kind that are still to make. Tokens are estimated from characters."""

    kind: Kind
    calls: int
    characters: int

    @property
    def tokens(self) -> int:
        return round(self.characters / CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Estimate:
    """`complete` counts the (conversation, mode) pairs that have their result, `jobs` those that are to do."""

    jobs: int
    complete: int
    kinds: tuple[KindEstimate, ...]

    @property
    def calls(self) -> int:
        return sum(kind.calls for kind in self.kinds)


def estimate_run(conversations: Sequence[Conversation], settings: RunSettings, codebook: Codebook) -> Estimate:
    """The calls of a run with these settings that are not complete in its output folder, by kind.

    Raises what the run itself would raise before it sends anything.
    """
    planner = Planner(settings, codebook, ResultFolder(settings.output))
    work = planner.survey(choose(conversations, settings))
    counts: dict[Kind, tuple[int, int]] = dict.fromkeys(KINDS, (0, 0))
    for job in planner.jobs(work.todos):
        for call in job.calls:
            calls, characters = counts[call.kind]
            draft = _LONGEST_DRAFT if call.slot is not None else 0
            counts[call.kind] = (calls + 1, characters + call.prompt_characters + draft)
    return Estimate(
        jobs=len(work.todos),
        complete=work.complete,
        kinds=tuple(KindEstimate(kind, *counts[kind]) for kind in KINDS if counts[kind][0]),
    )
