"""The files of an arena: what is read back, what is left out with a sentence, and what is never overwritten."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from arenas import simulated_arena
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.arena.demo import make_demo_arena
from attunebench.arena.folder import (
    Arena,
    add_histories,
    add_pairs,
    add_replies,
    lines_file,
    note_step,
    read_arena,
    read_lines,
    write_lines,
)
from attunebench.arena.histories import read_material, read_slices
from attunebench.arena.objects import History, Line, Message, Pair, Reply, Verdict
from attunebench.arena.replies import read_replies
from attunebench.arena.table import table_of
from attunebench.errors import DataError, UsageError


def written(folder: Path, arena: Arena) -> Path:
    """An arena's files, with a file of verdicts for each rater."""
    write_lines(folder / "histories.jsonl", arena.histories.values())
    write_lines(folder / "replies/all.jsonl", arena.replies.values())
    write_lines(folder / "pairs.jsonl", arena.pairs.values())
    for rater in {one.rater for one in arena.verdicts}:
        write_lines(folder / f"verdicts/{rater}.jsonl", (one for one in arena.verdicts if one.rater == rater))
    return folder


def added(file: Path, lines: Iterable[Line], **changes: Any) -> None:
    """Lines behind those of a file, changed so."""
    kind = type(next(iter(lines := list(lines))))
    before = read_lines(file, kind) if file.is_file() else []
    write_lines(file, [*before, *(one.model_copy(update=changes) for one in lines)])


@pytest.fixture
def small() -> Arena:
    return simulated_arena(3, histories=4, pairs=2, people=2, judges=1)


@pytest.fixture
def folder(tmp_path: Path, small: Arena) -> Path:
    return written(tmp_path / "arena", small)


def test_an_arena_is_read_as_it_was_written(folder: Path, small: Arena) -> None:
    read = read_arena(folder)

    assert (small.histories, small.replies, small.pairs) == (read.histories, read.replies, read.pairs)
    assert sorted(map(repr, small.verdicts)) == sorted(map(repr, read.verdicts))
    assert () == read.problems


def test_a_folder_without_histories_is_no_arena(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_arena(tmp_path)


def test_verdicts_on_unknown_pairs_do_not_count(folder: Path, small: Arena) -> None:
    added(folder / "verdicts/rater0.jsonl", small.verdicts[:3], pair="no such pair")

    read = read_arena(folder)

    assert len(small.verdicts) == len(read.verdicts)
    assert 1 == len(read.problems)
    assert "verdicts/rater0.jsonl: 3 verdicts" in read.problems[0]


def test_a_file_of_verdicts_that_was_copied_counts_once(folder: Path, small: Arena) -> None:
    (folder / "verdicts/copy.jsonl").write_bytes((folder / "verdicts/rater1.jsonl").read_bytes())

    read = read_arena(folder)

    assert len(small.verdicts) == len(read.verdicts)
    assert 1 == len(read.problems)


def test_a_verdict_that_is_repeated_in_other_words_counts_once(folder: Path, small: Arena) -> None:
    own = [one for one in small.verdicts if one.rater == "rater1"]
    added(folder / "verdicts/zz.jsonl", own, rationale="In other words.", seconds=3.0)

    read = read_arena(folder)

    assert len(small.verdicts) == len(read.verdicts)
    assert not any(one.rationale for one in read.verdicts)
    assert 1 == len(read.problems)


def test_of_contradicting_verdicts_none_counts(folder: Path, small: Arena) -> None:
    one = next(one for one in small.verdicts if one.rater == "rater1")
    added(folder / "verdicts/other.jsonl", [one], preference=-(one.preference or 0))

    read = read_arena(folder)

    assert (one.pair, "rater1") not in {(each.pair, each.rater) for each in read.verdicts}
    assert len(small.verdicts) - 1 == len(read.verdicts)
    assert {"verdicts/other.jsonl", "verdicts/rater1.jsonl"} == {each.split(":")[0] for each in read.problems}


def test_two_orders_of_one_pair_are_no_contradiction(folder: Path, small: Arena) -> None:
    orders = [one.order for one in read_arena(folder).verdicts if one.rater == "judge0"]

    assert orders.count("left") == orders.count("right") == len(small.pairs)


def test_checks_of_attention_may_contradict_the_verdict(folder: Path, small: Arena) -> None:
    checks = [one for one in small.verdicts if one.rater == "rater0"]
    added(folder / "verdicts/checks.jsonl", checks * 2, check=True, preference=2)

    read = read_arena(folder)

    assert () == read.problems
    assert len(small.verdicts) == len(table_of(read))


def test_a_rater_is_a_person_or_a_judge(folder: Path, small: Arena) -> None:
    added(folder / "verdicts/rater0.jsonl", [small.verdicts[0]], rater_kind="judge", pair=[*small.pairs][-1])

    read = read_arena(folder)

    assert {"human"} == {one.rater_kind for one in read.verdicts if one.rater == "rater0"}
    assert 1 == len(read.problems)


@pytest.mark.parametrize("name", ["people", "judges"])
def test_a_judge_with_the_name_of_a_group_does_not_count(folder: Path, small: Arena, name: str) -> None:
    added(folder / "verdicts/more.jsonl", small.verdicts[:4], rater=name, rater_kind="judge")

    read = read_arena(folder)

    assert len(small.verdicts) == len(read.verdicts)
    assert 1 == len(read.problems)


def test_an_author_with_the_name_of_all_people_does_not_count(folder: Path, small: Arena) -> None:
    added(folder / "replies/more.jsonl", [*small.replies.values()][:1], author="all people")

    read = read_arena(folder)

    assert small.replies == read.replies
    assert 1 == len(read.problems)


def test_an_author_has_one_kind(folder: Path, small: Arena) -> None:
    reply = next(iter(small.replies.values()))
    added(folder / "replies/other.jsonl", [reply], kind="human")

    read = read_arena(folder)

    assert "model" == read.replies[reply.history, reply.author].kind
    assert 1 == len(read.problems)


def test_of_two_replies_of_one_author_none_counts_nor_what_compares_it(folder: Path, small: Arena) -> None:
    pair = next(iter(small.pairs.values()))
    added(folder / "replies/other.jsonl", [small.replies[pair.history, pair.left]], text="Another text.")

    read = read_arena(folder)

    assert (pair.history, pair.left) not in read.replies
    assert pair.id not in read.pairs
    assert pair.id not in {one.pair for one in read.verdicts}


def test_replies_to_unknown_histories_do_not_count(folder: Path, small: Arena) -> None:
    added(folder / "replies/all.jsonl", [*small.replies.values()][:2], history="elsewhere")

    read = read_arena(folder)

    assert small.replies == read.replies
    assert 1 == len(read.problems)


def test_a_pair_with_two_meanings_does_not_count(folder: Path, small: Arena) -> None:
    pair = next(iter(small.pairs.values()))
    added(folder / "pairs.jsonl", [pair], left=pair.right, right=pair.left)

    assert pair.id not in read_arena(folder).pairs


@pytest.mark.parametrize(
    "line",
    [
        b'{"pair": "p"',
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"pair": "p", "rater": "r", "rater_kind": "human", "preference": 3}',
        b'{"pair": "p", "rater": "r", "rater_kind": "human", "preference": 0.5}',
        b'{"pair": "p", "rater": "r", "rater_kind": "human", "preference": NaN}',
        b'{"pair": "p", "rater": "r", "rater_kind": "human", "preference": true}',
        b'{"pair": "p", "rater": "r", "rater_kind": "human", "preference": 1, "preference": -1}',
        b'{"pair": "p", "rater": "r", "rater_kind": "robot", "preference": 1}',
        b'{"pair": "p", "rater": "", "rater_kind": "human", "preference": 1}',
        b'{"pair": "\\ud800", "rater": "r", "rater_kind": "human", "preference": 1}',
        b'{"pair": "p", "rater": "r", "rater_kind": "human", "preference": 1, "dimensions": {"charm": "left"}}',
        b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_a_line_that_cannot_be_read_is_named(folder: Path, line: bytes) -> None:
    file = folder / "verdicts/rater0.jsonl"
    file.write_bytes(b"\n" + line + b"\n")

    with pytest.raises(DataError, match=r"rater0\.jsonl, line 2: "):
        read_arena(folder)


def test_a_mark_of_byte_order_and_windows_line_ends_are_no_fault(folder: Path, small: Arena) -> None:
    for file in folder.rglob("*.jsonl"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))

    assert len(small.verdicts) == len(read_arena(folder).verdicts)


def test_hidden_files_are_not_read(folder: Path) -> None:
    (folder / "verdicts/._rater0.jsonl").write_bytes(b"\x00\x05\x16\x07")

    assert () == read_arena(folder).problems


def test_a_problem_cannot_steer_the_terminal(folder: Path, small: Arena) -> None:
    added(folder / "verdicts/rater0.jsonl", small.verdicts[:1], pair="\x1b[31m\u202ered")

    assert not {"\x1b", "\u202e"} & set("".join(read_arena(folder).problems))


def test_replies_are_added_and_never_changed(folder: Path, small: Arena) -> None:
    reply = next(iter(small.replies.values()))
    new = Reply(history=reply.history, author="new", kind="human", text="Hm.")

    assert 1 == add_replies(folder, "people", [reply, new, new])
    assert 0 == add_replies(folder, "people", [new])
    with pytest.raises(DataError):
        add_replies(folder, "people", [new.model_copy(update={"text": "Oh."})])
    assert {**small.replies, (new.history, "new"): new} == read_arena(folder).replies


def test_two_texts_of_one_author_are_not_added(folder: Path, small: Arena) -> None:
    new = Reply(history=next(iter(small.histories)), author="new", kind="human", text="Hm.")

    with pytest.raises(DataError):
        add_replies(folder, "people", [new, new.model_copy(update={"text": "Oh."})])


def test_histories_keep_their_messages_and_may_change_their_slice(folder: Path, small: Arena) -> None:
    history = next(iter(small.histories.values()))
    other = history.model_copy(update={"turns": (Message(role="seeker", text="Something else."),)})

    assert 0 == add_histories(folder, [history.model_copy(update={"slice": "adversarial"})])
    assert "adversarial" == read_arena(folder).histories[history.id].slice
    assert len(small.verdicts) == len(read_arena(folder).verdicts)
    with pytest.raises(DataError):
        add_histories(folder, [other])


def test_pairs_that_are_there_stay(folder: Path, small: Arena) -> None:
    pair = next(iter(small.pairs.values()))
    turned = pair.model_copy(update={"left": pair.right, "right": pair.left})

    assert 1 == add_pairs(folder, [turned, Pair(id="new", history=pair.history, left="lab0", right="lab3")])
    assert [*small.pairs, "new"] == [*read_arena(folder).pairs]
    assert pair == read_arena(folder).pairs[pair.id]


def test_a_step_is_noted_once(folder: Path) -> None:
    for seed in (1, 2, 1):
        note_step(folder, {"command": "pairs", "seed": seed, "how": ("a", "b")})

    assert [1, 2] == [step["seed"] for step in read_arena(folder).made["steps"]]


@pytest.mark.slow
def test_nothing_is_lost_where_several_processes_add_to_an_arena(folder: Path, small: Arena) -> None:
    code = (
        "import sys; from pathlib import Path; from attunebench.arena.folder import add_histories, note_step\n"
        "from attunebench.arena.objects import History\n"
        "folder, who, turns = Path(sys.argv[1]), sys.argv[2], [{'role': 'seeker', 'text': 'Hi.'}]\n"
        "for n in range(20):\n"
        "    note_step(folder, {'who': who, 'n': n})\n"
        "    add_histories(folder, [History(id=f'{who}/{n}', turns=turns)])"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(folder), str(who)]) for who in range(3)]

    assert [0, 0, 0] == [each.wait() for each in started]
    read = read_arena(folder)
    assert (60, 60) == (len(read.made["steps"]), len(read.histories) - len(small.histories))


def test_a_damaged_note_is_not_overwritten(folder: Path) -> None:
    (folder / "arena.json").write_text('{"steps": [', "utf-8")

    with pytest.raises(DataError):
        note_step(folder, {"command": "new"})
    assert '{"steps": [' == (folder / "arena.json").read_text("utf-8")


@settings(max_examples=20)
@given(st.lists(st.text(min_size=1, max_size=120), min_size=2, max_size=2, unique=True))
def test_no_two_writers_share_a_file(names: list[str]) -> None:
    first, second = (lines_file(Path("a"), "replies", name) for name in names)

    assert first.name.casefold() != second.name.casefold()
    assert Path("a/replies") == first.parent
    assert not first.name.startswith((".", "-"))
    assert len(first.name) < 120


FIELDS = (
    *("id", "turns", "dialog", "messages", "speaker", "role", "content", "text", "slice", "tags", "history", "author"),
    *("kind", "model", "pair", "rater", "rater_kind", "preference", "dimensions", "order"),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NAMES = TEXTS.filter(bool)
VERDICTS = st.builds(
    Verdict,
    pair=NAMES,
    rater=NAMES,
    rater_kind=st.sampled_from(["human", "judge"]),
    order=st.sampled_from(["left", "right"]),
    preference=st.none() | st.integers(-2, 2),
    dimensions=st.dictionaries(st.sampled_from(["attunement", "resonance"]), st.sampled_from(["left", "same"])),
    evidence=TEXTS,
    rationale=TEXTS,
    seconds=st.none() | st.floats(0, 1e6),
    check=st.booleans(),
)


@settings(max_examples=20)
@given(st.lists(VERDICTS, max_size=5))
def test_every_verdict_survives_its_file(tmp_path_factory: pytest.TempPathFactory, verdicts: list[Verdict]) -> None:
    file = tmp_path_factory.mktemp("lines") / "verdicts.jsonl"
    write_lines(file, verdicts)

    assert verdicts == read_lines(file, Verdict)


@settings(max_examples=20)
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4), st.data())
def test_whatever_is_in_the_lines_what_counts_is_consistent(
    tmp_path_factory: pytest.TempPathFactory, named: list[tuple[str, str]], data: st.DataObject
) -> None:
    small, folder = simulated_arena(1, histories=2, pairs=2, people=2), tmp_path_factory.mktemp("arena")
    names = st.sampled_from([*(name for two in named for name in two), *small.pairs, "rater0", "rater1"])
    kinds, preferences = st.sampled_from(["human", "judge"]), st.integers(-2, 2)
    some = st.builds(Verdict, pair=names, rater=names, rater_kind=kinds, preference=preferences)
    more = data.draw(st.lists(some, max_size=8))
    written(folder, small)
    write_lines(folder / "verdicts/more.jsonl", more)

    read = read_arena(folder)
    keys = [(one.pair, one.rater, one.order) for one in read.verdicts]

    assert len(keys) == len(set(keys))
    assert set(read.pairs) >= {pair for pair, *_ in keys}
    assert len({one.rater for one in read.verdicts}) == len({(one.rater, one.rater_kind) for one in read.verdicts})
    assert bool(read.problems) == (len(read.verdicts) < len(small.verdicts) + len(more))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=12,
)


@settings(max_examples=20)
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8) | JSON, max_size=4), st.booleans())
def test_whatever_a_file_holds_it_is_read_or_refused_with_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Any], whole: bool
) -> None:
    file = tmp_path_factory.mktemp("files") / ("a.json" if whole else "a.jsonl")
    text = json.dumps(entries) if whole else "\n".join(map(json.dumps, entries))
    file.write_bytes(text.encode("utf-8", "surrogatepass"))

    for read in (read_material, read_replies, read_slices, partial(read_lines, kind=Verdict)):
        with suppress(DataError):
            read(file)


def test_a_history_is_read_whatever_json_says_it(tmp_path: Path) -> None:
    line = {"id": "h", "turns": [{"role": "seeker", "text": "Hi\u2028there"}], "mine": [1, {"a": None}]}
    (tmp_path / "h.jsonl").write_text(json.dumps(line), "utf-8")

    (history,) = read_lines(tmp_path / "h.jsonl", History)

    assert "Hi\u2028there" == history.turns[0].text
    assert {"mine": [1, {"a": None}]} == history.model_extra


@pytest.mark.parametrize("write", [make_demo_arena, partial(add_histories, histories=[])])
def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, write: Callable[[Path], object]) -> None:
    (tmp_path / "mine.txt").touch()

    with pytest.raises(UsageError):
        write(tmp_path)
    assert ["mine.txt"] == [path.name for path in tmp_path.iterdir()]
