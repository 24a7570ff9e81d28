"""Acts in replies and rationales: the lexicon, the shares and their intervals."""

import json
from collections import Counter
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from arenas import simulated_arena

from attunebench.analyses.table import Missing
from attunebench.arena.acts import WARMTH, acts, acts_in, lexicon, warmth_of
from attunebench.arena.cells import excludes
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import table_of
from attunebench.conversations import demo_folder
from attunebench.conversations.loading import load_conversations

SETTINGS = ArenaSettings(resamples=200)
NAMES = [act.name for act in lexicon()]
PHRASES = [
    (act, side, phrase)
    for act, words in json.loads(resources.files("attunebench.arena").joinpath("acts.json").read_text("utf-8"))[
        "acts"
    ].items()
    for side in ("done", "cited")
    for phrase in words[side]
]


def found(text, side):
    return {name for name, there in zip(NAMES, acts_in([text], side)[0], strict=True) if there}


def analysed(arena, **settings):
    """The tables of the analysis by id, each a list of rows: column id → cell."""
    made = acts(arena, table_of(arena), replace(SETTINGS, **settings))
    return {
        one.id: [dict(zip([column.id for column in one.columns], row, strict=True)) for row in one.rows]
        for one in made.tables
    }


def row_of(rows, **where):
    return next(row for row in rows if all(row[key].value == value for key, value in where.items()))


@pytest.fixture
def arena():
    """People and two judges with rationales at random, replies at random; the human author asks, models advise."""
    rng = np.random.default_rng(6)
    made = simulated_arena(
        3, strengths={"ann": 0.3, "lab0": 0.0, "lab1": 0.2}, kinds={"ann": "human"}, people=3, judges=2, adversarial=0.5
    )
    said = ["It validates the fear.", "It asks about work.", "Practical advice.", "It names the tension.", ""]
    shares = {"human": [0.5, 0.2, 0.1, 0.1, 0.1], "judge": [0.1, 0.2, 0.5, 0.1, 0.1]}
    verdicts = [
        one.model_copy(update={"rationale": str(rng.choice(said, p=shares[one.rater_kind]))}) for one in made.verdicts
    ]
    replies = {
        key: one.model_copy(update={"text": "What happened then?" if one.kind == "human" else "You could call her."})
        for key, one in made.replies.items()
    }
    return replace(made, verdicts=verdicts, replies=replies)


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("No wonder you are tired.", {"validation"}),
        ("That sounds, honestly, really very hard.", {"validation"}),
        ("Being tired doesn’t mean you failed.", {"reframing"}),
        ("Part of you wants to stay, and part of you is gone already.", {"naming a tension"}),
        ("I can't tell you whether to leave him.", {"setting a boundary"}),
        ("Fair enough, I was too quick there.", {"shift of tone"}),
        ("And then?", {"question"}),
        ("HAVE YOU TRIED writing it down", {"advice"}),
        ("I'm here for you. You've got this!", {"generic warmth"}),
        ("The boat is in the shed.", set()),
        ("They sound the alarm; it was a hard winter.", set()),
        ("", set()),
    ],
)
def test_what_replies_do(text, done):
    assert done == found(text, "done")


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Reply 1 validates her fear.", {"validation"}),
        ("It offers a new perspective on the quarrel.", {"reframing"}),
        ("Captures the ambivalence.", {"naming a tension"}),
        ("Sets a clear limit.", {"setting a boundary"}),
        ("Shifts to a calmer tone.", {"shift of tone"}),
        ("Asks what he fears.", {"question"}),
        ("Jumps to solutions.", {"advice"}),
        ("Boilerplate.", {"generic warmth"}),
        ("Reply 2 mentions the napkin.", set()),
        ("This kind of reply, fixated on facts, takes stock.", set()),
    ],
)
def test_what_rationales_cite(text, cited):
    assert cited == found(text, "cited")


def test_every_phrase_of_the_lexicon_is_found_as_its_act():
    texts = [f"so {phrase.replace(' … ', ' one two ').replace('*', 'ing')} then" for _, _, phrase in PHRASES]
    missed = [one for one, text in zip(PHRASES, texts, strict=True) if one[0] not in found(text, one[1])]
    assert [] == missed


def test_no_phrase_is_of_two_acts():
    times = Counter((side, phrase) for _, side, phrase in PHRASES)
    assert [] == [phrase for phrase, count in times.items() if count > 1]


@pytest.mark.parametrize("text", ["sounds " * 9_000, "sounds" + "' " * 50_000, "sounds" + " " * 99_000, "-" * 99_000])
def test_no_text_keeps_the_search_busy(text):
    assert set() == found(text, "done")


def test_warmth_counts_phrases():
    assert 3 == warmth_of("I'm here for you. I hear you! And I hear you.")
    assert WARMTH in NAMES


def test_the_lexicon_is_mostly_right_about_the_demo_conversations():
    """What it calls validation and questions, the labels call so too; it finds half of them or more."""
    for act, question, least in (("validation", "B19", 0.4), ("question", "B13", 0.9)):
        labels, named = [], []
        for conversation in load_conversations(demo_folder()).conversations:
            for turn in conversation.turns:
                answer = {one.question_id: one.observed for one in turn.judgements}.get(question)
                if answer in ("yes", "no"):
                    labels.append(answer == "yes")
                    named.append(act in found(turn.llm_response, "done"))
        labels, named = np.array(labels), np.array(named)
        assert labels[named].mean() > 0.9
        assert named[labels].mean() >= least


def test_shares_of_rationales_are_counts_over_counts(arena):
    cited = analysed(arena)["cited"]
    for kind, side in (("human", "people"), ("judge", "judges")):
        texts = [one.rationale for one in arena.verdicts if one.rater_kind == kind and one.rationale]
        cell = row_of(cited, act="advice")[side]
        assert sum(text == "Practical advice." for text in texts) / len(texts) == pytest.approx(cell.value)
        assert len(texts) == cell.n
        assert cell.low < cell.value < cell.high


def test_a_planted_difference_between_people_and_judges_is_found_and_no_other(arena):
    cited = analysed(arena)["cited"]
    assert excludes(row_of(cited, act="validation")["difference"])
    assert excludes(row_of(cited, act="advice")["difference"])
    assert not excludes(row_of(cited, act="question")["difference"])
    assert not excludes(row_of(cited, act="naming a tension")["difference"])


def test_overlap_is_counted_over_people_and_judges_who_prefer_the_same_reply(arena):
    by_pair = {}
    for one in arena.verdicts:
        if one.rater_kind == "judge" and one.rationale:
            cited = "advice" in found(one.rationale, "cited")
            by_pair.setdefault((one.pair, np.sign(one.preference)), []).append(cited)
    both = either = 0.0
    for one in arena.verdicts:
        judges = by_pair.get((one.pair, np.sign(one.preference)))
        if one.rater_kind == "human" and one.rationale and judges:
            own = "advice" in found(one.rationale, "cited")
            both += np.mean([own and other for other in judges])
            either += np.mean([own or other for other in judges])
    assert both / either == pytest.approx(row_of(analysed(arena)["cited"], act="advice")["overlap"].value)


def test_independent_rationales_overlap_as_chance_says(arena):
    for row in analysed(arena)["cited"]:
        if row["overlap"].low is not None:
            assert row["overlap"].low <= row["by_chance"].value <= row["overlap"].high


def test_equal_rationales_overlap_wholly(arena):
    same = [one.model_copy(update={"rationale": "It validates."}) for one in arena.verdicts]
    assert 1 == row_of(analysed(replace(arena, verdicts=same))["cited"], act="validation")["overlap"].value


def test_rationales_of_checks_and_of_verdicts_that_were_not_given_do_not_count(arena):
    verdict = arena.verdicts[0].model_copy(update={"rationale": "Boilerplate."})
    more = [verdict.model_copy(update={"check": True}), verdict.model_copy(update={"preference": None})]
    assert analysed(arena)["cited"] == analysed(replace(arena, verdicts=[*arena.verdicts, *more]))["cited"]


def test_acts_that_nobody_cites_do_not_make_histories_too_few(arena):
    silent = [one.model_copy(update={"rationale": "It is about the boat."}) for one in arena.verdicts]
    table = table_of(replace(arena, verdicts=silent, replies={}))
    enough, few = (
        acts(replace(arena, verdicts=silent, replies={}), table, replace(SETTINGS, small=small)).shows
        for small in (20, 1000)
    )
    assert enough != few


def test_each_judge_has_a_row_of_its_own(arena):
    assert ["people", "judge0", "judge1"] == [row["rater"].value for row in analysed(arena)["cited-by"]]


def test_acts_that_replies_do_are_told_by_kind_in_adversarial_histories(arena):
    row = row_of(analysed(arena)["done"], slice="adversarial", act="question")
    hard = sum(one.slice == "adversarial" for one in arena.histories.values())
    assert (1, hard) == (row["human"].value, row["human"].n)
    assert (0, 2 * hard) == (row["model"].value, row["model"].n)
    assert 1 == row["difference"].value


def test_nothing_is_called_human_without_a_human_reply(arena):
    kinds = {"human": "edited", "model": "model"}
    others = {key: one.model_copy(update={"kind": kinds[one.kind]}) for key, one in arena.replies.items()}
    rows = analysed(replace(arena, replies=others))["done"]
    assert {"slice", "act", "model", "edited"} == set(rows[0])


def test_people_and_models_are_compared_on_the_histories_that_have_both(arena):
    some = sorted(arena.histories)[:25]
    fewer = {key: one for key, one in arena.replies.items() if one.kind != "human" or one.history in some}
    changed = {
        key: one if one.history in some else one.model_copy(update={"text": "And then?"}) for key, one in fewer.items()
    }
    row = row_of(analysed(replace(arena, replies=changed))["done"], slice="all", act="question")
    assert row["model"].value > 0
    assert 1 == row["difference"].value


def test_a_single_history_gives_shares_without_an_interval(arena):
    name = next(iter(arena.histories))
    one = replace(
        arena,
        histories={name: arena.histories[name]},
        replies={key: reply for key, reply in arena.replies.items() if reply.history == name},
        pairs={key: pair for key, pair in arena.pairs.items() if pair.history == name},
        verdicts=[verdict for verdict in arena.verdicts if arena.pairs[verdict.pair].history == name],
    )
    cells = [cell for rows in analysed(one).values() for row in rows for cell in row.values()]
    assert {None} == {cell.low for cell in cells}


def test_an_arena_without_replies_and_rationales_has_no_acts(arena):
    with pytest.raises(Missing):
        analysed(replace(arena, replies={}, verdicts=[]))


def test_verdicts_may_lack_rationales_and_replies_words(arena):
    silent = [one.model_copy(update={"rationale": " "}) for one in arena.verdicts]
    empty = {key: one.model_copy(update={"text": ""}) for key, one in arena.replies.items()}
    made = analysed(replace(arena, verdicts=silent, replies=empty))
    assert ["done"] == list(made)
    assert {0.0} == {row["human"].value for row in made["done"]}
