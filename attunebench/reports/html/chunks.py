"""What a page holds beside what it shows at once: compressed chunks, one for each conversation and kind of text.

Labels and answers come first, then the models' own replies, the messages, and raw replies; what no longer fits into the
budget is left out, conversation by conversation, and counted. The page's script opens a chunk when somebody looks.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attunebench.metrics.registry import REGISTRY
from attunebench.scores import ConversationEntry
from attunebench.scores.table import ScoreTable

if TYPE_CHECKING:
    from attunebench.transcripts import FolderTranscripts

Layer = Literal["labels", "drafts", "talk", "replies"]
LAYERS: tuple[Layer, ...] = ("labels", "drafts", "talk", "replies")
"""In order of priority."""
_TAG_BYTES = 80
"""At most this many bytes stand around a chunk in the page."""
_DIGITS = 3
_LEVEL = 6
"""The highest one packs three parts in a hundred better and takes three times as long."""


class Chunk(NamedTuple):
    """Base64 of zlib-compressed JSON, and the id of the element that holds it."""

    id: str
    data: str

    @property
    def size(self) -> int:
        """At most so many bytes of the page."""
        return len(self.data) + _TAG_BYTES


class Packed(NamedTuple):
    """The chunks that fit. `left_out`: layer → conversations whose text did not; `empty`: layers without any text."""

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
    rows = dict.fromkeys([*first, *range(len(study.ids))])
    held: dict[str, Chunk] = {}
    left_out: Counter[Layer] = Counter()
    empty = set(LAYERS)

    def put(layer: Layer, name: str, content: Any) -> None:
        """Add a chunk, or put it in the place of one of its name with less in it, if the difference fits."""
        nonlocal budget
        if not content:
            return
        empty.discard(layer)
        made = chunk(name, content)
        growth = made.size - (held[name].size if name in held else 0)
        if growth <= budget:
            held[name] = made
            budget -= growth
        else:
            left_out[layer] += 1

    for row in rows:
        put("labels", f"labels-{row}", _labels(study, row, metrics))
    if evidence is not None:
        written = {row: _drafts(study, row, evidence) for row in rows}
        for row in rows:
            put("drafts", f"written-{row}", written[row])
        for row in rows:
            turns = evidence.talk(study.ids[row])
            said = {str(t.number): [t.user_message, t.llm_response, t.llm_improved, t.human_edited] for t in turns}
            put("talk", f"talk-{row}", said)
        for row in rows:
            content = written.pop(row)  # with raw replies it is large, and not needed any more
            if _add_replies(content, study, row, evidence):
                put("replies", f"written-{row}", content)
    return Packed(tuple(held.values()), left_out, frozenset(empty))


def _labels(study: ScoreTable, row: int, metrics: Sequence[str]) -> dict[str, Any]:
    """The person's labels under `truth`, every group's answers and values under `given`."""
    conversation = study.ids[row]
    truth = study.ground_truth.get(conversation)
    by_turn = [metric_id for metric_id in metrics if REGISTRY[metric_id].level == "turn"]
    kept: dict[str, Any] = {"given": {}}
    if truth is not None:
        kept["truth"] = {name: truth[name] for name in ("turns", "pre_panas", "post_panas", "wide")}
    for place, entries in _entries(study, conversation):
        kept["given"][place] = [
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


def _drafts(study: ScoreTable, row: int, evidence: FolderTranscripts) -> dict[str, Any]:
    """Turn number → group → `drafts`: for each epoch the text and the judges' ratings."""
    written: dict[str, Any] = {}
    for place, entries in _entries(study, study.ids[row]):
        for draft in (draft for entry in entries for draft in evidence.drafts(entry)):
            if draft.text is not None or draft.judges:
                of_turn = written.setdefault(str(draft.number), {})
                judged = {judge: dict(given) for judge, given in draft.judges.items()}
                of_turn.setdefault(place, {}).setdefault("drafts", []).append([draft.text, judged])
    return written


def _add_replies(written: dict[str, Any], study: ScoreTable, row: int, evidence: FolderTranscripts) -> bool:
    """Put raw replies, kind → in the order of asking, beside the drafts that repeat them: together they pack well.

    Whether there are any.
    """
    places = {group.key: str(place) for place, group in enumerate(study.groups)}
    found = [r for r in evidence.replies(study.ids[row]) if (r.provider, r.model, r.mode) in places]
    for reply in found:
        place = places[reply.provider, reply.model, reply.mode]
        of_group = written.setdefault(str(reply.turn), {}).setdefault(place, {})
        of_group.setdefault("raw", {}).setdefault(reply.kind, []).append([reply.text, reply.trouble, reply.parameters])
    return bool(found)


def _entries(study: ScoreTable, conversation: str) -> Iterator[tuple[str, tuple[ConversationEntry, ...]]]:
    for place, group in enumerate(study.groups):
        if found := study.entries.get((group.key, conversation)):
            yield str(place), found


def _values(given: Mapping[str, float | None], metrics: Sequence[str]) -> dict[str, float]:
    return {m: round(value, _DIGITS) for m in metrics if (value := given.get(m)) is not None}
