"""`attune-bench arena respond`, `judge` and `demo`, and the prompts of an arena."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from batch_server import BatchServer
from factory import write_conversations

from attunebench.arena.folder import Arena, add_pairs, read_arena
from attunebench.arena.pairs import DesignSettings, choose_pairs
from attunebench.cli.arena import COMMANDS

if TYPE_CHECKING:
    from conftest import Command

N = 3
PRICES = ("--price-in", "1", "--price-out", "2")


@pytest.fixture
def histories(tmp_path: Path) -> Path:
    """A file with N histories."""
    path = tmp_path / "seekers.jsonl"
    told = [{"id": f"h{n}", "turns": [{"role": "seeker", "text": f"I failed exam {n}."}]} for n in range(N)]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in told))
    return path


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer() as server:
        yield server


@pytest.fixture
def arena(cli: Command, histories: Path) -> Path:
    """An arena with the replies of two baselines, and a pair for each history."""
    for model in ("majority", "random"):
        cli("arena", "respond", "baseline", model, histories, "-o", "arena", "-q")
    add_pairs(Path("arena"), choose_pairs(read_arena(Path("arena")), DesignSettings("full")).pairs)
    return Path("arena")


def test_the_group_lists_its_commands_in_their_order(cli: Command) -> None:
    lines = cli("arena", "--help").out.partition("Commands:\n")[2].splitlines()
    assert list(COMMANDS) == [line.split()[0] for line in lines if line[:3].strip()]


def test_a_command_that_does_not_exist_names_the_nearest_one(cli: Command) -> None:
    ended = cli("arena", "judgee")
    assert 2 == ended.status
    assert "'judge'" in ended.err


def test_a_model_replies_to_a_file_of_histories_in_a_new_arena(cli: Command, histories: Path) -> None:
    ended = cli("arena", "respond", "baseline", "majority", histories, "-o", "arena", "--author", "Ada")
    made = read_arena(Path("arena"))
    assert 0 == ended.status
    assert {(f"h{n}", "Ada") for n in range(N)} == set(made.replies)
    assert {"model"} == {reply.kind for reply in made.replies.values()}
    assert "Next: attune-bench arena pairs arena" in ended.err


def test_a_name_of_an_author_that_is_too_long_is_refused_before_anything_is_asked(
    cli: Command, histories: Path
) -> None:
    ended = cli("arena", "respond", "baseline", "majority", histories, "-o", "arena", "--author", "a" * 501)
    assert 2 == ended.status
    assert "--author" in ended.err


def test_the_same_command_again_asks_nothing(cli: Command, histories: Path) -> None:
    words = ("arena", "respond", "baseline", "random", histories, "-o", "arena")
    cli(*words)
    before = {path: path.read_bytes() for path in Path("arena").rglob("*.jsonl")}
    again = cli(*words)
    assert 0 == again.status
    assert f"{N} complete before" in again.err
    assert "written" not in again.err
    assert before == {path: path.read_bytes() for path in Path("arena").rglob("*.jsonl")}


def test_another_model_replies_in_the_arena_itself(cli: Command, arena: Path) -> None:
    assert 0 == cli("arena", "respond", "baseline", "oracle", arena).status
    assert {"majority", "random", "oracle"} == {author for _, author in read_arena(arena).replies}


def test_a_dry_run_of_replies_counts_them_and_leaves_nothing(cli: Command, histories: Path) -> None:
    ended = cli("arena", "respond", "openai", "some-model", histories, "-o", "arena", "--dry-run", *PRICES)
    assert 0 == ended.status
    assert f"{N} pending, 0 complete" in ended.out
    assert not Path("arena").exists()


def test_a_dry_run_in_an_arena_counts_what_is_left(cli: Command, arena: Path, histories: Path) -> None:
    assert f"0 pending, {N} complete" in cli("arena", "respond", "baseline", "random", arena, "--dry-run").out
    words = ("arena", "respond", "baseline", "random", histories, "-o", arena, "--dry-run")
    assert f"0 pending, {N} complete" in cli(*words).out


def test_a_file_of_histories_needs_an_arena_for_the_replies(cli: Command, histories: Path) -> None:
    ended = cli("arena", "respond", "baseline", "random", histories)
    assert 2 == ended.status
    assert "-o" in ended.err


def test_judges_compare_each_pair_in_both_orders(cli: Command, arena: Path) -> None:
    ended = cli("arena", "judge", arena, "-j", "baseline:longest", "--judge", "baseline:lexicon")
    given = read_arena(arena).verdicts
    assert 0 == ended.status
    assert 2 * 2 * N == len(given)
    assert {"longest", "lexicon"} == {one.rater for one in given}
    assert {"left", "right"} == {one.order for one in given}
    assert "Next: attune-bench arena score arena" in ended.err


def test_one_order_is_half_of_the_verdicts_and_a_dry_run_counts_them(cli: Command, arena: Path) -> None:
    words = ("arena", "judge", arena, "-j", "baseline:shortest", "--orders", "1")
    assert f"{N} calls" in cli(*words, "--dry-run").out
    assert not read_arena(arena).verdicts
    cli(*words)
    assert N == len(read_arena(arena).verdicts)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "--judge"),
        (("-j", "longest"), "--judge"),
        (("-j", "baseline:nobody"), "nobody"),
        (("-j", "nowhere:model"), "nowhere"),
        (("-j", "baseline:longest", "-j", "baseline:longest", "-j", "local:longest"), "twice"),
        (("-j", "openai:one", "-j", "local:two", "--api-key", "KEY"), "--api-key"),
        (("-j", "baseline:longest", "--concurrency", "0"), "--concurrency"),
        (("-j", "baseline:longest", "--orders", "3"), "--orders"),
    ],
)
def test_judges_that_cannot_be_asked_are_a_sentence(cli: Command, arena: Path, words: Any, named: str) -> None:
    ended = cli("arena", "judge", arena, *words)
    assert 2 == ended.status
    assert named in ended.err
    assert not read_arena(arena).verdicts


@pytest.mark.parametrize("by", [(), ("--batch", "--poll-interval", "0")], ids=["live", "batch"])
def test_models_are_asked_live_or_by_batches_and_nothing_twice(
    cli: Command, arena: Path, server: BatchServer, by: tuple[str, ...]
) -> None:
    reached = ("--base-url", server.url, *by)
    commands = (
        ("arena", "respond", "local", "fake-model", arena, *reached),
        ("arena", "judge", arena, "-j", "local:judge-a", "-j", "local:judge-b", *reached),
    )
    assert [0, 0] == [cli(*words).status for words in commands]
    made = read_arena(arena)
    assert N == sum(author == "fake-model" for _, author in made.replies)
    assert {"judge-a": 2 * N, "judge-b": 2 * N} == Counter(one.rater for one in made.verdicts)
    server.fake.asked.clear()
    assert [0, 0] == [cli(*words).status for words in commands]
    assert not [asked for asked in server.fake.asked if asked.path.endswith(("/chat/completions", "/batches"))]


def test_without_an_arena_or_pairs_there_is_nothing_to_judge(cli: Command, histories: Path) -> None:
    assert 2 == cli("arena", "judge", "nowhere", "-j", "baseline:longest").status
    cli("arena", "respond", "baseline", "random", histories, "-o", "arena")
    ended = cli("arena", "judge", "arena", "-j", "baseline:longest")
    assert 2 == ended.status
    assert "arena pairs" in ended.err


def test_the_prompts_of_an_arena_show_texts_and_no_author(cli: Command, tmp_path: Path) -> None:
    folder = write_conversations(tmp_path / "data", 1, seed=7)
    path = next(folder.glob("conversation_*.json"))
    turns = json.loads(path.read_text())["turns"]
    show = ("prompts", "show", "--conversation", path, "--turn", turns[1]["turnNumber"], "--call")
    respond, verdict = cli(*show, "respond").out, cli(*show, "verdict").out
    for prompt in (respond, verdict):
        assert turns[0]["userMessage"] in prompt
        assert turns[1]["userMessage"] in prompt
    assert turns[1]["llmResponse"] not in respond
    assert turns[1]["llmResponse"] in verdict
    assert "original" not in verdict
    assert 2 == cli(*show[:4], "--call", "verdict").status


@pytest.mark.parametrize("name", ["notes.txt", "README.txt"])
def test_the_demonstration_leaves_a_folder_that_it_did_not_make_alone(cli: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("Made by `attune-bench demo`")
    ended = cli("arena", "demo", "-o", "mine")
    assert 2 == ended.status
    assert [name] == [path.name for path in (tmp_path / "mine").iterdir()]


@pytest.mark.slow
def test_the_demonstration_leaves_arena_scores_and_page(cli: Callable[..., Any], tmp_path: Path) -> None:
    from attunebench.arena.demo import NOTICE

    ended = cli("arena", "demo")
    folder = tmp_path / "attunebench-arena-demo"
    assert 0 == ended.status
    assert len((ended.out + ended.err).splitlines()) <= 60
    assert {"README.txt", "arena", "arena-scores.json", "report.html"} == {path.name for path in folder.iterdir()}
    made: Arena = read_arena(folder / "arena")
    assert () == made.problems
    assert {"longest", "lexicon"} == {one.rater for one in made.verdicts if one.rater_kind == "judge"}
    assert "human" not in {reply.kind for reply in made.replies.values()}
    assert NOTICE in (folder / "report.html").read_text("utf-8")
    assert NOTICE in " ".join(cli("arena", "report", folder / "arena-scores.json").out.split())
