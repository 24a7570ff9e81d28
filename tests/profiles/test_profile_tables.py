"""What the tables of predicted profiles claim, what they hold back, and what stands beside every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from profiled import talks

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Analysis, Cell, Table
from attunebench.conversations.schema import Conversation
from attunebench.conversations.traits import CANNOT_TELL, TRAITS, Trait, traits_of
from attunebench.profiles.running import answers_in
from attunebench.profiles.scoring import Scored, score
from attunebench.profiles.tables import EXPERIMENTAL, PRIVACY, tabulate
from attunebench.reports.analyses import FORMATS, render

QUICK = Settings(resamples=400, by_participant=True)


def scored(
    conversations: Sequence[Conversation], answers: Sequence[Mapping[str, Any]], traits: Sequence[Trait] | None = None
) -> Scored:
    given = {
        c.conversation_id: answers_in({"predicted_profile": dict(said)}, TRAITS)
        for c, said in zip(conversations, answers, strict=True)
    }
    return score(conversations, given, traits or traits_of(conversations))


def shown(found: Scored, settings: Settings = QUICK, n: int | None = None) -> Analysis:
    return tabulate(found, "local", "some-model", len(found.people) if n is None else n, settings)


def table(analysis: Analysis, name: str) -> Table:
    return next(one for one in analysis.tables if one.id == name)


def cell(analysis: Analysis, name: str, row: str, column: str) -> Cell:
    of = table(analysis, name)
    index = [one.id for one in of.columns].index(column)
    return next(cells[index] for cells in of.rows if str(cells[0].value).startswith(row))


def readable(n: int, each: int = 1) -> tuple[list[Conversation], list[dict[str, Any]]]:
    """Half of n people are well, and the model tells all of them rightly."""
    people = [{"who_5": 20 if place % 2 else 5, "tipi_openness": 2 + place % 13} for place in range(n)]
    said = [
        {"who_5": "not poor" if one["who_5"] == 20 else "poor", "tipi_openness": one["tipi_openness"]} for one in people
    ]
    return talks(people, each=each), [answer for answer in said for _ in range(each)]


def test_what_is_told_rightly_of_many_people_is_claimed() -> None:
    analysis = shown(scored(*readable(40)))
    assert "Well-being (WHO-5) +0.500" in analysis.shows
    gain = cell(analysis, "accuracy", "Well-being", "difference")
    assert (0.5, 40, False) == (gain.value, gain.n, gain.small)
    assert gain.p_corrected is not None
    assert gain.p_corrected < 0.05
    assert (0.0, 1.0) == (
        cell(analysis, "scales", "Openness", "error").value,
        pytest.approx(cell(analysis, "scales", "Openness", "spearman").value),
    )


def test_of_few_people_nothing_is_claimed_however_much_they_talk() -> None:
    """Nineteen people of ten conversations each are nineteen people."""
    analysis = shown(scored(*readable(19, each=10)))
    assert "19 participants: fewer than 20, too few for a claim." == analysis.shows
    gain = cell(analysis, "accuracy", "Well-being", "difference")
    assert (True, None, None) == (gain.small, gain.p, gain.p_corrected)


def test_an_item_that_few_people_have_is_small_among_many() -> None:
    people = [{"who_5": 5 + 15 * (place % 2)} | ({"aq_10": place} if place < 10 else {}) for place in range(30)]
    analysis = shown(scored(talks(people), [{"who_5": "poor", "aq_10": "screen-positive"}] * 30))
    small = {name: cell(analysis, "accuracy", name, "accuracy").small for name in ("Well-being", "Autistic")}
    assert {"Well-being": False, "Autistic": True} == small


def test_a_person_s_further_conversations_make_no_interval_narrower() -> None:
    people = [{"who_5": 5 if place % 3 else 20} for place in range(30)]
    said = [{"who_5": "poor"}] * 30
    once = cell(shown(scored(talks(people), said)), "accuracy", "Well-being", "accuracy")
    often = cell(shown(scored(talks(people, each=8), said * 8)), "accuracy", "Well-being", "accuracy")
    assert once.value == pytest.approx(often.value)
    assert (once.low, once.high) == (pytest.approx(often.low), pytest.approx(often.high))
    assert (30, 240) == (once.n, often.n)


def test_declining_shows_as_a_rate_of_its_own() -> None:
    people, said = readable(40)
    said = [{**answer, "who_5": CANNOT_TELL} if place < 10 else answer for place, answer in enumerate(said)]
    said[39] = {}
    analysis = shown(scored(people, said))
    rates = {name: cell(analysis, "answers", "Well-being", name).value for name in ("answered", "cannot_tell")}
    assert {"answered": 29 / 40, "cannot_tell": 10 / 40} == pytest.approx(rates)
    assert 1 / 40 == pytest.approx(cell(analysis, "answers", "Well-being", "not_answered").value)
    right = cell(analysis, "answers", "Well-being", "right_when_answered")
    assert (1.0, 29) == (right.value, right.n)
    assert 29 / 40 == pytest.approx(cell(analysis, "accuracy", "Well-being", "accuracy").value)


def test_a_share_of_all_still_has_a_doubt() -> None:
    found = cell(shown(scored(*readable(40))), "accuracy", "Well-being", "accuracy")
    assert (1.0, 1.0) == (found.value, found.high)
    assert found.low is not None
    assert 0.85 < found.low < 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "share"), [("guess", 0.5), ("poor", 0.5), ("guess", 0.7), ("poor", 0.7)])
def test_whoever_does_not_read_is_hardly_ever_said_to_tell_more_than_the_base_rate(answer: str, share: float) -> None:
    rng = np.random.default_rng(11)
    settings = Settings(resamples=200, by_participant=True)
    who_5 = [trait for trait in TRAITS if trait.id == "who_5"]
    claims, studies = 0, 20
    for _ in range(studies):
        people = talks([{"who_5": 5 if rng.random() < share else 20} for _ in range(41)])
        said = [{"who_5": rng.choice(["poor", "not poor"]) if answer == "guess" else answer} for _ in people]
        claims += "Well-being (WHO-5) +" in shown(scored(people, said, who_5), settings).shows
    assert claims / studies <= 0.05


def test_two_renderings_are_byte_identical_in_every_format() -> None:
    people, said = readable(24)
    for form in FORMATS:
        assert render([shown(scored(people, said))], form) == render([shown(scored(people, said))], form)


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_privacy_and_being_experimental_stand_beside_the_tables(form: str) -> None:
    text = " ".join(render([shown(scored(*readable(24)))], form, width=200).split())
    assert 1 == text.count(PRIVACY)
    assert EXPERIMENTAL in text
    assert "screener" in text


def test_what_is_claimed_does_not_depend_on_the_resamples() -> None:
    few, many = (shown(scored(*readable(24)), Settings(resamples=n, by_participant=True)) for n in (100, 2000))
    for one, other in zip(few.tables, many.tables, strict=True):
        assert [[cell.p for cell in row] for row in one.rows] == [[cell.p for cell in row] for row in other.rows]
    assert (PRIVACY,) == few.warnings


def test_who_is_left_out_is_counted() -> None:
    people, said = readable(24)
    found = score(people, {"c000": answers_in({"predicted_profile": said[0]}, TRAITS)}, traits_of(people))
    assert any("1 of 24 conversations have a prediction" in warning for warning in shown(found, n=24).warnings)


def test_nobody_predicted_makes_no_table() -> None:
    found = score(talks([{"who_5": 3}]), {}, TRAITS)
    analysis = shown(found, n=1)
    assert ((), "No conversation has a prediction.") == (analysis.tables, analysis.shows)


def test_profiles_that_say_nothing_give_dashes_and_no_error() -> None:
    analysis = shown(scored(talks([{}] * 25), [{"who_5": "poor"}] * 25))
    assert cell(analysis, "accuracy", "Well-being", "accuracy").value is None
    assert cell(analysis, "scales", "Openness", "error").value is None
    render([analysis], "terminal")
