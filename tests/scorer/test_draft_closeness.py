"""BERTScores of drafts on their way into the scores: which pairs are compared, how often, and where they stand."""

from __future__ import annotations

import copy

import pytest
from factory import make_conversation, write_conversations
from reading import load_results
from result_factory import noisy_result, oracle_result, write_result
from word_encoder import FACTS, WordEncoder

from attunebench.conversations import load_conversations
from attunebench.metrics.registry import REGISTRY
from attunebench.results.folder import Findings, result_files
from attunebench.results.parsing import parse_result
from attunebench.scorer import score
from attunebench.scorer.assembling import Task
from attunebench.scorer.closeness import DraftScores, draft_scores
from attunebench.scorer.groups import ScoreSettings
from attunebench.scorer.pool import Scorers
from attunebench.scorer.truth import Ground

IDS = [metric_id for metric_id, card in REGISTRY.items() if card.optional]
COUNT = 24


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    path = tmp_path_factory.mktemp("closeness")
    write_conversations(path / "truth", COUNT, turns=2)
    for seed in range(COUNT):
        raw = make_conversation(seed, turns=2)
        write_result(path / "results", noisy_result(raw, 1))
        write_result(path / "results", oracle_result(raw))
    return path / "results", path / "truth"


@pytest.fixture(scope="module")
def data(folders):
    return load_conversations(folders[1]).conversations, load_results(folders[0]).results


def one_turn(raw, draft):
    result = oracle_result(raw)
    result["turns"][0]["em_drafted_response"] = draft
    return parse_result(result, source_file="x.json")


def test_without_asking_there_is_no_value_and_no_word_of_it(data):
    scores = score(*data, resamples=10)
    assert "bertscore" not in scores["metadata"]
    assert {None} == {entry["metrics"][i] for entry in scores["conversations"] for i in IDS}
    assert {0} == {group["metrics"][i]["n"] for group in scores["aggregates"] for i in IDS}


def test_a_turn_is_compared_with_its_own_replies(data):
    conversations, results = data
    drafts = draft_scores(conversations, results, WordEncoder())
    scores = score(conversations, results, resamples=10, drafts=drafts)
    oracle = [entry for entry in scores["conversations"] if entry["em_model"] == "oracle"]
    assert {1.0} == {turn["metrics"]["bertscore_human"] for entry in oracle for turn in entry["turns"]}
    assert {1.0} == {entry["metrics"]["bertscore_max"] for entry in oracle}
    assert all(entry["metrics"]["bertscore_original"] < 1 for entry in oracle)
    assert FACTS.items() <= scores["metadata"]["bertscore"].items()


def test_no_draft_is_0_and_a_block_that_was_never_asked_is_undefined(data):
    raw = make_conversation(0, turns=2)
    silent, never = one_turn(raw, None), copy.deepcopy(oracle_result(raw))
    for turn in never["turns"]:
        del turn["em_drafted_response"]
    never["em_model"] = "never"
    results = [silent, parse_result(never, source_file="y.json")]
    scores = score(data[0], results, resamples=10, drafts=draft_scores(data[0], results, WordEncoder()))
    by_model = {entry["em_model"]: entry for entry in scores["conversations"]}
    assert [0.0] * 4 == [by_model["oracle"]["turns"][0]["metrics"][i] for i in IDS]
    assert [None] * 4 == [by_model["never"]["metrics"][i] for i in IDS]


def test_every_text_of_a_pair_is_read_once_and_unknown_conversations_not_at_all(data):
    conversations, results = data
    encoder, twice = WordEncoder(), (*results, *results)
    stranger = parse_result(oracle_result(make_conversation(999)), source_file="z.json")
    found = draft_scores(conversations, (*twice, stranger), encoder)
    assert len(set(encoder.asked)) == found.facts["texts"]
    # A draft that several turns share ("I hear you …") is met again with other replies, in blocks of their own.
    assert len(encoder.asked) < 1.2 * found.facts["texts"]
    assert not {
        turn["annotations"]["alternateResponses"]["humanEdited"] for turn in make_conversation(999)["turns"]
    } & set(encoder.asked)


def test_the_order_of_results_changes_nothing(data):
    conversations, results = data
    one, other = WordEncoder(), WordEncoder()
    assert draft_scores(conversations, results, one) == draft_scores(conversations, results[::-1], other)
    assert one.asked == other.asked


def test_progress_ends_where_it_said_it_would(data):
    told = []
    draft_scores(*data, WordEncoder(), lambda done, total: told.append((done, total)))
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    assert 1 == len({total for _, total in told})


def test_texts_that_were_cut_are_counted(data):
    raw = make_conversation(0, turns=2)
    results = [one_turn(raw, "word " * 500)]
    assert 1 == draft_scores(data[0], results, WordEncoder()).facts["texts_cut"]


@pytest.mark.parametrize("draft", ["\ud800 half", "😀", "\u202eשלום", "a" * 100_000, "\x00"])
def test_odd_drafts_are_compared_and_looked_up(data, draft):
    found = draft_scores(data[0], [one_turn(make_conversation(0, turns=2), draft)], WordEncoder())
    assert {"original", "alternate", "human"} == set(found.of(data[0][0].conversation_id, 1, draft.strip()))


def test_a_draft_that_came_later_is_undefined(data):
    raw = make_conversation(0, turns=2)
    drafts = draft_scores(data[0], [one_turn(raw, "one")], WordEncoder())
    scores = score(data[0], [one_turn(raw, "another")], resamples=10, drafts=drafts)
    assert scores["conversations"][0]["turns"][0]["metrics"]["bertscore_max"] is None


def test_several_processes_find_what_one_finds(folders, data):
    drafts: DraftScores = draft_scores(*data, WordEncoder())
    ground, files = Ground.of(data[0]), result_files(folders[0], Findings())
    found = []
    for processes in (1, 2):
        with Scorers(Task(ground, ScoreSettings(0, 10), drafts), processes) as scorers:
            found.append([outcome.line for outcome in scorers.score(files)])
    assert found[0] == found[1]
    assert b'"bertscore_max":1.0' in b"".join(found[0])
