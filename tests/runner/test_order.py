"""The order of a run: every beginning of it is a fair sample."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from scipy.stats import chisquare

from attunebench.conversations.schema import Conversation, Demographics, ParticipantProfile, Turn
from attunebench.runner.order import order_words, stratified_order, stratum_of

TOPICS = ("Family", "Work", "Health")
DIAGNOSES = ((), ("ADHD",), ("Anxiety", "Depression"))
TURN = Turn(number=1, user_message="a", llm_response="b")


def conversation(number: int, topic: str, diagnoses: tuple[str, ...]) -> Conversation:
    profile = ParticipantProfile(demographics=Demographics(diagnoses=diagnoses))
    return Conversation(conversation_id=f"c{number}", metadata={"category": topic}, profile=profile, turns=(TURN,))


def talks(n: int = 90, seed: int = 1) -> list[Conversation]:
    rng = random.Random(seed)
    return [conversation(i, rng.choice(TOPICS), rng.choice(DIAGNOSES)) for i in range(n)]


def ids(conversations: list[Conversation]) -> list[str]:
    return [each.conversation_id for each in conversations]


def test_every_conversation_comes_once() -> None:
    assert sorted(ids(talks())) == sorted(ids(stratified_order(talks(), 0)))


def test_the_order_depends_on_the_seed_and_not_on_the_order_of_loading() -> None:
    assert ids(stratified_order(talks(), 3)) == ids(stratified_order(talks()[::-1], 3))
    assert ids(stratified_order(talks(), 3)) != ids(stratified_order(talks(), 4))


def test_the_order_is_the_same_in_every_process_and_version() -> None:
    assert ["c2", "c0", "c1", "c3"] == ids(stratified_order([conversation(i, "Work", ()) for i in range(4)], 0))


@pytest.mark.parametrize("seed", range(5))
def test_each_beginning_holds_each_stratum_in_proportion(seed: int) -> None:
    order = stratified_order(talks(), seed)
    whole = Counter(map(stratum_of, order))
    for length in range(1, len(order)):
        part = Counter(map(stratum_of, order[:length]))
        for stratum, n in whole.items():
            assert abs(part[stratum] - n * length / len(order)) < 2.5


def test_every_conversation_is_equally_likely_to_be_in_a_beginning() -> None:
    population, runs, length = talks(30), 1000, 10
    counts = Counter(i for seed in range(runs) for i in ids(stratified_order(population, seed)[:length]))
    assert runs * length == sum(counts.values())
    # Conversations of one stratum are exchangeable: within it the counts differ by chance alone.
    for stratum in set(map(stratum_of, population)):
        members = [counts[each.conversation_id] for each in population if stratum_of(each) == stratum]
        if len(members) > 1:
            assert chisquare(members).pvalue > 1e-4
    # Across strata too, up to what the whole numbers in a beginning leave.
    assert all(abs(count / runs - length / len(population)) < 0.06 for count in counts.values())


def test_the_mean_of_a_beginning_is_an_unbiased_estimate_of_the_whole() -> None:
    population = talks(60)
    value = {each.conversation_id: len(str(stratum_of(each))) + i % 7 for i, each in enumerate(population)}
    truth = sum(value.values()) / len(value)
    means = [sum(value[i] for i in ids(stratified_order(population, seed)[:15])) / 15 for seed in range(300)]
    assert truth == pytest.approx(sum(means) / len(means), rel=0.01)


def test_a_conversation_without_profile_or_category_has_its_place() -> None:
    bare = Conversation(conversation_id="x", metadata={"category": 7}, turns=(TURN,))
    assert ("", ()) == stratum_of(bare)
    assert ["x"] == ids(stratified_order([bare], 0))


def test_nothing_told_is_no_diagnosis() -> None:
    assert ("work", ()) == stratum_of(conversation(1, " Work ", ("None of the above",)))


@pytest.mark.parametrize(
    ("told", "groups"),
    [
        (("ADHD",), ("ASD or ADHD",)),
        (("ASD",), ("ASD or ADHD",)),
        (("Autism spectrum disorder", "Generalised anxiety disorder"), ("ASD or ADHD", "anxiety or depression")),
        (("ADHD and depression",), ("ASD or ADHD", "anxiety or depression")),
        (("Depression", "Anxiety"), ("anxiety or depression",)),
        (("PTSD", "None of the above"), ("other",)),
    ],
)
def test_diagnoses_count_by_their_groups(told: tuple[str, ...], groups: tuple[str, ...]) -> None:
    assert groups == stratum_of(conversation(1, "Work", told))[1]


def test_several_topics_are_one_stratum_in_whatever_order() -> None:
    one, two = (
        Conversation(conversation_id="x", metadata={"category": topics}, turns=(TURN,))
        for topics in (["Work", "Family"], ["family", "work"])
    )
    assert "family + work" == stratum_of(one)[0] == stratum_of(two)[0]


def test_a_set_that_changes_keeps_the_order_of_the_other_strata() -> None:
    added = conversation(1000, "Work", ())
    before, after = (
        [each.conversation_id for each in stratified_order(some, 0) if stratum_of(each) != stratum_of(added)]
        for some in (talks(), [*talks(), added])
    )
    assert before == after


def test_the_words_name_how_much_and_how() -> None:
    assert "the first 5 of 12, stratified by topic and diagnosis, seed 0" == order_words(5, 12, 0)
