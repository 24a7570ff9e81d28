"""What an audit says equals what the files say, counted by code of its own."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factory import make_conversation, write_conversations
from sklearn.metrics import cohen_kappa_score

from attunebench.analyses.table import Missing
from attunebench.arena.audit import GENERAL, MAJORITY, RANDOM, RULES, Audit, audit_analysis, choices_of, pairs_of
from attunebench.arena.folder import Arena
from attunebench.arena.objects import History, Message, Reply, Verdict
from attunebench.arena.replies import CANDIDATES
from attunebench.arena.sampling import ArenaSettings
from attunebench.conversations import demo_folder, load_conversations
from attunebench.conversations.schema import Conversation

FEW = ArenaSettings(resamples=200)
_KEYS = {"original": "original", "alternate": "alternate", "human": "edited"}


def judged(conversations: Sequence[Conversation], accuracy: Mapping[str, float], *, seed: int = 0) -> Arena:
    """Judges that name the participant's winner with a chance of their own in each order, and sometimes answer
    nothing."""
    rng = random.Random(seed)
    histories, replies, pairs, verdicts = {}, {}, {}, []
    truth = {one.pair: one.chosen for one in choices_of(conversations) if one.question == GENERAL}
    for conversation in conversations:
        for turn in conversation.turns:
            name = f"{conversation.conversation_id}/{turn.number}"
            histories[name] = History(id=name, turns=(Message(role="seeker", text=turn.user_message),))
            for variant, author in CANDIDATES.items():
                text = turn.variants[variant] or ""
                replies[name, author] = Reply(history=name, author=author, kind=author, text=text)
            pairs |= pairs_of(conversation, turn)
    for pair, (judge, right), order in itertools.product(pairs, accuracy.items(), ("left", "right")):
        preference = truth[pair] * (1 if rng.random() < right else -1) * rng.choice((0, 1, 1, 2))
        given = None if rng.random() < 0.02 else preference
        verdicts.append(Verdict(pair=pair, rater=judge, rater_kind="judge", order=order, preference=given))
    return Arena(histories, replies, pairs, verdicts)


def recounted(files: Iterable[Path], verdicts: Sequence[Verdict], judge: str) -> dict[str, Any]:
    """Agreement and κ of a judge, with nothing but the JSON of the conversations and the verdicts."""
    said: dict[str, list[int]] = {}
    for one in verdicts:
        if one.rater == judge and one.preference is not None:
            said.setdefault(one.pair, []).append(one.preference)
    points, truths, sides, split = [], [], [], dict[str, list[float]]()
    for file in files:
        content = json.loads(file.read_text("utf-8"))
        for place, turn in enumerate(content["turns"]):
            comparisons = turn["annotations"]["pairwiseComparisons"]
            for one in (one for one in comparisons if one["questionId"] == "general"):
                a, b = one["responseA"], one["responseB"]
                left, right = sorted((a, b), key=["original", "alternate", "human"].index)
                winner = a if one["winner"] == "A" else b
                pair = f"{content['conversationId']}/{turn['turnNumber']}/{_KEYS[left]}-{_KEYS[right]}"
                if pair not in said:
                    continue
                values = said[pair]
                opposed = min(values) < 0 < max(values)
                choice = 0 if opposed else (sum(values) > 0) - (sum(values) < 0)
                point = 0.5 if choice == 0 else float((choice > 0) == (winner == left))
                points.append(point)
                truths += [winner == left] * 2
                sides += [True, False] if choice == 0 else [choice > 0] * 2
                split.setdefault(("first", "middle", "last")[3 * place // len(content["turns"])], []).append(point)
                others = [
                    (o["responseA"] if o["winner"] == "A" else o["responseB"]) == winner
                    for o in comparisons
                    if o["questionId"] != "general" and {o["responseA"], o["responseB"]} == {a, b}
                ]
                split.setdefault(f"{sum(others)} of {len(others)}", []).append(point)
    means = {name: sum(values) / len(values) for name, values in split.items()}
    return {"agreement": sum(points) / len(points), "n": len(points), "kappa": cohen_kappa_score(truths, sides)} | means


def rows_of(audit: Audit, table: str) -> dict[tuple[str, ...], Any]:
    """The words of a row → row by column id."""
    found = next(one for one in audit_analysis(audit, "pairwise").tables if one.id == table)
    names, keys = [one.id for one in found.columns], sum(one.unit == "text" for one in found.columns)
    return {tuple(str(cell.value) for cell in r[:keys]): dict(zip(names, r, strict=True)) for r in found.rows}


def _check(folder: Path, accuracy: Mapping[str, float]) -> None:
    conversations = list(load_conversations(folder))
    arena = judged(conversations, accuracy)
    audit = Audit(conversations, arena, FEW)
    files = sorted(folder.glob("conversation_*.json"))
    thirds, margins = rows_of(audit, "thirds"), rows_of(audit, "margins")
    for judge in accuracy:
        plain = recounted(files, arena.verdicts, judge)
        row = rows_of(audit, "judges")[judge,]
        found = {"agreement": row["agreement"].value, "n": row["n"].value, "kappa": row["kappa"].value}
        found |= {name: thirds[f"{name} third", judge]["agreement"].value for name in ("first", "middle", "last")}
        shown = {"3 of 3": "3–0", "2 of 3": "2–1"}
        found |= {name: margins[label, judge]["agreement"].value for name, label in shown.items()}
        assert found == pytest.approx({name: plain[name] for name in found})


def test_an_audit_of_the_demo_set_equals_a_plain_count() -> None:
    _check(demo_folder(), {"good": 0.8, "poor": 0.5})


@pytest.mark.slow
def test_an_audit_of_200_conversations_equals_a_plain_count(tmp_path: Path) -> None:
    _check(write_conversations(tmp_path / "data", 200), {"good": 0.8, "middling": 0.62, "poor": 0.5})


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> list[Conversation]:
    return list(load_conversations(write_conversations(tmp_path_factory.mktemp("data"), 40, turns=3)))


def test_a_judge_that_knows_passes_and_one_that_guesses_does_not(conversations: list[Conversation]) -> None:
    audit = Audit(conversations, judged(conversations, {"knows": 0.9, "guesses": 0.5}), FEW)
    assert (audit.passed("knows"), audit.passed("guesses")) == (True, False)
    marks = {rater: row["agreement"].mark for (rater,), row in rows_of(audit, "judges").items()}
    assert (marks["knows"], marks["guesses"], marks[audit.best_rule]) == ("passes", "fails", "")


def test_the_best_of_the_simple_rules_is_what_a_judge_has_to_beat(conversations: list[Conversation]) -> None:
    audit = Audit(conversations, judged(conversations, {"judge": 0.5}), FEW)
    rules = {rule: audit.scores[rule].agreement.value for rule in (*RULES, RANDOM)}
    assert audit.to_beat == max(rules.values()) == rules[audit.best_rule]
    assert rules[RANDOM] == 0.5
    assert rules["longest reply"] + rules["shortest reply"] == pytest.approx(1)


def test_the_edited_rule_prefers_the_edited_reply_and_ties_otherwise(conversations: list[Conversation]) -> None:
    audit = Audit(conversations, judged(conversations, {"judge": 0.5}), FEW)
    said = {
        one.pair.rpartition("/")[2]: value for one, value in zip(audit.choices, audit.says["edited reply"], strict=True)
    }
    assert said == {"original-alternate": 0, "original-edited": -1, "alternate-edited": -1}


def test_a_judge_is_held_against_rules_on_the_choices_that_it_answered(conversations: list[Conversation]) -> None:
    arena = judged(conversations, {"all": 0.7, "part": 0.7})
    known = {one.pair for one in arena.verdicts if one.pair.endswith("original-alternate")}
    verdicts = [
        one.model_copy(update={"preference": 1 if one.rater == "all" or one.pair in known else None})
        for one in arena.verdicts
    ]
    audit = Audit(conversations, Arena(arena.histories, arena.replies, arena.pairs, verdicts), FEW)
    rows = [place for place, one in enumerate(audit.choices) if one.pair in known]
    assert audit.bar("all") == (audit.best_rule, audit.to_beat)
    assert audit.bar("part")[1] == max(audit.score(rule, rows).agreement.value for rule in (*RULES, RANDOM))


def test_the_interval_resamples_conversations(conversations: list[Conversation]) -> None:
    """A judge that is right in half of the conversations and wrong in the others is uncertain, however many its
    choices are."""
    arena = judged(conversations, {"judge": 1.0})
    wrong = {one.conversation_id for one in conversations[::2]}
    verdicts = [
        one.model_copy(update={"preference": -(one.preference or 1) if one.pair.split("/")[0] in wrong else 1})
        for one in arena.verdicts
        if one.preference
    ]
    turned = Arena(arena.histories, arena.replies, arena.pairs, verdicts)
    found = Audit(conversations, turned, FEW).scores["judge"].agreement
    by_choices = 2 * 1.96 * 0.5 / np.sqrt(found.n / 2)
    assert found.high - found.low > 1.5 * by_choices


def test_choices_of_the_majority_of_judges_are_those_of_two_of_three(conversations: list[Conversation]) -> None:
    arena = judged(conversations, {"a": 1.0, "b": 1.0, "c": 0.0})
    kept = [one for one in arena.verdicts if one.preference]
    audit = Audit(conversations, Arena(arena.histories, arena.replies, arena.pairs, kept), FEW)
    known = ~np.isnan(np.stack([audit.says[judge] for judge in "abc"])).any(axis=0)
    assert (audit.says[MAJORITY][known] == audit.says["a"][known]).all()


def test_a_pair_without_an_answer_is_left_out_and_counted(conversations: list[Conversation]) -> None:
    arena = judged(conversations, {"judge": 0.7})
    first = arena.verdicts[0].pair
    verdicts = [one.model_copy(update={"preference": None if one.pair == first else 1}) for one in arena.verdicts]
    audit = Audit(conversations, Arena(arena.histories, arena.replies, arena.pairs, verdicts), FEW)
    assert audit.unanswered == {"judge": 1}
    assert audit.scores["judge"].n == len(audit.choices) - 1


def test_orders_that_name_different_winners_are_half_a_hit(conversations: list[Conversation]) -> None:
    arena = judged(conversations, {"judge": 0.7})
    verdicts = [one.model_copy(update={"preference": 1 if one.order == "left" else -1}) for one in arena.verdicts]
    audit = Audit(conversations, Arena(arena.histories, arena.replies, arena.pairs, verdicts), FEW)
    found = audit.scores["judge"]
    assert (found.agreement.value, found.kappa.value, found.ties) == (0.5, 0, 1)
    assert audit.flipped["judge"] == 1


def test_order_flips_are_shares_of_pairs_answered_in_both_orders(conversations: list[Conversation]) -> None:
    arena = judged(conversations, {"judge": 0.7})
    whole = {one.pair for one in arena.verdicts[:20]}
    verdicts = [
        one.model_copy(update={"preference": 1 if one.order == "left" else -1 if one.pair in whole else None})
        for one in arena.verdicts
    ]
    audit = Audit(conversations, Arena(arena.histories, arena.replies, arena.pairs, verdicts), FEW)
    assert audit.flipped["judge"] == 1


def test_all_questions_are_choices_where_they_are_wanted(conversations: list[Conversation]) -> None:
    audit = Audit(conversations, judged(conversations, {"judge": 0.7}), FEW, every=True)
    turns = sum(len(one.turns) for one in conversations)
    assert len(audit.choices) == 12 * turns
    assert sum(row["n"].value for (_, who), row in rows_of(audit, "questions").items() if who == "judge") <= 12 * turns


def test_a_winner_given_twice_counts_once_and_a_contradiction_not_at_all(tmp_path: Path) -> None:
    content = make_conversation(1, 1)
    comparisons = content["turns"][0]["annotations"]["pairwiseComparisons"]
    general = [one for one in comparisons if one["questionId"] == "general"]
    again, other = dict(general[0]), dict(general[1])
    other["winner"] = "B" if other["winner"] == "A" else "A"
    comparisons += [again, other]
    (tmp_path / "conversation_1.json").write_text(json.dumps(content))
    choices = [one for one in choices_of(list(load_conversations(tmp_path))) if one.question == GENERAL]
    assert len(choices) == 2


def test_one_conversation_has_no_interval_and_passes_nobody(conversations: list[Conversation]) -> None:
    one = conversations[:1]
    audit = Audit(one, judged(one, {"judge": 1.0}), FEW)
    assert np.isnan(audit.scores["judge"].agreement.low)
    assert not audit.passed("judge")


def test_without_a_verdict_there_is_no_audit(conversations: list[Conversation]) -> None:
    arena = judged(conversations, {})
    with pytest.raises(Missing):
        Audit(conversations, arena, FEW)


@pytest.mark.slow
def test_judges_that_guess_pass_in_few_studies(conversations: list[Conversation]) -> None:
    """The best of the rules lies above one half, so guessing passes in fewer than 2.5 % of studies."""
    passed = [
        Audit(conversations, judged(conversations, {"judge": 0.5}, seed=seed), FEW).passed("judge")
        for seed in range(100)
    ]
    assert np.mean(passed) <= 0.05
