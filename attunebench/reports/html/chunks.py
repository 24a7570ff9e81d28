"""What a page holds beside what it shows at once: compressed chunks, one for each conversation and layer of text.

Labels and answers come first, then the models' own replies, the messages, and raw replies; what no longer fits into the
budget is left out, conversation by conversation, and counted. The page's script opens a chunk when somebody looks.
Conversations resemble each other, so those of a layer are compressed with the beginning of its first ones as a shared
dictionary.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from attunebench.metrics.registry import REGISTRY
from attunebench.scores import ConversationEntry
from attunebench.scores.table import ScoreTable

if TYPE_CHECKING:
    from attunebench.transcripts import FolderTranscripts, RawReply

LAYERS = ("labels", "drafts", "talk", "replies")
"""Of a study, in order of priority."""
_TAG_BYTES = 80
"""At most this many bytes stand around a chunk in the page."""
_DIGITS = 3
_LEVEL = 9
_DICTIONARY_BYTES = 32_000
"""As far back as a compressed stream can refer."""
_SAMPLES = 3
_FEWEST = 12
"""With fewer conversations a dictionary takes more room than it saves."""
_SURROGATE = re.compile("[\ud800-\udfff]")
VALUE, DRAFT = "\ue000", "\ue001"
"""Stand in the form of a reply for one of `_VALUES`, and for the model's own reply of that turn as a JSON string."""
_WORDS = "yes|no|true|false|null|A|B"
_VALUES = dict(zip(_WORDS.split("|"), "yntf-AB", strict=True))
"""A word of a reply → the letter that stands for it in the page's data."""
_VALUE = re.compile(rf"""(?<=[:\s\[,{{"])({_WORDS})(?=["\s,}}\]])""")


class Chunk(NamedTuple):
    """Base64 of compressed JSON, and the id of the element that holds it."""

    id: str
    data: str

    @property
    def size(self) -> int:
        """At most so many bytes of the page."""
        return len(self.data) + _TAG_BYTES


class Packed(NamedTuple):
    """The chunks that fit. `left_out`: layer → conversations whose text did not; `empty`: layers without any text."""

    chunks: tuple[Chunk, ...]
    left_out: Mapping[str, int]
    empty: frozenset[str]


def chunk(name: str, content: Any) -> Chunk:
    """The content as a chunk; the same bytes for the same content."""
    return _chunk(name, zlib.compress(_json(content), _LEVEL))


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
    contents: dict[str, Iterable[tuple[int, Any]]] = {"labels": ((row, _labels(study, row, metrics)) for row in rows)}
    if evidence is not None:
        drafts = {row: _drafts(study, row, evidence) for row in rows}
        contents["drafts"] = drafts.items()
        contents["talk"] = ((row, _talk(evidence, study.ids[row])) for row in rows)
        contents["replies"] = ((row, _replies(study, row, evidence, drafts[row])) for row in rows)
    packed = fit(contents, budget)
    return packed._replace(empty=frozenset({*LAYERS} - {*contents}) | packed.empty)


def fit(contents: Mapping[str, Iterable[tuple[int, Any]]], budget: int) -> Packed:
    """The chunks of these layers that fit into `budget` bytes, layer after layer; a chunk is named by its row."""
    held: list[Chunk] = []
    left_out: Counter[str] = Counter()
    empty = set(contents)
    for layer, of_layer in contents.items():
        for made in _chunks(layer, ((row, _json(content)) for row, content in of_layer if content)):
            empty.discard(layer)
            if made.size <= budget:
                held.append(made)
                budget -= made.size
            elif made.id == f"c-dictionary-{layer}":
                budget = 0  # Nothing of the layer can be read without it.
            else:
                left_out[layer] += 1
    return Packed(tuple(held), left_out, frozenset(empty))


def _chunks(layer: str, texts: Iterator[tuple[int, bytes]]) -> Iterator[Chunk]:
    """A chunk for each text, before them their dictionary where there is one.

    A text compressed with a dictionary is a raw deflate stream that goes on after a stored block of the dictionary's
    bytes: a browser, which cannot be given a dictionary, is given that block.
    """
    sample = list(islice(texts, _FEWEST))
    dictionary = b""
    if len(sample) == _FEWEST:
        dictionary = b"".join(text[: _DICTIONARY_BYTES // _SAMPLES] for _, text in sample[:_SAMPLES])
        yield _chunk(f"dictionary-{layer}", zlib.compress(dictionary, _LEVEL))
    for row, text in chain(sample, texts):
        if not dictionary:
            yield _chunk(f"{layer}-{row}", zlib.compress(text, _LEVEL))
            continue
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=dictionary)
        yield _chunk(f"{layer}-{row}", packer.compress(text) + packer.flush())


def _chunk(name: str, packed: bytes) -> Chunk:
    return Chunk(f"c-{name}", base64.b64encode(packed).decode("ascii"))


def _json(content: Any) -> bytes:
    """Compact JSON; halves of surrogate pairs, which UTF-8 cannot hold, are escaped."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


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
    """Turn number → group → for each epoch the text and the judges' ratings."""
    written: dict[str, Any] = {}
    for place, entries in _entries(study, study.ids[row]):
        for draft in (draft for entry in entries for draft in evidence.drafts(entry)):
            if draft.text is not None or draft.judges:
                judged = {judge: dict(given) for judge, given in draft.judges.items()}
                written.setdefault(str(draft.number), {}).setdefault(place, []).append([draft.text, judged])
    return written


def _talk(evidence: FolderTranscripts, conversation: str) -> dict[str, Any]:
    """Turn number → the person's message and the three candidate replies."""
    return {
        str(turn.number): [turn.user_message, turn.llm_response, turn.llm_improved, turn.human_edited]
        for turn in evidence.talk(conversation)
    }


def _replies(study: ScoreTable, row: int, evidence: FolderTranscripts, drafts: Mapping[str, Any]) -> dict[str, Any]:
    """`forms` (see `_formed`), and `raw`: turn number → group → kind → replies in the order of asking."""
    places = {group.key: str(place) for place, group in enumerate(study.groups)}
    forms: dict[str, int] = {}
    raw: dict[str, Any] = {}
    for reply in evidence.replies(study.ids[row]):
        place = places.get((reply.provider, reply.model, reply.mode))
        if place is not None:
            turn = str(reply.turn)
            text = _formed(reply, drafts.get(turn, {}).get(place), forms)
            of_group = raw.setdefault(turn, {}).setdefault(place, {})
            of_group.setdefault(reply.kind, []).append([text, reply.trouble, reply.parameters])
    return {"forms": list(forms), "raw": raw} if raw else {}


def _formed(reply: RawReply, drafts: Sequence[Any] | None, forms: dict[str, int]) -> Any:
    """A reply as the place of its form in `forms` and the letters of its values: models answer in few forms."""
    text = reply.text
    if text is None or VALUE in text or DRAFT in text:
        return text  # As it is: where the letters of the form stand for something they cannot stand for themselves.
    draft = drafts[0][0] if drafts else None
    if draft and not _SURROGATE.search(draft):
        text = text.replace(json.dumps(draft, ensure_ascii=False)[1:-1], DRAFT)
    parts = _VALUE.split(text)
    return [forms.setdefault(VALUE.join(parts[::2]), len(forms)), "".join(map(_VALUES.__getitem__, parts[1::2]))]


def _entries(study: ScoreTable, conversation: str) -> Iterator[tuple[str, tuple[ConversationEntry, ...]]]:
    for place, group in enumerate(study.groups):
        if found := study.entries.get((group.key, conversation)):
            yield str(place), found


def _values(given: Mapping[str, float | None], metrics: Sequence[str]) -> dict[str, float]:
    return {m: round(value, _DIGITS) for m in metrics if (value := given.get(m)) is not None}
