"""Properties of the reader: what was said reads back in any dress, nothing else is ever read, nothing raises."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attunebench.protocol.calls import Answer, Asked

KINDS = ("draft", "judge", "review", "binary_hp", "pairwise", "post", "delta")
STRUCTURED = KINDS[1:]
Reader = Callable[..., Answer]
Answers = Callable[[str], st.SearchStrategy[dict[str, Any]]]

DRESSES: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "fenced": lambda text: f"Sure!\n```json\n{text}\n```\nI hope this helps.",
    "fence on one line": lambda text: f"```json {text}```",
    "fence never closed": lambda text: f"```json\n{text}",
    "in prose": lambda text: f"My answer (see {{above}}) is {text} - thanks",
    "thought first": lambda text: f"<think>Maybe {{}} or {{'a': 'b'</think>\n{text}",
    "lone closing tag": lambda text: f'I weigh "both {{ sides.\n</thinking>\n\n{text}',
    "byte order mark": lambda text: f"\ufeff{text}",
    "wrapped": lambda text: f'{{"result": {text}}}',
    "wrapped as a string": lambda text: json.dumps({"output": text}),
    "the only key": lambda text: f'{{"reasoning": "so", "assessment": {text}}}',
    "in a list": lambda text: f"[{text}]",
    "twice": lambda text: f"{text}\n\n{text}",
    "twice the bracket": lambda text: f"{text}}}",
    "bracket missing": lambda text: f"{text[:-1]},",
    "trailing comma": lambda text: f"{text[:-1]},}}",
    "comment": lambda text: f"{{ // my answer\n{text[1:]}",
}


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The answered items of an answer's values; lists are one item."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif value is not None:
        yield path, value


@pytest.mark.slow
@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_an_answer_reads_back_to_itself_in_any_dress(
    kind: str, dress: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    said = data.draw(answers(kind))
    answer = read(kind, DRESSES[dress](json.dumps(said, ensure_ascii=data.draw(st.booleans()))))
    assert said == answer.values
    assert ("answered", ()) == (answer.outcome, answer.missing)


def other_case(value: Any) -> Any:
    """Keys in capitals, numbers as strings."""
    if isinstance(value, dict):
        return {key.upper(): other_case(item) for key, item in value.items()}
    if isinstance(value, list):
        return [other_case(item) for item in value]
    return str(value) if isinstance(value, int) else value


@pytest.mark.parametrize("kind", STRUCTURED)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_neither_the_case_of_keys_nor_numbers_as_strings_matter(
    kind: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    said = data.draw(answers(kind))
    assert said == read(kind, json.dumps(other_case(said))).values


@pytest.mark.parametrize("kind", [kind for kind in STRUCTURED if kind not in ("post", "delta")])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_python_literals_read_as_json(kind: str, read: Reader, answers: Answers, data: st.DataObject) -> None:
    said = data.draw(answers(kind))
    answer = read(kind, repr(said))
    assert said == answer.values
    assert answer.mended


@pytest.mark.parametrize("kind", ["judge", "review", "binary_hp", "pairwise"])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_list_whose_entries_name_their_item_stands_for_a_map(
    kind: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    said = data.draw(answers(kind))
    listed = {
        key: [{"id": name, "answer": choice, "reason": "so"} for name, choice in value.items()]
        if isinstance(value, dict)
        else value
        for key, value in said.items()
    }
    assert said == read(kind, json.dumps(listed)).values


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_cut_reply_says_nothing_that_the_whole_does_not(
    kind: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    said = data.draw(answers(kind))
    indent = data.draw(st.sampled_from([None, 1]))
    text = json.dumps(said, indent=indent)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    whole = dict(leaves(said))
    inferred = ("conversation_wide", "q3_followUp_whatFeltOff")
    for path, value in leaves(read(kind, cut).values):
        assert value == whole[path] or (path, value) == (inferred, [])


def mutations(text: str) -> st.SearchStrategy[str]:
    """`text` with a few places deleted, doubled or overwritten by structure."""
    structure = ["", '"', "'", "{", "}", "[", "]", ",", ":", "\n", "//", "```", "\\", "“"]
    edit = st.tuples(st.integers(0, len(text)), st.integers(0, 6), st.sampled_from(structure))

    def apply(edits: list[tuple[int, int, str]]) -> str:
        changed = text
        for place, length, new in edits:
            changed = changed[:place] + new + changed[place + length :]
        return changed

    return st.lists(edit, min_size=1, max_size=4).map(apply)


def says(text: str, words: str) -> bool:
    """Whether one of the words stands alone in the text: what is cut out of an ID may leave a 1 or 0 behind."""
    return re.search(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])", text.lower()) is not None


@pytest.mark.parametrize("kind", ["judge", "binary_hp"])
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_no_yes_or_no_is_read_that_no_mutation_left_in_the_text(
    kind: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    said = data.draw(answers(kind))
    undecided = json.dumps(said).replace('"no"', '"both"').replace('"yes"', '"both"')
    text = data.draw(mutations(undecided))
    assume(not says(text, "yes|y|true|1|no|n|false|0"))
    read_maps = {path: value for path, value in leaves(read(kind, text).values) if value in ("yes", "no")}
    assert {} == read_maps


@pytest.mark.parametrize("kind", ["review", "binary_hp", "pairwise"])
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_mutated_reply_never_turns_an_answer_round(
    kind: str, read: Reader, answers: Answers, data: st.DataObject
) -> None:
    said = data.draw(answers(kind))
    one_sided = json.dumps(said).replace('"no"', '"yes"').replace('"B"', '"A"')
    text = data.draw(mutations(one_sided))
    assume(not says(text, "b" if kind == "pairwise" else "no|n|false|0"))
    turned = {path: value for path, value in leaves(read(kind, text).values) if value in ("no", "B")}
    assert {} == turned


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text() | st.text("{}[]\",:'\\ \n`<>/thinkAB01“”#*-", max_size=60))
@settings(max_examples=100, deadline=None)
def test_no_text_makes_the_reader_raise(kind: str, read: Reader, asked: dict[str, Asked], text: str) -> None:
    answer = read(kind, text)
    assert answer.outcome in ("answered", "incomplete", "unreadable", "truncated")
    assert (answer.outcome == "answered") == (answer.missing == ())
    assert set(answer.values) == set(read(kind, None).values)


NAMES = st.sampled_from(["0", "B1", "id", "answer", "emotion", "intensity", "items", "value"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["yes", "A"])
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_no_type_inside_makes_the_reader_raise(kind: str, read: Reader, data: st.DataObject) -> None:
    keys = [*read(kind, None).values, "q1_lookingFor", "q3_modelFit", "q3_followUp_whatFeltOff", "fourBranchScores"]
    value = {key: data.draw(JSON) for key in keys}
    inner = value | {"conversation_wide": value} if kind in ("post", "delta") else value
    assert read(kind, json.dumps(inner)).outcome in ("answered", "incomplete", "unreadable")
