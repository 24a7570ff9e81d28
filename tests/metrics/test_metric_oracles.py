"""Our metrics agree with scikit-learn, scipy and brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import kendalltau
from sklearn import metrics as sklearn_metrics

from attunebench.constants import PANAS_ITEMS, PANAS_SIMILARITY
from attunebench.metrics import binary, emotion
from attunebench.metrics.matching import matched_total
from attunebench.metrics.pairwise import tau_b
from attunebench.metrics.questions import entry_similarity, q3_follow_up

yes_no = st.sampled_from(["yes", "no"])
similarity_tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(st.floats(0, 1), min_size=width, max_size=width), min_size=1, max_size=5)
)


@settings(max_examples=40)
@given(st.lists(st.tuples(yes_no, yes_no), min_size=1, max_size=30))
def test_pooled_rates_are_those_of_scikit_learn(pairs):
    left, right = zip(*pairs, strict=True)
    labels, answers = (np.array([[[ord(answer[0]) for answer in side]]], dtype=np.uint8) for side in (left, right))
    truth = binary.BinaryTruth.of(labels, np.zeros(len(pairs), dtype=np.intp), 1)
    correct = truth.right(answers)
    counts = binary.Confusion(*truth.tally(correct)[0, 0].tolist())
    options = {"pos_label": "yes", "zero_division": 0}
    assert sklearn_metrics.accuracy_score(left, right) == pytest.approx(counts.rates["accuracy"])
    assert sklearn_metrics.precision_score(left, right, **options) == pytest.approx(counts.rates["precision"])
    assert sklearn_metrics.recall_score(left, right, **options) == pytest.approx(counts.rates["recall"])
    assert sklearn_metrics.f1_score(left, right, **options) == pytest.approx(counts.rates["f1"])
    if len({*left, *right}) == 2:
        assert sklearn_metrics.matthews_corrcoef(left, right) == pytest.approx(counts.rates["mcc"], abs=1e-12)
    else:
        assert 0 == counts.rates["mcc"]
    assert counts.rates["accuracy"] == truth.accuracies(correct)[0, 0]


@settings(max_examples=40)
@given(st.sets(st.sampled_from(PANAS_ITEMS), max_size=6), st.sets(st.sampled_from(PANAS_ITEMS), max_size=6))
def test_emotion_f1_is_that_of_scikit_learn_wherever_a_side_has_a_tag(felt, guessed):
    rows = [[[int(item in side) for item in PANAS_ITEMS]] for side in (felt, guessed)]
    expected = sklearn_metrics.f1_score(*rows, average="samples", zero_division=1.0)
    assert expected == pytest.approx(emotion.emotion_f1(dict.fromkeys(felt), dict.fromkeys(guessed)))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=3, max_size=3))
def test_tau_b_is_that_of_scipy(pairs):
    one, other = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert tau_b(one, other) is None
    else:
        assert float(kendalltau(one, other).statistic) == pytest.approx(tau_b(one, other), abs=1e-12)


@settings(max_examples=60)
@given(similarity_tables)
def test_a_matching_is_the_best_of_all_there_are(table):
    rows, columns = linear_sum_assignment(table, maximize=True)
    assert sum(table[row][column] for row, column in zip(rows, columns, strict=True)) == pytest.approx(
        matched_total(table)
    )
    wide = table if len(table) <= len(table[0]) else [list(column) for column in zip(*table, strict=True)]
    totals = (
        sum(row[column] for row, column in zip(wide, chosen, strict=True))
        for chosen in permutations(range(len(wide[0])), len(wide))
    )
    assert max(totals) == pytest.approx(matched_total(table))


@settings(max_examples=40)
@given(st.lists(st.text("ab cd", max_size=9), max_size=4), st.lists(st.text("ab cd", max_size=9), max_size=4))
def test_the_follow_up_is_the_best_soft_overlap_of_all_matchings(person, model):
    if not person or not model:
        assert float(not person and not model) == q3_follow_up(person, model)
        return
    short, long = sorted((person, model), key=len)
    best = max(
        sum(entry_similarity(one, other) for one, other in zip(short, chosen, strict=True))
        for chosen in permutations(long, len(short))
    )
    assert best / (len(person) + len(model) - best) == pytest.approx(q3_follow_up(person, model))


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(PANAS_ITEMS), st.integers(1, 7), max_size=5),
    st.dictionaries(st.sampled_from(PANAS_ITEMS), st.integers(1, 7), max_size=5),
)
def test_swapping_person_and_model_changes_no_symmetric_emotion_metric(one, other):
    there, back = (emotion.turn_values(*pair, PANAS_SIMILARITY) for pair in ((one, other), (other, one)))
    for metric_id in ("emotion_f1", "emotion_va", "emotion_va_intensity", "emotion_f1_intensity"):
        assert there[metric_id] == pytest.approx(back[metric_id])
    assert there["emotion_precision"] == pytest.approx(back["emotion_recall"])


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(PANAS_ITEMS), st.integers(1, 7), max_size=5), st.randoms())
def test_the_order_of_tags_plays_no_part_and_a_repeated_tag_counts_once(felt, random):
    pairs = [*felt.items(), *((name, max(1, strength - 1)) for name, strength in felt.items())]
    random.shuffle(pairs)
    assert felt == emotion.as_tags(pairs)
    other = {"Proud": 3, "Upset": None}
    for reordered in (felt, emotion.as_tags(pairs)):
        assert emotion.emotion_va(felt, other, PANAS_SIMILARITY) == pytest.approx(
            emotion.emotion_va(reordered, other, PANAS_SIMILARITY)
        )


def test_a_tag_with_an_intensity_beats_the_same_tag_without():
    assert {"Proud": 4} == emotion.as_tags([("Proud", None), ("Proud", 4), ("Proud", None), ("Proud", 2)])
