"""What a page holds beside what it shows at once: compressed chunks, one for each conversation and kind of text.

Labels and answers come first, then drafts, the words of the talks, raw replies; what no longer fits into the budget is
left out, conversation by conversation, and counted. The page's script opens a chunk when somebody looks.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attunebench.metrics.registry import REGISTRY
from attunebench.scores import ConversationEntry
from attunebench.scores.table import ScoreTable

if TYPE_CHECKING:
    from attunebench.transcripts import FolderTranscripts, RawReply

Layer = Literal["labels", "drafts", "talk", "replies"]
LAYERS: tuple[Layer, ...] = ("labels", "drafts", "talk", "replies")
"""In order of priority."""
_TAG_BYTES = 80
"""At most this many bytes stand around a chunk in the page."""
_DIGITS = 4
_LEVEL = 6
"""The highest one packs one part in a hundred better and takes three times as long."""


class Chunk(NamedTuple):
    """Base64 of zlib-compressed JSON, and the id of the element that holds it."""

    id: str
    data: str


class Packed(NamedTuple):
    """The chunks that fit. `left_out`: layer → conversations whose chunk did not; `empty`: layers without any text."""

    chunks: tuple[Chunk, ...]
    left_out: Mapping[Layer, int]
    empty: frozenset[Layer]


def chunk(name: str, content: Any) -> Chunk:
    """The content as a chunk; the same bytes for the same content."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Chunk(f"c-{name}", base64.b64encode(zlib.compress(text.encode("ascii"), _LEVEL)).decode("ascii"))


def pack(
    study: ScoreTable,
    metrics: Sequence[str],
    evidence: FolderTranscripts | None,
    *,
    budget: int,
    first: Sequence[int] = (),
) -> Packed:
    """The chunks of all conversations that fit into `budget` bytes, layer after layer; rows of `first` before others.

    `metrics` are the ids whose values stand beside the answers.
    """
    rows = list(dict.fromkeys([*first, *range(len(study.ids))]))
    chunks: list[Chunk] = []
    left_out: dict[Layer, int] = {}
    contents: dict[Layer, Callable[[int], dict[str, Any] | None]] = {"labels": lambda row: _labels(study, row, metrics)}
    if evidence is not None:
        contents["drafts"] = lambda row: _drafts(study, row, evidence)
        contents["talk"] = lambda row: _talk(study, row, evidence)
        contents["replies"] = lambda row: _replies(study, row, evidence)
    empty = set(LAYERS)
    for layer, content in contents.items():
        for row in rows:
            if (made := content(row)) is None:
                continue
            empty.discard(layer)
            packed = chunk(f"{layer}-{row}", made)
            size = len(packed.data) + _TAG_BYTES
            if size <= budget:
                budget -= size
                chunks.append(packed)
            else:
                left_out[layer] = left_out.get(layer, 0) + 1
    return Packed(tuple(chunks), left_out, frozenset(empty))


def _labels(study: ScoreTable, row: int, metrics: Sequence[str]) -> dict[str, Any]:
    """The person's labels under `truth`, every group's answers and values under `given`."""
    conversation = study.ids[row]
    truth = study.ground_truth.get(conversation)
    by_turn = [metric_id for metric_id in metrics if REGISTRY[metric_id].level == "turn"]
    kept: dict[str, Any] = {"given": {}}
    if truth is not None:
        kept["truth"] = {name: truth[name] for name in ("turns", "pre_panas", "post_panas", "wide")}
    for place, entries in _entries(study, conversation):
        kept["given"][str(place)] = [
            {
                "epoch": entry["epoch"],
                "m": _values(entry["metrics"], metrics),
                "answers": entry.get("answers"),
                "turns": [
                    {"n": turn["turnNumber"], "m": _values(turn["metrics"], by_turn), **(turn.get("answers") or {})}
                    for turn in entry["turns"]
                ],
            }
            for entry in entries
        ]
    return kept


def _drafts(study: ScoreTable, row: int, evidence: FolderTranscripts) -> dict[str, Any] | None:
    """Group → epochs → turn number → text and the judges' ratings."""
    kept: dict[str, Any] = {}
    for place, entries in _entries(study, study.ids[row]):
        drafts = [
            {
                str(draft.number): {
                    "text": draft.text,
                    "judges": {judge: dict(given) for judge, given in draft.judges.items()},
                }
                for draft in evidence.drafts(entry)
                if draft.text is not None or draft.judges
            }
            for entry in entries
        ]
        if any(drafts):
            kept[str(place)] = drafts
    return kept or None


def _talk(study: ScoreTable, row: int, evidence: FolderTranscripts) -> dict[str, Any] | None:
    turns = evidence.talk(study.ids[row])
    return {str(t.number): [t.user_message, t.llm_response, t.llm_improved, t.human_edited] for t in turns} or None


def _replies(study: ScoreTable, row: int, evidence: FolderTranscripts) -> dict[str, Any] | None:
    """Turn number → kind → group → replies in the order of asking. Like stands beside like, which packs well."""
    places = {group.key: place for place, group in enumerate(study.groups)}

    def sort_key(reply: RawReply) -> tuple[int, str]:
        return (reply.turn, reply.kind)

    known = [r for r in evidence.replies(study.ids[row]) if (r.provider, r.model, r.mode) in places]
    kept: dict[str, Any] = {}
    for (turn, kind), same in groupby(sorted(known, key=sort_key), key=sort_key):
        of_kind: dict[str, Any] = kept.setdefault(str(turn), {}).setdefault(kind, {})
        for reply in same:
            place = str(places[(reply.provider, reply.model, reply.mode)])
            of_kind.setdefault(place, []).append([reply.text, reply.trouble, reply.parameters])
    return kept or None


def _entries(study: ScoreTable, conversation: str) -> Iterator[tuple[int, tuple[ConversationEntry, ...]]]:
    for place, group in enumerate(study.groups):
        if found := study.entries.get((group.key, conversation)):
            yield place, found


def _values(given: Mapping[str, float | None], metrics: Sequence[str]) -> dict[str, float]:
    return {m: round(value, _DIGITS) for m in metrics if (value := given.get(m)) is not None}
