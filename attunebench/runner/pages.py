"""Which result files under a folder are to be judged, and each as it is read for that: bytes, sheet, planned calls.

Owns what is left alone and why: results whose conversation is not there, that are there twice, that hold no drafts.
Knows no judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.jsonfile import MAX_BYTES, parse_json
from attunebench.judging import JudgeScale
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Call, Mode, PanasStrategy
from attunebench.protocol.modes import MODES
from attunebench.protocol.plan import plan_conversation
from attunebench.results.parsing import kind_of
from attunebench.results.reading import Findings, Key, find_duplicates, result_files
from attunebench.runner.files import identity_of
from attunebench.runner.sheets import Sheet, sheet_of
from attunebench.runner.stamps import calls_sha256

_PLANS = 64
"""Plans that are kept: results of one conversation come one after the other."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result file that was asked for; `claim` is what a run of it would hold: provider, model, mode."""

    path: Path
    name: str
    conversation_id: str
    claim: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Page:
    """A result file as it is judged. `calls`: the judge calls of all its turns, without drafts; `judge_calls_sha256` is
    their digest, None where there are none."""

    candidate: Candidate
    raw: bytes
    sheet: Sheet
    conversation: Conversation
    calls: Sequence[Call]
    judge_calls_sha256: str | None

    @property
    def mode(self) -> Mode:
        """The result's mode, which is one of this benchmark's."""
        return cast(Mode, self.candidate.claim[2])

    @property
    def without_draft(self) -> tuple[int, ...]:
        """The turns of the conversation without a draft."""
        return tuple(turn.number for turn in self.conversation.turns if turn.number not in self.sheet.drafts)

    @property
    def other_turns(self) -> tuple[int, ...]:
        """The turns that the conversation does not have."""
        known = {turn.number for turn in self.conversation.turns}
        return tuple(turn.number for turn in self.sheet.result.turns if turn.number not in known)


def find_candidates(
    folder: Path, models: Sequence[str] = (), modes: Sequence[str] = ()
) -> tuple[list[Candidate], dict[str, str]]:
    """The result files under the folder, of these models and modes where some are named; and file → why it is left.

    A model is named by its name or as provider/model. UsageError for one that no result has, DataError where there is
    no result at all.
    """
    found: dict[str, tuple[Candidate, Key]] = {}
    left: dict[str, str] = {}
    for path, name in result_files(folder, Findings()):
        try:
            data = _parsed(_bytes(path))
        except ValueError as error:
            left[name] = str(error)
            continue
        identity = identity_of(data) if kind_of(data) == "result" else None
        if identity is not None:
            epoch = data.get("epoch")
            key = (*identity, epoch if isinstance(epoch, int) else None)
            found[name] = (Candidate(path, name, identity[0], identity[1:]), key)
    if not found:
        raise DataError(f"There is no result in {folder}; name the folder that `attune-bench run` wrote to.")
    _refuse_unknown(models, [candidate for candidate, _ in found.values()])
    for duplicate in find_duplicates((key, candidate.name) for candidate, key in found.values()):
        others = ", ".join(duplicate.files)
        left.update(dict.fromkeys(duplicate.files, f"the same result is there more than once ({others})"))
    wanted = {name.strip().casefold() for name in models}
    chosen = [
        candidate
        for name, (candidate, _) in found.items()
        if name not in left
        and (not wanted or wanted & _spellings(candidate))
        and (not modes or candidate.claim[2] in modes)
    ]
    return chosen, left


def _spellings(candidate: Candidate) -> set[str]:
    provider, model, _ = candidate.claim
    return {model.casefold(), f"{provider}/{model}".casefold()}


def _refuse_unknown(models: Iterable[str], candidates: Sequence[Candidate]) -> None:
    known = {spelling for candidate in candidates for spelling in _spellings(candidate)}
    for model in models:
        if model.strip().casefold() not in known:
            there = ", ".join(dict.fromkeys(candidate.claim[1] for candidate in candidates))
            raise UsageError(f"There is no result of a model {model}; there is {there}.")


class Reader:
    """Reads candidates as pages. `judges` is their number: every judge is asked the same, on this `scale`."""

    def __init__(
        self, conversations: Iterable[Conversation], codebook: Codebook, judges: int, scale: JudgeScale
    ) -> None:
        self._conversations = {conversation.conversation_id: conversation for conversation in conversations}
        self._codebook = codebook
        self._judges = judges
        self._scale = scale
        self._prompt_set = prompt_set_sha256()
        self._plan = lru_cache(_PLANS)(self._planned)

    def page(self, candidate: Candidate) -> Page:
        """The file as it is now; ValueError says in a clause why its drafts are not judged."""
        raw = _bytes(candidate.path)
        data = _parsed(raw)
        conversation = self._conversations.get(candidate.conversation_id)
        if conversation is None:
            raise ValueError("its conversation is not among those given")
        sheet = sheet_of(data, candidate.name)
        mode = candidate.claim[2]
        if mode not in MODES:
            raise ValueError(f"its mode {mode!r} is none of {', '.join(MODES)}")
        if not sheet.recorded:
            raise ValueError("it holds no drafts")
        calls, own, digest = self._plan(candidate.conversation_id, mode, _strategy(data))
        today = (self._prompt_set, self._codebook.sha256)
        asked = data.get("calls_sha256")
        if (data.get("prompt_set_sha256"), data.get("codebook_sha256")) == today and asked not in (None, own):
            raise ValueError("it was made with other conversation texts")
        return Page(candidate, raw, sheet, conversation, calls, digest)

    def _planned(
        self, conversation_id: str, mode: Mode, strategy: PanasStrategy
    ) -> tuple[tuple[Call, ...], str, str | None]:
        """The judge calls of a conversation, the digest of all others, and that of one judge's."""
        try:
            plan = plan_conversation(
                self._conversations[conversation_id],
                mode,
                self._codebook,
                judges=self._judges,
                panas_strategy=strategy,
                judge_scale=self._scale,
            )
        except AttuneBenchError as error:
            raise ValueError(str(error).rstrip(".")) from None
        calls = tuple(call for call in plan if call.judge is not None)
        own = calls_sha256(call for call in plan if call.judge is None)
        return calls, own, calls_sha256(call for call in calls if call.judge == 0) if calls else None


def _strategy(data: Mapping[str, Any]) -> PanasStrategy:
    """How a result asked for the mood afterwards, which judges never see; needed to know its calls again."""
    parameters = data.get("parameters")
    stated = parameters.get("panas_strategy") if isinstance(parameters, dict) else None
    return cast(PanasStrategy, stated) if stated in get_args(PanasStrategy) else "absolute"


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES // 1024 // 1024} MB, which is no file of this format")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror or error})") from None


def _parsed(raw: bytes) -> Any:
    try:
        return parse_json(raw, lenient=True)
    except ValueError as error:
        raise ValueError(f"it {error}" if str(error).startswith("holds") else f"it is {error}") from None
