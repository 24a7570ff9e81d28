"""How a run is dealt out to shards: nobody asks the same, nothing is left over, and what was dealt stays dealt."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.codebook import default_codebook
from attunebench.conversations.schema import Conversation, Turn
from attunebench.errors import DataError, UsageError
from attunebench.runner.on_ray import run_on_ray
from attunebench.runner.order import dealt, journal_name, part_of, share_of
from attunebench.runner.settings import ModelSettings, RunSettings, Shard

EM = ModelSettings(provider="baseline", model="majority")


def talk(name: str, turns: int = 3) -> Conversation:
    return Conversation(
        conversation_id=name,
        turns=tuple(Turn(number=i + 1, user_message="a", llm_response="b") for i in range(turns)),
    )


def work(conversation: Conversation) -> int:
    return 4 * len(conversation.turns) + 1


TALKS = st.lists(st.integers(1, 12), max_size=40).map(
    lambda sizes: [talk(f"c{i}", turns) for i, turns in enumerate(sizes)]
)
FEW = settings(max_examples=40)
KNOWN = st.dictionaries(st.integers(0, 50).map("c{}".format), st.integers(-1, 12))


@FEW
@given(TALKS, st.integers(1, 9), KNOWN)
def test_every_conversation_has_one_shard_of_those_there_are(
    talks: list[Conversation], of: int, known: dict[str, int]
) -> None:
    places = dealt(talks, of, known)
    assert {each.conversation_id for each in talks} == set(places)
    assert set(places.values()) <= set(range(1, of + 1))


@FEW
@given(TALKS, st.integers(1, 9))
def test_the_work_of_two_shards_differs_by_one_conversation_at_most(talks: list[Conversation], of: int) -> None:
    places = dealt(talks, of)
    loads = Counter(dict.fromkeys(range(1, of + 1), 0))
    for each in talks:
        loads[places[each.conversation_id]] += work(each)
    assert max(loads.values()) - min(loads.values()) <= max(map(work, talks), default=0)


@FEW
@given(TALKS, TALKS, st.integers(1, 9), st.randoms(use_true_random=False))
def test_conversations_that_come_later_move_no_other(
    first: list[Conversation], more: list[Conversation], of: int, rng: random.Random
) -> None:
    before = dealt(first, of)
    later = [*first, *(talk(f"new {each.conversation_id}", len(each.turns)) for each in more)]
    rng.shuffle(later)
    assert before == {name: shard for name, shard in dealt(later, of, before).items() if name in before}


def test_every_beginning_of_the_order_is_spread_over_all_shards() -> None:
    talks = [talk(f"c{i}") for i in range(30)]
    places = dealt(talks, 3)
    assert [1, 2, 3] * 10 == [places[each.conversation_id] for each in talks]


def test_shards_that_see_different_conversations_still_never_share_one(tmp_path: Path) -> None:
    talks = [talk(f"c{i}", 1 + i % 4) for i in range(20)]
    first = part_of(talks[:12], Shard(1, 3), tmp_path, note=True)
    others = [part_of(talks[::-1], Shard(number, 3), tmp_path, note=True) for number in (2, 3)]
    again = part_of(talks, Shard(1, 3), tmp_path, note=True)
    assert first == [each for each in again if each in first]
    names = [each.conversation_id for part in (again, *others) for each in part]
    assert sorted(each.conversation_id for each in talks) == sorted(names)


def test_shards_that_start_together_are_dealt_the_same(tmp_path: Path) -> None:
    talks = [talk(f"c{i}", 1 + i % 4) for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        parts = list(
            pool.map(lambda number: part_of(talks[number:], Shard(number, 8), tmp_path, note=True), range(1, 9))
        )
    names = [each.conversation_id for part in parts for each in part]
    assert len(names) == len(set(names))


def test_an_estimate_writes_nothing_down(tmp_path: Path) -> None:
    assert 2 == len(part_of([talk("a"), talk("b"), talk("c")], Shard(1, 2), tmp_path / "results", note=False))
    assert [] == list(tmp_path.iterdir())


def test_a_damaged_list_stops_the_command(tmp_path: Path) -> None:
    part_of([talk("a")], Shard(1, 2), tmp_path, note=True)
    [path] = tmp_path.glob(".attunebench-shards-*.json")
    assert {"a": 1} == json.loads(path.read_text())["shards"]
    path.write_text("{")
    with pytest.raises(DataError, match=r"damaged.*Delete it when no shard"):
        part_of([talk("a")], Shard(1, 2), tmp_path, note=True)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "-1/3", "2", "1/2/3", "a/b", "", "１/3x"])
def test_a_shard_that_there_is_not_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"shard"):
        Shard.parse(text)


def test_a_shard_is_written_as_people_and_as_files_name_it() -> None:
    assert ("2/8", "2-of-8") == (str(Shard.parse(" 2 / 8 ")), Shard(2, 8).name)


def test_the_journal_of_a_shard_is_the_same_for_the_same_run_alone() -> None:
    def name(model: str = "m", modes: tuple[str, ...] = ("default",), **others: int) -> str:
        em = ModelSettings(provider="local", model=model)
        return journal_name(RunSettings(em=em, modes=modes, **others), "1-of-2")

    assert name() == name(concurrency=3)
    assert name(modes=("default", "verbose")) == name(modes=("verbose", "default"))
    assert 3 == len({name(), name("n"), name(modes=("verbose",))})


@given(st.integers(1, 300), st.integers(1, 40), st.floats(0.1, 1e6), st.floats(0.1, 1e9))
def test_the_shares_of_a_limit_are_the_limit(concurrency: int, of: int, rpm: float, tpm: float) -> None:
    of = min(of, concurrency)
    whole = RunSettings(em=EM, concurrency=concurrency, rpm=rpm, tpm=tpm, max_cost=9.0)
    shares = [share_of(whole, Shard(1 + i, of), 1.5) for i in range(of)]
    calls = [share.concurrency for share in shares]
    assert concurrency == sum(calls)
    assert 1 <= min(calls) <= max(calls) <= min(calls) + 1
    assert rpm == pytest.approx(sum(share.rpm or 0.0 for share in shares))
    assert tpm == pytest.approx(sum(share.tpm or 0.0 for share in shares))
    assert {1.5} == {share.max_cost for share in shares}


def test_no_limit_stays_none() -> None:
    share = share_of(RunSettings(em=EM), Shard(1, 2), None)
    assert (None, None, None) == (share.rpm, share.tpm, share.max_cost)


@pytest.mark.parametrize(("shard", "said"), [(Shard(1, 2), "both divide the run"), (None, r"\[ray\]")])
def test_what_cannot_be_run_on_ray_is_said_before_anything_starts(
    shard: Shard | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=said):
        run_on_ray([], RunSettings(em=EM, shard=shard), default_codebook())
