"""Each filter of `subset-report`, through the command, against a plain reading of the demonstration's files.

The readers here know the files' JSON alone: no loader, no field and no condition of the package.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from demo_scores import demo_scores_file

from attunebench.cli.subset_report import register
from attunebench.conversations import demo_folder
from attunebench.selection import filters

Raw = dict[str, Any]
MODEL = "lexicon"
TESTS = {"min": operator.ge, "max": operator.le, "below": operator.lt, "above": operator.gt}


@cache
def raws() -> tuple[Raw, ...]:
    return tuple(json.loads(path.read_text("utf-8")) for path in sorted(Path(demo_folder()).glob("*.json")))


def told(key: str) -> Callable[[Raw], Any]:
    return lambda raw: raw["participant_profile"]["demographics"][key]


def scale(key: str) -> Callable[[Raw], float]:
    return lambda raw: float(raw["participant_profile"]["computed_scores"][key])


def change(side: str) -> Callable[[Raw], float]:
    return lambda raw: float(raw["postPanas"][side] - raw["prePanas"][side])


def bands(read: Callable[[Raw], float], *cuts: tuple[str, float]) -> Callable[[Raw], str]:
    """The last name whose bound the value reaches."""
    return lambda raw: [name for name, bound in cuts if read(raw) >= bound][-1]


def diagnosis_groups(raw: Raw) -> list[str]:
    names = [name.lower() for name in told("diagnoses")(raw)]
    if names == ["none of the above"]:
        return ["none"]
    found = ["any"]
    found += ["anxiety or depression"] * any("anxiety" in name or "depression" in name for name in names)
    found += ["ASD or ADHD"] * any("autism" in name or "adhd" in name for name in names)
    return found


LEAST = float("-inf")
T_CUTS = (("normal", LEAST), ("mild", 55), ("moderate", 60), ("severe", 70))
TRAITS = ("extraversion", "agreeableness", "conscientiousness", "stability", "openness")
TEXTS: dict[str, tuple[str, Callable[[Raw], Any]]] = {
    "diagnosis": ("adhd", told("diagnoses")),
    "diagnosis-group": ("ASD or ADHD", diagnosis_groups),
    "age": ("25-34", told("age_range")),
    "gender": ("man", told("gender")),
    "country": ("Kenya", told("country")),
    "education": ("bachelor's degree", told("education")),
    "english": ("Native", told("english_proficiency")),
    "work": ("Media", told("work_edu_background")),
    "participant": ("demo-p3", lambda raw: raw["participant_profile"]["participant_id"]),
    "topic": ("Family", lambda raw: raw["metadata"]["category"]),
    "subtopic": ("Break-up", lambda raw: raw["metadata"]["subtopic"]),
    "attitude": ("Mixed", lambda raw: raw["participant_profile"]["conversation_topic_attitude"]),
    "om-model": ("demo-om-1", lambda raw: raw["metadata"]["model"]),
    "conversation-id": ("cca5dbd5-b641-531c-88ff-6a903f59c179", lambda raw: raw["conversationId"]),
    "q1": ("To just listen or let me vent", lambda raw: raw["conversationWideQuestions"]["q1_lookingFor"]),
    "q2": ("Mixed or conflicted", lambda raw: raw["conversationWideQuestions"]["q2_emotionClarity"]),
    "q3": ("Mostly well-matched", lambda raw: raw["conversationWideQuestions"]["q3_modelFit"]),
    "who5-band": ("poor", bands(scale("who_5"), ("poor", LEAST), ("not poor", 13))),
    "aq10-band": ("screen-positive", bands(scale("aq_10"), ("screen-negative", LEAST), ("screen-positive", 6))),
    "asrs6-band": ("screen-positive", bands(scale("asrs_6"), ("screen-negative", LEAST), ("screen-positive", 4))),
    "promis-anxiety-band": ("moderate", bands(scale("promis_anxiety_t"), *T_CUTS)),
    "promis-depression-band": ("mild", bands(scale("promis_depression_t"), *T_CUTS)),
    "promis-sleep-band": ("normal", bands(scale("promis_sleep_t"), *T_CUTS)),
}
"""Option → a value that some conversations have, and what the file holds there: a text or a list."""
NUMBERS: dict[str, tuple[float, Callable[[Raw], float]]] = {
    "turns": (5, lambda raw: float(len(raw["turns"]))),
    "who5": (12, scale("who_5")),
    "aq10": (4, scale("aq_10")),
    "asrs6": (3, scale("asrs_6")),
    **{f"promis-{what}": (10, scale(f"promis_{what}")) for what in ("anxiety", "depression")},
    "promis-sleep": (13, scale("promis_sleep")),
    **{f"promis-{what}-t": (57.3, scale(f"promis_{what}_t")) for what in ("anxiety", "depression")},
    "promis-sleep-t": (55.5, scale("promis_sleep_t")),
    **{f"tipi-{trait}": (9, scale(f"tipi_{trait}")) for trait in TRAITS},
    "panas-positive-before": (28, lambda raw: float(raw["prePanas"]["totalPositiveAffect"])),
    "panas-negative-before": (30, lambda raw: float(raw["prePanas"]["totalNegativeAffect"])),
    "panas-positive-change": (2, change("totalPositiveAffect")),
    "panas-negative-change": (-4, change("totalNegativeAffect")),
}
"""Stem → a bound that some conversations have on each side, and the number in the file."""
FILES = "conversation_1003.json"
THIRDS = {f"tipi-{trait}-third": scale(f"tipi_{trait}") for trait in TRAITS} | {
    f"panas-{side}-before-third": NUMBERS[f"panas-{side}-before"][1] for side in ("positive", "negative")
}


@dataclass(frozen=True)
class Case:
    option: str
    value: str
    chosen: frozenset[str]


def names(value: Any, wanted: str, *, part: bool = False) -> bool:
    given = [one.casefold() for one in (value if isinstance(value, list) else [value])]
    return any(wanted.casefold() in one for one in given) if part else wanted.casefold() in given


def thirds_of(option: str, read: Callable[[Raw], float], which: str) -> set[str]:
    """The lowest (highest) values that come nearest to a third, the fewer where two ways are equally near."""
    mood = option.startswith("panas")
    units = {
        raw["conversationId"] if mood else raw["participant_profile"]["participant_id"]: read(raw) for raw in raws()
    }
    values, sign = np.array(list(units.values())), -1 if which == "high" else 1
    cuts = sorted(set(sign * values))[:-1]
    cut = min(cuts, key=lambda one: (abs(int((sign * values <= one).sum()) - len(values) / 3), one))
    return {raw["conversationId"] for raw in raws() if sign * read(raw) <= cut}


def cases() -> list[Case]:
    everyone = {raw["conversationId"] for raw in raws()}
    found: dict[str, tuple[str, set[str]]] = {}
    for option, (value, read) in TEXTS.items():
        part = option == "diagnosis"
        found[option] = (value, {raw["conversationId"] for raw in raws() if names(read(raw), value, part=part)})
    for option, read in THIRDS.items():
        low, high = (thirds_of(option, read, which) for which in ("low", "high"))
        found[option] = ("middle", everyone - low - high) if everyone - low - high else ("high", high)
    found["file"] = (FILES, {json.loads((Path(demo_folder()) / FILES).read_text("utf-8"))["conversationId"]})
    stem, (bound, turns) = "turns", NUMBERS["turns"]
    found[stem] = (f"{bound:g}", {raw["conversationId"] for raw in raws() if turns(raw) == bound})
    negated = {f"not-{option}": (value, everyone - ids) for option, (value, ids) in found.items()}
    for stem, (bound, read) in NUMBERS.items():
        for test, holds in TESTS.items():
            ids = {raw["conversationId"] for raw in raws() if holds(read(raw), bound)}
            found[f"{stem}-{test}"] = (f"{bound:g}", ids)
    return [Case(option, value, frozenset(ids)) for option, (value, ids) in (found | negated).items()]


@cache
def composite() -> dict[str, float]:
    scores = json.loads(demo_scores_file().read_text("utf-8"))
    return {
        entry["conversationId"]: entry["metrics"]["composite"]
        for entry in scores["conversations"]
        if entry["em_model"] == MODEL
    }


def people(ids: frozenset[str]) -> int:
    return len({raw["participant_profile"]["participant_id"] for raw in raws() if raw["conversationId"] in ids})


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scores of one model without its answers: a quick file."""
    content = json.loads(demo_scores_file().read_text("utf-8"))
    content["conversations"] = [entry for entry in content["conversations"] if entry["em_model"] == MODEL]
    content["aggregates"] = [entry for entry in content["aggregates"] if entry["em_model"] == MODEL]
    path = tmp_path_factory.mktemp("scores") / "scores.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@cache
def command() -> Any:
    """The command alone, made once: making all of them takes longer than what they do here."""
    app = typer.Typer(rich_markup_mode=None)
    register(app)
    return typer.main.get_command(app)


Report = Callable[..., list[Any]]


@pytest.fixture
def report(scores: Path, capsys: pytest.CaptureFixture[str]) -> Report:
    """The analyses that the command prints with these options."""

    def called(*words: str) -> list[Any]:
        quick = ("--metric", "composite", "--resamples", "100", "--format", "json")
        command()(["-s", str(scores), *words, *quick], standalone_mode=False)
        captured = capsys.readouterr()
        assert "" == captured.err
        return list(json.loads(captured.out)["analyses"])

    return called


def test_there_is_a_case_for_every_filter() -> None:
    assert {option.name for option in filters()} == {case.option for case in cases()}


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.option)
def test_a_filter_chooses_what_the_files_say(report: Report, case: Case) -> None:
    head, found = report(f"--{case.option}={case.value}")
    inside, outside = head["tables"][0]["rows"]
    assert 0 < len(case.chosen) < 12
    assert (len(case.chosen), people(case.chosen)) == (inside["n"], inside["participants"])
    assert 12 - len(case.chosen) == outside["n"]
    cell = found["tables"][0]["rows"][0]["composite"]
    assert pytest.approx(np.mean([composite()[one] for one in case.chosen])) == cell["value"]
    assert len(case.chosen) == cell["n"]


def test_options_combine_and_repeat(report: Report) -> None:
    """Any of the values of an option, and all of the options."""
    ids = [
        raw["conversationId"]
        for raw in raws()
        if any(name in ("ADHD", "Depression") for name in told("diagnoses")(raw))
        and told("gender")(raw) != "Man"
        and scale("who_5")(raw) < 15
        and len(raw["turns"]) >= 5
    ]
    assert 1 < len(ids) < 10
    words = ("--diagnosis=ADHD", "--diagnosis=depression", "--not-gender=man", "--who5-below=15")
    head, found = report(*words, "--where", "turns >= 5")
    assert len(ids) == head["tables"][0]["rows"][0]["n"]
    cell = found["tables"][0]["rows"][0]["composite"]
    assert pytest.approx(np.mean([composite()[one] for one in ids])) == cell["value"]


def test_compare_holds_the_chosen_against_all_others(report: Report) -> None:
    inside = [one for raw in raws() if "ADHD" in told("diagnoses")(raw) for one in [composite()[raw["conversationId"]]]]
    outside = [
        one for raw in raws() if "ADHD" not in told("diagnoses")(raw) for one in [composite()[raw["conversationId"]]]
    ]
    _, beside = report("--diagnosis", "ADHD", "--compare")
    row = beside["tables"][0]["rows"][0]
    assert (len(inside), len(outside)) == (row["subset"]["n"], row["rest"]["n"])
    assert pytest.approx(np.mean(inside)) == row["subset"]["value"]
    assert pytest.approx(np.mean(outside)) == row["rest"]["value"]
    assert pytest.approx(np.mean(inside) - np.mean(outside)) == row["difference"]["value"]
