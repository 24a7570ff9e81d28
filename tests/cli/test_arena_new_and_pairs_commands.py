"""`attune-bench arena new` and `arena pairs`: what they read, add, print and refuse."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation
from result_factory import oracle_result, write_result

from attunebench.arena.folder import read_arena

Cli = Callable[..., Any]
DIALOGUE = {
    "emotion_type": "anxiety",
    "dialog": [
        {"speaker": "seeker", "content": "I am anxious."},
        {"speaker": "supporter", "content": "Why is that?"},
        {"speaker": "seeker", "content": "It is hard."},
    ],
}


def lines(path: Path, *entries: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, entries)), "utf-8")
    return path


def test_conversations_become_an_arena_with_the_replies_of_each_turn(cli: Cli, data: Path) -> None:
    ended = cli("arena", "new", "A", "-d", data)
    arena = read_arena(Path("A"))

    assert 0 == ended.status
    assert 15 == len(arena.histories)
    assert {"original": 15, "alternate": 15, "edited": 15} == Counter(author for _, author in arena.replies)
    assert () == arena.problems


def test_the_rule_of_the_adversarial_slice_is_printed_and_kept(cli: Cli, data: Path) -> None:
    ended = cli("arena", "new", "A", "-d", data, "--adversarial", "fit,tags", "--adversarial-needs", "1")
    (step,) = read_arena(Path("A")).made["steps"]

    assert step["adversarial"] in ended.err


def test_the_slice_can_be_switched_off_and_on_again(cli: Cli, data: Path) -> None:
    cli("arena", "new", "A", "-d", data, "--adversarial", "none")
    off = {one.slice for one in read_arena(Path("A")).histories.values()}
    cli("arena", "new", "A", "-d", data, "--adversarial-needs", "1")

    assert {"regular"} == off
    assert {"regular", "adversarial"} == {one.slice for one in read_arena(Path("A")).histories.values()}


def test_the_same_command_again_changes_no_file(cli: Cli, data: Path) -> None:
    cli("arena", "new", "A", "-d", data)
    cli("arena", "pairs", "A")
    before = {path: path.read_bytes() for path in Path("A").rglob("*.json*")}

    assert 0 == cli("arena", "new", "A", "-d", data).status
    assert 0 == cli("arena", "pairs", "A").status
    assert before == {path: path.read_bytes() for path in Path("A").rglob("*.json*")}


def test_an_arena_grows_by_results_people_and_dialogues(cli: Cli, data: Path, tmp_path: Path) -> None:
    cli("arena", "new", "A", "-d", data)
    cli("arena", "pairs", "A")
    before = read_arena(Path("A"))
    write_result(tmp_path / "results", oracle_result(make_conversation(7), model="m", provider="p"))
    person = {"history": next(iter(before.histories)), "author": "anna", "kind": "human", "text": "Hm."}

    cli("arena", "new", "A", "-r", tmp_path / "results", "--replies", lines(tmp_path / "people.jsonl", person))
    cli("arena", "new", "A", "--histories", lines(tmp_path / "talks.jsonl", DIALOGUE), "--human-replies", "seat")
    ended = cli("arena", "pairs", "A")
    after = read_arena(Path("A"))

    assert 0 == ended.status
    assert {"m": 5, "anna": 1, "seat": 1} == Counter(
        author for key, author in after.replies if (key, author) not in before.replies
    )
    assert 17 == len(after.histories)
    assert before.pairs.items() < after.pairs.items()
    assert "seat" in ended.err  # with nobody to be compared with


def test_dialogues_are_not_taken_for_written_by_people_unless_somebody_says_so(cli: Cli, tmp_path: Path) -> None:
    cli("arena", "new", "A", "--histories", lines(tmp_path / "talks.jsonl", DIALOGUE))

    assert {} == read_arena(Path("A")).replies


def test_slices_of_a_file_hold_for_what_is_there_already(cli: Cli, data: Path, tmp_path: Path) -> None:
    cli("arena", "new", "A", "-d", data, "--adversarial", "none")
    name = next(iter(read_arena(Path("A")).histories)).rpartition("/")[0]

    ended = cli(
        "arena",
        "new",
        "A",
        "--slices",
        lines(tmp_path / "s.jsonl", {"id": name, "slice": "hard"}, {"id": "x", "slice": "y"}),
    )

    assert {"regular": 10, "hard": 5} == Counter(one.slice for one in read_arena(Path("A")).histories.values())
    assert "1 id" in ended.err


def test_a_limit_draws_histories_and_their_replies(cli: Cli, data: Path) -> None:
    cli("arena", "new", "A", "-d", data, "--limit", "4")
    arena = read_arena(Path("A"))

    assert (4, 12) == (len(arena.histories), len(arena.replies))


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-d", "nowhere"),
        ("--histories", "nowhere.jsonl"),
        ("--replies", "people.jsonl"),
        ("-d", "data", "--adversarial", "gloom"),
        ("-d", "data", "-r", "nowhere"),
    ],
)
def test_what_cannot_be_used_ends_with_a_sentence(cli: Cli, data: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    lines(tmp_path / "people.jsonl", {"history": "h", "author": "anna", "kind": "human", "text": "Hm."})

    ended = cli("arena", "new", "A", *words)

    assert 2 == ended.status
    assert ended.err.startswith("attune-bench: ") or "\nattune-bench: " in ended.err
    assert "bug" not in ended.err


def test_a_folder_of_something_else_is_left_alone(cli: Cli, data: Path) -> None:
    assert 2 == cli("arena", "new", data, "-d", data).status
    assert [] == [path for path in data.iterdir() if path.suffix != ".json"]


def test_an_arena_can_be_made_where_an_earlier_attempt_left_its_lock(cli: Cli, data: Path) -> None:
    Path("A").mkdir()
    Path("A/.attunebench-arena.lock").touch()

    assert 0 == cli("arena", "new", "A", "-d", data).status


def test_replies_that_do_not_count_are_added_once(cli: Cli, tmp_path: Path) -> None:
    lines(tmp_path / "talks.jsonl", {"id": "h", "turns": [{"role": "seeker", "text": "Hi."}]})
    entry = {"history": "h", "author": "all people", "kind": "human", "text": "Hm."}
    words = ("arena", "new", "A", "--histories", "talks.jsonl", "--replies", lines(tmp_path / "r.jsonl", entry))

    assert [0, 0] == [cli(*words).status for _ in range(2)]
    assert 1 == len(Path("A/replies/from-r.jsonl").read_text("utf-8").splitlines())


def test_other_texts_of_a_history_or_an_author_are_refused(cli: Cli, data: Path, tmp_path: Path) -> None:
    cli("arena", "new", "A", "-d", data)
    before = {path: path.read_bytes() for path in Path("A").rglob("*.jsonl")}
    reply = next(iter(read_arena(Path("A")).replies.values()))
    other = {"history": reply.history, "author": reply.author, "kind": reply.kind, "text": "Another text."}
    file = data / "conversation_1.json"
    file.write_text(file.read_text("utf-8").replace("That was message", "That is message"), "utf-8")

    assert 2 == cli("arena", "new", "A", "--replies", lines(tmp_path / "r.jsonl", other)).status
    assert 2 == cli("arena", "new", "A", "-d", data).status
    assert before == {path: path.read_bytes() for path in Path("A").rglob("*.jsonl")}


def test_the_adaptive_design_says_that_it_depends_on_verdicts(cli: Cli, data: Path) -> None:
    cli("arena", "new", "A", "-d", data)

    adaptive, full = cli("arena", "pairs", "A"), cli("arena", "pairs", "A", "--design", "full")

    assert "ratings so far" in adaptive.err
    assert "ratings so far" not in full.err


def test_heart_without_people_is_refused(cli: Cli, data: Path) -> None:
    cli("arena", "new", "A", "-d", data)

    assert 2 == cli("arena", "pairs", "A", "--design", "heart").status
    assert not Path("A/pairs.jsonl").exists()


def test_pairs_of_no_arena_are_refused(cli: Cli, data: Path) -> None:
    assert 2 == cli("arena", "pairs", data).status
    assert 2 == cli("arena", "pairs", "nowhere").status


def test_what_does_not_count_is_said(cli: Cli, data: Path) -> None:
    cli("arena", "new", "A", "-d", data)
    verdict = {"pair": "gone", "rater": "r", "rater_kind": "human", "preference": 1}
    Path("A/verdicts").mkdir()
    lines(Path("A/verdicts/r.jsonl"), verdict)

    assert "! verdicts/r.jsonl: 1 verdict " in cli("arena", "pairs", "A").err
