"""Every number that `describe` gives of the bundled conversations, against a plain count over their JSON."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from attunebench.analyses.table import Analysis, Cell
from attunebench.conversations import demo_folder, load_conversations
from attunebench.datasets.describing import describe

RAW: list[dict[str, Any]] = [
    json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(demo_folder()).glob("conversation_*.json"))
]
TURNS = [turn for raw in RAW for turn in raw["turns"]]
PEOPLE: dict[str, dict[str, Any]] = {
    raw["participant_profile"]["participant_id"]: raw["participant_profile"] for raw in RAW
}


@pytest.fixture(scope="module")
def sections() -> dict[str, Analysis]:
    return {section.name: section for section in describe(load_conversations(demo_folder()))}


def rows(section: Analysis, table_id: str) -> dict[Any, dict[str, Cell]]:
    """First column, or the first two where these are texts both → column id → cell."""
    table = next(table for table in section.tables if table.id == table_id)
    keys = 2 if table.columns[0].id == "what" and table.columns[1].id == "value" else 1
    found = {}
    for row in table.rows:
        key = tuple(cell.value for cell in row[:keys]) if keys == 2 else row[0].value
        found[key] = dict(zip([column.id for column in table.columns], row, strict=True))
    return found


def spread(values: Iterable[float]) -> list[float]:
    values = list(values)
    return [
        len(values),
        sum(values) / len(values),
        statistics.stdev(values),
        statistics.median(values),
        min(values),
        max(values),
    ]


def shown_spread(row: dict[str, Cell]) -> list[Any]:
    return [row[name].value for name in ("n", "mean", "sd", "median", "min", "max")]


def yes_share(answers: list[str]) -> tuple[float, int] | None:
    known = [answer for answer in answers if answer != "na"]
    return (known.count("yes") / len(known), len(known)) if known else None


def test_conversations_turns_and_words(sections: dict[str, Analysis]) -> None:
    found = rows(sections["size"], "amounts")
    each = Counter(raw["participant_profile"]["participant_id"] for raw in RAW)
    for label, expected in (
        ("Conversations of a participant", list(each.values())),
        ("Turns of a conversation", [len(raw["turns"]) for raw in RAW]),
        ("Emotions of a turn", [len(turn["moodShiftTags"]) for turn in TURNS]),
        ("Words of a participant's message", [len(turn["userMessage"].split()) for turn in TURNS]),
        ("Words of the original model's reply", [len(turn["llmResponse"].split()) for turn in TURNS]),
    ):
        assert pytest.approx(spread(expected)) == shown_spread(found[label])
        assert sum(expected) == found[label]["total"].value


def test_labels_by_kind_add_up(sections: dict[str, Analysis]) -> None:
    given = {kind: row["given"].value for kind, row in rows(sections["size"], "labels").items()}
    judgements = sum(len(turn["annotations"]["binaryJudgements"]) for turn in TURNS)
    negative = [
        raw for raw in RAW if raw["conversationWideQuestions"]["q3_modelFit"].startswith(("Mixed", "Mostly off-target"))
    ]
    expected = {
        "Emotions of a turn": sum(len(turn["moodShiftTags"]) for turn in TURNS),
        "Turns marked neutral": sum(not turn["moodShiftTags"] for turn in TURNS),
        "Binary questions: observed": judgements,
        "Binary questions: preferred": judgements,
        "Winners of comparisons": sum(len(turn["annotations"]["pairwiseComparisons"]) for turn in TURNS),
        "PANAS items before": 20 * len(RAW),
        "PANAS items after": 20 * len(RAW),
        "Four Branch ratings": 4 * len(RAW),
        "Q1, goals": len(RAW),
        "Q2, clarity of feelings": len(RAW),
        "Q3, fit of the model": len(RAW),
        "Follow-up after a negative Q3": len(negative),
    }
    assert {**expected, "In all": sum(expected.values())} == given


def test_emotions(sections: dict[str, Analysis]) -> None:
    felt: dict[str, list[int]] = defaultdict(list)
    for turn in TURNS:
        for tag in turn["moodShiftTags"]:
            felt[tag["emotion"].capitalize()].append(tag["intensity"])
    found = rows(sections["emotions"], "emotions")
    assert 20 == len(found)
    total = sum(map(len, felt.values()))
    for emotion, row in found.items():
        strengths = felt[str(emotion)]
        assert len(strengths) == row["n"].value
        assert pytest.approx(len(strengths) / total) == row["of_tags"].value
        assert pytest.approx(len(strengths) / len(TURNS)) == row["of_turns"].value
        assert (pytest.approx(sum(strengths) / len(strengths)) if strengths else None) == row["intensity"].value
    kinds = rows(sections["emotions"], "turns")
    assert sum(bool(turn["moodShiftTags"]) for turn in TURNS) == kinds["Turns with an emotion"]["n"].value
    assert sum(len(turn["moodShiftTags"]) == 2 for turn in TURNS) == kinds["… with 2 emotions"]["n"].value


def test_base_rates_of_every_question(sections: dict[str, Analysis]) -> None:
    observed, preferred = defaultdict(list), defaultdict(list)
    for turn in TURNS:
        for judgement in turn["annotations"]["binaryJudgements"]:
            observed[judgement["questionId"]].append(judgement["observedBehavior"])
            preferred[judgement["questionId"]].append(judgement["preferredBehavior"])
    rates = rows(sections["binary"], "questions")
    assert 36 == len(rates) == len(observed)
    for question, row in rates.items():
        ours, theirs = observed[question], preferred[question]
        for answers, cell in ((ours, row["observed"]), (theirs, row["preferred"])):
            assert pytest.approx(yes_share(answers)) == (cell.value, cell.n)
            assert cell.low is not None
            assert cell.high is not None
            assert cell.low <= cell.value <= cell.high  # type: ignore[operator]
        both = [(o, p) for o, p in zip(ours, theirs, strict=True) if "na" not in (o, p)]
        gap = sum(o == "yes" for o, _ in both) / len(both) - sum(p == "yes" for _, p in both) / len(both)
        assert pytest.approx((gap, len(both))) == (row["gap"].value, row["gap"].n)


def test_intervals_of_base_rates_count_answers_of_one_person_as_what_they_are_worth(
    sections: dict[str, Analysis],
) -> None:
    """Wilson's interval on the effective number of answers, from the raw JSON."""
    yes: dict[str, Counter[str]] = defaultdict(Counter)
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for raw in RAW:
        person = raw["participant_profile"]["participant_id"]
        for turn in raw["turns"]:
            for judgement in turn["annotations"]["binaryJudgements"]:
                if judgement["observedBehavior"] != "na":
                    asked[judgement["questionId"]][person] += 1
                    yes[judgement["questionId"]][person] += judgement["observedBehavior"] == "yes"
    z = statistics.NormalDist().inv_cdf(0.975)
    for question, row in rows(sections["binary"], "questions").items():
        people, n = asked[question], asked[question].total()
        share = yes[question].total() / n
        squares = sum((yes[question][person] - share * people[person]) ** 2 for person in people)
        k = len(people)
        variance = squares * k / (k - 1) / n**2 if k > 1 else 0
        worth = min(share * (1 - share) / variance, n) if variance else k
        middle = (share + z * z / (2 * worth)) / (1 + z * z / worth)
        half = z / (1 + z * z / worth) * (share * (1 - share) / worth + z * z / (4 * worth**2)) ** 0.5
        cell = row["observed"]
        assert pytest.approx((middle - half, middle + half)) == (cell.low, cell.high), question


def test_categories_hold_their_questions(sections: dict[str, Analysis]) -> None:
    book = json.loads((Path(__file__).parents[2] / "annotation_codebook.json").read_text(encoding="utf-8"))
    category = {entry["id"]: entry["category"] for entry in book["binaryQuestions"]}
    answers = defaultdict(list)
    for turn in TURNS:
        for judgement in turn["annotations"]["binaryJudgements"]:
            answers[category[judgement["questionId"]]].append(judgement["preferredBehavior"])
    found = rows(sections["binary"], "categories")
    assert {*answers, "all"} == set(found)
    for name, theirs in answers.items():
        assert pytest.approx(yes_share(theirs)) == (found[name]["preferred"].value, found[name]["preferred"].n)
        assert len(theirs) == found[name]["judgements"].value


def test_wins_by_question_and_pair(sections: dict[str, Analysis]) -> None:
    made = [c for turn in TURNS for c in turn["annotations"]["pairwiseComparisons"]]
    winner = [c["responseA"] if c["winner"] == "A" else c["responseB"] for c in made]
    found = rows(sections["pairwise"], "questions")
    assert {"all", *(c["questionId"] for c in made)} == set(found)
    for question, row in found.items():
        for variant in ("original", "alternate", "human"):
            inside = [
                won == variant
                for c, won in zip(made, winner, strict=True)
                if question in ("all", c["questionId"]) and variant in (c["responseA"], c["responseB"])
            ]
            assert pytest.approx((sum(inside) / len(inside), len(inside))) == (row[variant].value, row[variant].n)
    pairs = rows(sections["pairwise"], "pairs")
    two = [
        won == "human"
        for c, won in zip(made, winner, strict=True)
        if {c["responseA"], c["responseB"]} == {"human", "original"}
    ]
    assert pytest.approx(sum(two) / len(two)) == pairs["Human-edited over original"]["all"].value


POSITIVE = (
    *("active", "alert", "attentive", "determined", "enthusiastic"),
    *("excited", "inspired", "interested", "proud", "strong"),
)


def test_panas_totals_and_items(sections: dict[str, Analysis]) -> None:
    totals = rows(sections["affect"], "totals")
    before = [sum(raw["prePanas"]["responses"][item] for item in POSITIVE) for raw in RAW]
    after = [sum(raw["postPanas"]["responses"][item] for item in POSITIVE) for raw in RAW]
    change = [now - then for then, now in zip(before, after, strict=True)]
    for name, values in (("before", before), ("after", after), ("change", change)):
        assert pytest.approx(spread(values)) == shown_spread(totals[f"Positive affect, {name}"])
        assert 0 == totals[f"Positive affect, {name}"]["missing"].value
    negative = [raw["postPanas"]["totalNegativeAffect"] - raw["prePanas"]["totalNegativeAffect"] for raw in RAW]
    assert pytest.approx(spread(negative)) == shown_spread(totals["Negative affect, change"])
    upset = rows(sections["affect"], "items")["Upset"]
    assert pytest.approx(statistics.mean(raw["prePanas"]["responses"]["upset"] for raw in RAW)) == upset["before"].value


@pytest.mark.parametrize(
    ("table", "key"), [("q1", "q1_lookingFor"), ("q2", "q2_emotionClarity"), ("q3", "q3_modelFit")]
)
def test_answers_about_the_whole_talk(sections: dict[str, Analysis], table: str, key: str) -> None:
    counts: Counter[str] = Counter()
    people = defaultdict(set)
    for raw in RAW:
        given = raw["conversationWideQuestions"][key]
        for answer in given if isinstance(given, list) else [given]:
            counts[answer] += 1
            people[answer].add(raw["participant_profile"]["participant_id"])
    for answer, row in rows(sections["answers"], table).items():
        assert counts[str(answer)] == row["conversations"].value
        assert len(people[str(answer)]) == row["participants"].value
        assert pytest.approx(counts[str(answer)] / len(RAW)) == row["share"].value
    assert sum(counts.values()) == sum(row["conversations"].value for row in rows(sections["answers"], table).values())  # type: ignore[misc]


def test_branch_ratings(sections: dict[str, Analysis]) -> None:
    ratings = [raw["conversationWideQuestions"]["fourBranchScores"]["managing"] for raw in RAW]
    assert pytest.approx(spread(ratings)) == shown_spread(rows(sections["answers"], "branches")["Managing emotion"])


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("Gender", "gender"),
        ("Age", "age_range"),
        ("Country", "country"),
        ("Education", "education"),
        ("English", "english_proficiency"),
        ("Work or studies", "work_edu_background"),
    ],
)
def test_demographics_count_people_once(sections: dict[str, Analysis], label: str, key: str) -> None:
    counts: Counter[str] = Counter()
    for profile in PEOPLE.values():
        told = profile["demographics"][key]
        counts.update(told if isinstance(told, list) else [told])
    found = {value: row for (facet, value), row in rows(sections["people"], "demographics").items() if facet == label}
    assert counts == {value: row["participants"].value for value, row in found.items()}
    assert {len(PEOPLE)} == {row["n"].value for row in found.values()}


def test_diagnoses_and_their_groups(sections: dict[str, Analysis]) -> None:
    told = [profile["demographics"]["diagnoses"] for profile in PEOPLE.values()]
    counts = Counter(name for names in told for name in names)
    diagnoses = rows(sections["people"], "diagnoses")
    assert counts == {name: row["participants"].value for name, row in diagnoses.items()}
    groups = rows(sections["people"], "diagnosis_groups")
    assert sum(names == ["None of the above"] for names in told) == groups["none"]["participants"].value
    affected = sum(bool({"Anxiety", "Depression"} & set(names)) for names in told)
    assert affected == groups["anxiety or depression"]["participants"].value


def test_screeners_and_scales(sections: dict[str, Analysis]) -> None:
    scores = [profile["computed_scores"] for profile in PEOPLE.values()]
    found = rows(sections["people"], "screeners")
    poor = found["Well-being (WHO-5)", "poor (below 13)"]
    assert sum(score["who_5"] < 13 for score in scores) == poor["participants"].value
    for (what, band), holds in {
        ("Anxiety (PROMIS)", "normal (below 55)"): lambda score: score["promis_anxiety_t"] < 55,
        ("Anxiety (PROMIS)", "mild (55 to < 60)"): lambda score: 55 <= score["promis_anxiety_t"] < 60,
        ("Sleep disturbance (PROMIS)", "moderate (60 to < 70)"): lambda score: 60 <= score["promis_sleep_t"] < 70,
        ("Depression (PROMIS)", "severe (70 and above)"): lambda score: score["promis_depression_t"] >= 70,
        ("Autistic traits (AQ-10)", "screen-positive (6 and above)"): lambda score: score["aq_10"] >= 6,
        ("ADHD symptoms (ASRS-6)", "screen-positive (4 and above of 6)"): lambda score: score["asrs_6"] >= 4,
    }.items():
        assert sum(map(holds, scores)) == found[what, band]["participants"].value, (what, band)
    scales = rows(sections["people"], "scales")
    stability = [score["tipi_stability"] for score in scores]
    assert pytest.approx(spread(stability)) == shown_spread(scales["TIPI emotional stability (2-14)"])
    assert len(scores[0]) == len(scales)


def test_topics_attitudes_and_models(sections: dict[str, Analysis]) -> None:
    for table, read in (
        ("topics", lambda raw: raw["metadata"]["category"]),
        ("attitudes", lambda raw: raw["participant_profile"]["conversation_topic_attitude"]),
        ("models", lambda raw: raw["metadata"]["model"]),
    ):
        found = {value: row["conversations"].value for value, row in rows(sections["topics"], table).items()}
        assert Counter(map(read, RAW)) == found
    subtopics = {key: row["conversations"].value for key, row in rows(sections["topics"], "subtopics").items()}
    assert Counter((raw["metadata"]["category"], raw["metadata"]["subtopic"]) for raw in RAW) == subtopics
