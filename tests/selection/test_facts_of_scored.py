"""Facts come from the scores or from a folder; who is in one alone, and whose labels differ, is said by file."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from planted_studies import older
from planted_within import people_scores, people_study

from attunebench.errors import DataError, UsageError
from attunebench.scores.loading import score_table
from attunebench.selection.facts import facts_of

FOLDER = "data"


def entries(count: int | None = None) -> list[Any]:
    return copy.deepcopy(people_scores()["ground_truth"][:count])


def test_the_facts_that_the_scores_hold_are_taken_where_none_are_given() -> None:
    facts = facts_of(people_study())
    assert tuple(people_scores()["ground_truth"]) == facts.entries
    assert ((), ()) == (facts.warnings, facts.notes)


def test_scores_of_an_older_version_want_the_conversations() -> None:
    study = score_table(older(people_scores()))
    with pytest.raises(UsageError, match="-d DIR"):
        facts_of(study)
    assert tuple(entries()) == facts_of(study, entries(), folder=FOLDER).entries


def test_the_same_facts_in_a_folder_leave_nothing_to_say() -> None:
    facts = facts_of(people_study(), entries(), folder=FOLDER)
    assert ((), ()) == (facts.warnings, facts.notes)


def test_who_is_in_one_and_not_in_the_other_is_named() -> None:
    given = entries(64)
    given[0]["conversationId"], given[0]["source_file"] = "new", "new.json"
    facts = facts_of(people_study(), given, folder=FOLDER)
    assert 63 == len(facts.entries) == len(facts.study.ids)
    left_out, unscored = facts.notes
    assert left_out.endswith("conversation_1.json, conversation_65.json and conversation_66.json.")
    assert unscored.endswith("new.json.")


def test_a_folder_of_other_conversations_is_refused() -> None:
    given = entries(1)
    given[0]["conversationId"] = "new"
    with pytest.raises(DataError, match=FOLDER):
        facts_of(people_study(), given, folder=FOLDER)


def test_the_facts_in_a_folder_count() -> None:
    given = entries()
    given[2]["demographics"]["gender"] = "Woman"
    facts = facts_of(people_study(), given, folder=FOLDER)
    assert "Woman" == facts.entries[2]["demographics"]["gender"]
    assert ((), ()) == (facts.warnings, facts.notes)


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry["wide"].update(q2="other"),
        lambda entry: entry["post_panas"].update(positive=11),
        lambda entry: entry["turns"][0].update(tags={"Afraid": 3.0}),
        lambda entry: entry["turns"][0].update(observed="n" * len(entry["turns"][0]["observed"])),
    ],
    ids=["wide", "panas", "tags", "binary"],
)
def test_other_labels_are_a_warning(change: Any) -> None:
    given = entries()
    change(given[4])
    facts = facts_of(people_study(), given, folder=FOLDER)
    (warning,) = facts.warnings
    assert "conversation_5.json" in warning


def test_names_of_strangers_steer_no_terminal() -> None:
    given = entries(2)
    given[1]["conversationId"], given[1]["source_file"] = "new", "\x1b[31mred.json"
    assert "\x1b" not in " ".join(facts_of(people_study(), given, folder=FOLDER).notes)
