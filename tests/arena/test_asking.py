"""Replies and verdicts of an arena, asked of a real server: what is asked, once each, and what is written."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from asked_arenas import HISTORIES, PAIRS, Judge, make_arena, models, once_each, saying, told, verdicts

from attunebench.arena import folder as arenas
from attunebench.arena.asking import (
    ReplyWork,
    VerdictWork,
    ask_replies,
    ask_verdicts,
    is_quoted,
    verdict_settings,
)
from attunebench.arena.bias import bias
from attunebench.arena.folder import read_arena
from attunebench.arena.objects import DIMENSIONS, History, Message, Verdict
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import table_of
from attunebench.errors import ConfigurationError, DataError, UsageError
from attunebench.protocol.calls import PREFERENCES
from attunebench.runner import ModelSettings, Observer, RunSettings
from attunebench.runner.pricing import estimate_work
from attunebench.selftest.behaviours import Answer, Asked, Behaviour
from attunebench.selftest.server import FakeServer


class Heard(Observer):
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def warned(self, message: str) -> None:
        self.warnings.append(message)

    def started(self, plan: Any) -> None:
        self.notes = list(plan.notes)


def test_every_pair_is_judged_in_both_orders_by_every_judge_and_once(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    summary = judge("ann", "ben")
    assert {
        (name, f"c{n}/1/{at}", order)
        for name in ("ann", "ben")
        for n in range(HISTORIES)
        for at in range(2)
        for order in ("left", "right")
    } == set(verdicts(folder))
    assert (PAIRS, PAIRS * 4, "") == (summary.written, summary.calls, summary.stopped)
    assert once_each(server)
    server.asked.clear()
    again = judge("ann", "ben")
    assert ([], PAIRS) == (server.bodies, again.complete_before)


@pytest.mark.parametrize(("words", "value"), PREFERENCES.items())
def test_a_preference_is_told_of_the_pairs_left_reply_whatever_was_shown_first(
    judge: Judge, server: FakeServer, folder: Path, words: str, value: int
) -> None:
    server.script = saying(words, dimensions=dict.fromkeys(DIMENSIONS, "1"))
    judge("ann", limit=1)
    for (_, _, order), one in verdicts(folder).items():
        assert (value if order == "left" else -value) == one.preference
        assert dict.fromkeys(DIMENSIONS, order) == one.dimensions


def test_the_reply_that_is_named_first_is_shown_first(judge: Judge, server: FakeServer, folder: Path) -> None:
    def longer_wins(asked: Asked) -> Behaviour:
        first, second = (
            asked.prompt.index("manner of a"),
            min(asked.prompt.find(f"manner of {x}") % 10**9 for x in "bo"),
        )
        return saying("1 much better" if first < second else "2 much better")(asked)

    server.script = longer_wins
    judge("ann")
    assert {2} == {one.preference for one in verdicts(folder).values()}


def test_one_order_is_drawn_for_each_pair_and_stays(judge: Judge, server: FakeServer, folder: Path) -> None:
    judge("ann", orders=1)
    drawn = set(verdicts(folder))
    assert PAIRS == len(drawn)
    judge("ann", orders=2)
    assert drawn < set(verdicts(folder))
    assert PAIRS * 2 == len(server.bodies)


def test_authors_and_kinds_are_never_shown(judge: Judge, server: FakeServer, tmp_path: Path) -> None:
    named = {"text": "**ada-1**: I am lab/ada-1, and  I hear you."}
    into = make_arena(tmp_path / "named", ada=named, bob={"kind": "human", "family": "bobs"})
    judge("ann", into=into)
    sent = json.dumps(server.bodies)
    assert [] == [word for word in ("ada-1", "bob-2", 'human"', "bobs", "lab/") if word in sent]
    assert {("names", "white space")} == {
        tuple(one.model_extra["normalised"]["left"]) for one in verdicts(into).values()
    }


def test_a_judge_is_not_asked_about_its_own_family_unless_it_is_wanted(
    judge: Judge, server: FakeServer, tmp_path: Path
) -> None:
    into, heard = make_arena(tmp_path / "a", bob={"family": "Lab"}, ada={"family": "other"}), Heard()
    judge("lab/ann", "ben", into=into, observer=heard)
    raters = Counter((rater, pair[-1]) for rater, pair, _ in verdicts(into))
    assert {("lab/ann", "1"): 6, ("ben", "0"): 6, ("ben", "1"): 6} == raters
    assert 1 == sum("lab/ann" in note for note in heard.notes)
    assert ["ben", "original"] == [
        name for name in ("ben", "original") if any("unknown" in n and name in n for n in heard.notes)
    ]
    judge("lab/ann", into=into, own_family=True)
    assert 12 == sum(rater == "lab/ann" for rater, _, _ in verdicts(into))


def test_a_judge_is_not_asked_about_its_own_replies(judge: Judge, folder: Path) -> None:
    judge("bob-2")
    assert {"1"} == {pair[-1] for _, pair, _ in verdicts(folder)}


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("I dread the next one", True),
        ("“i Dread  the next one.”", True),
        ("I failed exam … the next one", True),
        ("I love the next one", False),
        ("Reply to 1", False),
        ("…", False),
    ],
)
def test_evidence_is_looked_for_in_the_history(
    quote: str, found: bool, judge: Judge, server: FakeServer, folder: Path
) -> None:
    server.script = saying("same", evidence=quote)
    judge("ann", limit=1, orders=1)
    assert {found} == {one.evidence_found for one in verdicts(folder).values()}


def test_the_rate_of_quotes_in_the_history_is_reported(judge: Judge, server: FakeServer, folder: Path) -> None:
    true, false = saying("same", evidence="I dread the next one"), saying("same", evidence="I dread nothing")
    server.script = lambda asked: (true if "exam 1" in asked.prompt else false)(asked)
    judge("ann")
    arena = read_arena(folder)
    order = next(one for one in bias(arena, table_of(arena), ArenaSettings(resamples=50)).tables if one.id == "order")
    quotes = [one.id for one in order.columns].index("quotes")
    assert [("ann", 4 / 12, 12)] == [(row[0].value, row[quotes].value, row[quotes].n) for row in order.rows]


def test_a_quote_over_two_messages_is_none_and_other_scripts_are_read() -> None:
    history = History(id="h", turns=tuple(Message(role="seeker", text=text) for text in ("我很累。真的", "I am tired")))
    assert (True, False) == (is_quoted("很累", history), is_quoted("真的 I am", history))


def test_a_refused_verdict_is_kept_as_refused_and_not_asked_again(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    server.script = [Answer(message={"content": None, "refusal": "I cannot."})]
    judge("ann", limit=1)
    assert {(None, "refused")} == {(one.preference, one.outcome) for one in verdicts(folder).values()}
    server.asked.clear()
    judge("ann", limit=1)
    assert [] == server.bodies


def test_an_unreadable_verdict_is_asked_for_again_and_the_rest_of_it_stands(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    first, second = saying("no idea", decided_by="attunement"), saying("2 slightly better", decided_by="resonance")
    server.script = lambda asked: (second if "An earlier answer" in asked.prompt else first)(asked)
    summary = judge("ann", limit=1, orders=1)
    assert {("attunement", "answered")} == {(one.decided_by, one.outcome) for one in verdicts(folder).values()}
    assert (2, 4) == (summary.reasks, len(server.bodies))


def test_a_judge_that_never_prefers_is_left_incomplete_and_retried_on_demand(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    server.script = saying("no idea")
    judge("ann", limit=1, orders=1, max_reasks=1)
    assert {(None, "incomplete")} == {(one.preference, one.outcome) for one in verdicts(folder).values()}
    server.script = saying("1 much better")
    server.asked.clear()
    judge("ann", limit=1, orders=1, max_reasks=1)
    assert [] == server.bodies
    judge("ann", limit=1, orders=1, max_reasks=1, retry_unanswered=True)
    assert {2} == {abs(one.preference or 0) for one in verdicts(folder).values()}


def test_lines_of_others_in_a_judges_file_stay(judge: Judge, folder: Path) -> None:
    path = folder / "verdicts" / "ann.jsonl"
    arenas.write_lines(path, [Verdict(pair="c0/1/0", rater="eve", rater_kind="human", preference=1)])
    judge("ann")
    assert 1 == sum(rater == "eve" for rater, _, _ in verdicts(folder))


def test_arena_json_says_how_judges_were_asked(judge: Judge, folder: Path) -> None:
    judge("lab/ann", temperature=0.5)
    noted = json.loads((folder / "arena.json").read_text("utf-8"))["verdicts"]["lab/ann"]
    assert ("local", "lab", 0.5, 2) == (
        noted["provider"],
        noted["family"],
        noted["parameters"]["temperature"],
        noted["orders"],
    )
    assert ({"answered": 12}, {"found": 0, "checked": 12}) == (noted["outcomes"], noted["evidence"])
    assert 64 == len(noted["prompt_set_sha256"])


def test_a_model_replies_once_to_every_history(server: FakeServer, folder: Path) -> None:
    server.script = lambda asked: Answer(json.dumps({"drafted_response": f"I hear {asked.prompt[-9]}."}))
    settings = RunSettings(em=models(server, "lab/new")[0])
    assert HISTORIES == estimate_work(ReplyWork(folder, settings), ()).calls
    summary = ask_replies(folder, settings)
    replies = [one for one in read_arena(folder).replies.values() if one.author == "lab/new"]
    assert (HISTORIES, HISTORIES) == (summary.written, len(replies))
    assert {("model", "lab")} == {(one.kind, one.family) for one in replies}
    assert (0, HISTORIES) == (ask_replies(folder, settings).written, len(server.bodies))


def test_a_refused_reply_is_no_reply_and_is_noted(server: FakeServer, folder: Path) -> None:
    refused = Answer(message={"content": None, "refusal": "No."})
    server.script = lambda asked: refused if "exam 1" in asked.prompt else Answer()
    settings = RunSettings(em=models(server, "new")[0])
    summary = ask_replies(folder, settings, author="mine")
    assert {"c0/1", "c2/1"} == {history for history, author in read_arena(folder).replies if author == "mine"}
    assert {"refused": 1} == summary.unanswered
    assert {"c1/1": "refused"} == json.loads((folder / "arena.json").read_text("utf-8"))["replies"]["mine"][
        "unanswered"
    ]
    ask_replies(folder, settings, author="mine")
    assert HISTORIES == len(server.bodies)


def test_a_model_that_refuses_every_history_has_no_reply(server: FakeServer, folder: Path) -> None:
    server.script = [Answer(message={"content": None, "refusal": "No."})]
    assert 0 == ask_replies(folder, RunSettings(em=models(server, "new")[0])).written
    assert not (folder / "replies" / "new.jsonl").exists()
    noted = json.loads((folder / "arena.json").read_text("utf-8"))["replies"]["new"]
    assert {"refused"} == set(noted["unanswered"].values())


def test_an_author_with_replies_from_elsewhere_is_refused(server: FakeServer, folder: Path) -> None:
    with pytest.raises(UsageError):
        ask_replies(folder, RunSettings(em=models(server, "ada-1")[0]))
    assert [] == server.bodies


@pytest.mark.parametrize("values", [{"orders": 3}, {"shard": "1/2"}])
def test_what_an_arena_cannot_do_is_refused(judge: Judge, values: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        judge("ann", **values)


def test_an_arena_without_pairs_is_refused(judge: Judge, folder: Path) -> None:
    (folder / "pairs.jsonl").unlink()
    with pytest.raises(DataError):
        judge("ann")


def test_an_estimate_counts_what_is_not_there(judge: Judge, server: FakeServer, folder: Path) -> None:
    settings = verdict_settings(folder, models(server, "ann", "ben"))
    assert PAIRS * 4 == estimate_work(VerdictWork(folder, settings), ()).calls
    judge("ann")
    assert PAIRS * 2 == estimate_work(VerdictWork(folder, settings), ()).calls


@pytest.mark.parametrize("name", ["longest", "shortest", "edited", "random", "lexicon"])
def test_built_in_judges_give_the_same_verdicts_every_time(name: str, tmp_path: Path) -> None:
    said = []
    for place in (tmp_path / "one", tmp_path / "two"):
        make_arena(place, ada={"kind": "edited", "text": "You dread the exam."})
        ask_verdicts(place, verdict_settings(place, [ModelSettings(provider="baseline", model=name)]))
        said.append(told(place))
    assert said[0] == said[1]
    assert {True} == {one["evidence_found"] for one in said[0]}
    expected = {"longest": {-1}, "shortest": {1}, "edited": {1}, "lexicon": {1}, "random": {-2, -1, 1, 2}}
    assert {one["preference"] for one in said[0]} <= expected[name]


def test_two_providers_judges_of_one_name_do_not_share_a_file(judge: Judge, server: FakeServer, folder: Path) -> None:
    ask_verdicts(folder, verdict_settings(folder, [ModelSettings(provider="baseline", model="longest")]))
    with pytest.raises(DataError):
        judge("longest")
    assert [] == server.bodies


def test_a_baseline_that_compares_nothing_is_no_judge(folder: Path) -> None:
    settings = verdict_settings(folder, [ModelSettings(provider="baseline", model="majority")])
    with pytest.raises(ConfigurationError, match="majority"):
        ask_verdicts(folder, settings)


def test_a_baseline_that_only_compares_replies_to_nobody(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="longest"):
        ask_replies(folder, RunSettings(em=ModelSettings(provider="baseline", model="longest")))
