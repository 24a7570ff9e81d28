"""The simple rules that judge pairs of replies: what each prefers, and that no order of the replies sways it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.backends.baselines import JUDGES, preference_of
from attunebench.errors import UsageError
from attunebench.protocol.arena import Shown

HISTORY = (("seeker", "I am sad and ashamed about the exam."), ("supporter", "Why?"), ("seeker", "I failed it twice."))
KINDS = st.sampled_from(["original", "alternate", "edited", "model", "human"])
SHOWN = st.builds(Shown, st.just(HISTORY), st.text(), st.text(), KINDS, KINDS)


def prefers(judge: str, first: str, second: str, kinds: tuple[str, str] = ("model", "model")) -> int:
    return preference_of(judge, Shown(HISTORY, first, second, *kinds), seed=1)


@pytest.mark.parametrize("judge", [name for name in JUDGES if name != "random"])
@given(shown=SHOWN)
def test_the_order_of_the_replies_sways_no_rule(judge: str, shown: Shown) -> None:
    swapped = replace(
        shown, first=shown.second, second=shown.first, first_kind=shown.second_kind, second_kind=shown.first_kind
    )
    assert preference_of(judge, shown) == -preference_of(judge, swapped)


@pytest.mark.parametrize(("judge", "expected"), [("longest", 1), ("shortest", -1)])
def test_length_rules_count_characters(judge: str, expected: int) -> None:
    assert (expected, 0) == (prefers(judge, "ab", "a"), prefers(judge, "ab", "cd"))


@pytest.mark.parametrize(
    ("kinds", "expected"), [(("edited", "model"), 1), (("human", "edited"), -1), (("edited", "edited"), 0)]
)
def test_edited_prefers_the_edited_reply_whatever_it_says(kinds: tuple[str, str], expected: int) -> None:
    assert expected == prefers("edited", "", "long", kinds)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("You are sad.", "Cheer up.", 1),
        ("You are sad.", "You are sad and ashamed.", -1),
        ("It failed.", "It is over.", 1),
        ("It is over.", "Go on.", 0),
    ],
)
def test_lexicon_prefers_what_takes_up_feelings_then_words(first: str, second: str, expected: int) -> None:
    assert expected == prefers("lexicon", first, second)


def test_random_is_fair_and_draws_by_seed_and_texts() -> None:
    drawn = [prefers("random", f"{number}", "x") for number in range(400)]
    assert drawn == [prefers("random", f"{number}", "x") for number in range(400)]
    assert {-2, -1, 1, 2} == set(drawn)
    assert 0.4 < sum(one > 0 for one in drawn) / 400 < 0.6
    assert drawn != [preference_of("random", Shown(HISTORY, f"{number}", "x"), 2) for number in range(400)]


def test_an_unknown_judge_is_refused() -> None:
    with pytest.raises(UsageError):
        prefers("majority", "a", "b")
