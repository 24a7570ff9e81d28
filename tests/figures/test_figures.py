"""Figures from planted scores: each one is drawn, says what it shows over how many, and is the same every time."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import pytest
from matplotlib.text import Text
from planted import Plan, Skill, planted_scores
from typer.testing import CliRunner

from attunebench import figures
from attunebench.analyses import Settings, Subject, analyse
from attunebench.analyses.palette import palette
from attunebench.cli.main import app
from attunebench.errors import DataError, UsageError
from attunebench.figures import between, people, within
from attunebench.figures.drawing import drawing
from attunebench.figures.sheets import HeatMap
from attunebench.figures.source import Source, short_names
from attunebench.scores import write_scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

SETTINGS = Settings(resamples=200, small=4)
LOOK = figures.Look("double", 60)
NAMES = ("alpha", "beta", "gamma-with-a-name-that-is-much-too-long-for-print")


def skill(place: int, **more: object) -> Skill:
    return Skill(om=0.9 - 0.1 * place, hp=0.8 - 0.1 * place, judge=0.7, cost=0.01 * (place + 1), **more)


def told(conversation: dict[str, Any], index: int) -> dict[str, Any]:
    conversation["participant_profile"]["demographics"]["diagnoses"] = ["Anxiety" if index % 2 else "None of the above"]
    return conversation


@cache
def study() -> ScoreTable:
    models: dict[str, Any] = {name: {"default": skill(i), "verbose": skill(i)} for i, name in enumerate(NAMES)}
    people = {"human/ann": Skill(pairwise=0.8), "human/person-0": Skill()}
    return score_table([planted_scores(models | people, Plan(conversations=8, people=4, shape=told), resamples=100)])


@cache
def drawn(width: Literal["single", "double"] = "double") -> dict[str, figures.Picture]:
    pictures, skipped = figures.draw(study(), SETTINGS, figures.Look(width, 60))
    assert [] == skipped
    return {picture.id: picture for picture in pictures}


@cache
def one(name: str, width: Literal["single", "double"] = "double") -> figures.Picture:
    (picture,), _ = figures.draw(study(), SETTINGS, figures.Look(width, 60), [name])
    return picture


@cache
def svg(name: str) -> str:
    return figures.render(drawn()[name], "svg", LOOK).decode()


def words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("&gt;", ">").split())


IDS = (
    "leaderboard",
    "skill-correlations",
    "skill-correlations-pairs",
    "skill-correlations-metrics",
    "turn-metrics-default",
    "turn-metrics-verbose",
    "post-metrics-default",
    "post-metrics-verbose",
    "draft-metrics-default",
    "draft-metrics-verbose",
    "top-three",
    "profiles",
    "topics",
    "mode-composites",
    "mode-differences-verbose",
    "mode-ranks",
    "win-rates",
    "question-heatmap-om",
    "question-heatmap-hp",
    "branch-errors",
    "conversation-wide",
    "perspective-gap",
    "turn-drift",
    "pooled-drift",
    "mood-path",
    "diagnosis-groups",
    "annotators",
    "annotators-by-conversation",
    "distributions",
    "difficulty",
    "cost",
)
UNNAMED = ("difficulty", "top-three", "skill-", "pooled-drift", "annotators-by")
"""Figures that name no model, or not all."""


@pytest.mark.slow
def test_every_figure_of_the_catalogue_is_drawn_from_scores_that_hold_everything() -> None:
    assert list(IDS) == list(drawn())


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_a_figure_has_its_title_and_says_over_how_many(name: str) -> None:
    text = words(svg(name))
    assert drawn()[name].title in text
    over = {"mode-ranks": "rank", "mode-composites": "n", "annotators-by-conversation": "one value"}
    assert over[name] in text if name in over else re.search(r"n = \d|over \d models|over models", text)


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_a_caption_says_how_many_conversations_and_how_intervals_were_made_in_sixty_words(name: str) -> None:
    caption = " ".join(drawn()[name].caption)
    assert "conversation" in caption
    assert "bootstrap" in caption
    assert len(caption.split()) <= 60


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in IDS if not name.startswith(UNNAMED)])
def test_all_models_are_named_in_the_svg_as_text(name: str) -> None:
    text = words(svg(name))
    shown = short_names(NAMES)
    assert shown[NAMES[2]] != NAMES[2]
    assert all(short in text for short in shown.values())


@pytest.mark.slow
def test_no_text_is_smaller_than_six_points_or_larger_than_nine() -> None:
    for picture in drawn().values():
        for text in texts(picture):
            assert 6 <= text.get_fontsize() <= 9


def texts(picture: figures.Picture) -> list[Text]:
    """The texts that are drawn: numbers beyond an axis are not."""
    ticks = {
        label
        for axes in picture.figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not axes.axison or not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    found = picture.figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    return [text for text in found if text.get_text().strip() and text not in ticks]


def off_the_page(picture: figures.Picture, dpi: int) -> bool:
    with drawing():
        picture.figure.set_dpi(dpi)
        box, (width, height) = picture.figure.get_tightbbox(), picture.figure.get_size_inches()
    return bool(min(box.x0, box.y0) < 0 or box.x1 > width or box.y1 > height)


def overlaps(picture: figures.Picture) -> list[tuple[str, str]]:
    """Pairs of level texts that lie on each other by more than a point."""
    with drawing():
        picture.figure.set_dpi(72)
        picture.figure.draw_without_rendering()
        level = [text for text in texts(picture) if text.get_rotation() in (0, 90)]
        boxes = [(text.get_text(), text.get_window_extent().padded(-1)) for text in level]
    return [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]


@pytest.mark.slow
@pytest.mark.parametrize("width", ["single", "double"])
@pytest.mark.parametrize("name", IDS)
def test_nothing_is_cut_off_at_the_edge_and_no_text_lies_on_another(
    name: str, width: Literal["single", "double"]
) -> None:
    assert not off_the_page(drawn(width)[name], 72)
    assert [] == overlaps(drawn(width)[name])


@pytest.mark.slow
def test_fifteen_long_names_fit_into_one_column() -> None:
    names = [f"provider{i}/some-very-long-model-name-of-generation-{i}-instruct-preview" for i in range(15)]
    many = score_table([planted_scores({name: Skill() for name in names}, Plan(conversations=2), resamples=100)])
    pictures, _ = figures.draw(
        many, SETTINGS, figures.Look("single", 72), ["leaderboard", "win-rates", "branch-errors"]
    )
    assert [3.5, 7.2, 3.5] == [round(float(picture.figure.get_size_inches()[0]), 1) for picture in pictures]
    assert [False] * 3 == [off_the_page(picture, dpi) for picture, dpi in zip(pictures, (72, 72, 300), strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_two_drawings_of_the_same_scores_are_the_same_bytes(format: figures.Format) -> None:
    (again,), _ = figures.draw(study(), SETTINGS, LOOK, ["branch-errors"])
    assert figures.render(one("branch-errors"), format, LOOK) == figures.render(again, format, LOOK)


@pytest.mark.parametrize(("format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_figure_can_be_had_in_each_format_and_carries_our_stamp(format: figures.Format, start: bytes) -> None:
    made = figures.render(one("win-rates"), format, LOOK)
    assert made.startswith(start)
    assert b"attune-bench figures" in made


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["leaderboard", "turn-metrics-verbose", "turn-drift", "profiles", "cost", "branch-errors", "mode-composites"],
)
def test_a_model_has_the_same_colour_in_every_figure(name: str) -> None:
    models = [group for group in study().groups if group.kind == "model"]
    for style in palette(models).values():
        assert style.colour.lower() in svg(name).lower()


def test_a_subset_of_models_keeps_the_colours_of_the_whole_study() -> None:
    (picture,), _ = figures.draw(study(), Settings(resamples=100, mode="verbose"), LOOK, ["branch-errors"])
    models = [group for group in study().groups if group.kind == "model"]
    colours = {style.colour.lower() for style in palette(models).values()}
    text = figures.render(picture, "svg", LOOK).decode().lower()
    assert all(colour in text for colour in colours)


def test_figures_show_the_numbers_of_the_tables() -> None:
    analysis = analyse("leaders", Subject(study(), SETTINGS))
    table = next(table for table in analysis.tables if table.id == "means")
    source = Source(study(), SETTINGS, LOOK)
    at = [column.id for column in table.columns].index("pairwise_accuracy")
    models = source.models()
    shown = dict(zip(models.labels, source.means(models, "pairwise_accuracy"), strict=True))
    assert {row[0].value: row[at].value for row in table.rows} == pytest.approx(
        {label: cell.value for label, cell in shown.items()}
    )


@pytest.mark.slow
def test_the_diagonal_of_correlations_is_the_reliability_and_the_number_of_models_is_printed() -> None:
    source = Source(study(), SETTINGS, LOOK)
    heat = next(between.skill_correlations(source))
    assert isinstance(heat, HeatMap)
    reliability = {row[0].value: row[3].value for row in source.table("independence", "reliability").rows}
    for place, row in enumerate(heat.plot.rows):
        assert float(heat.texts[place][place].split()[0].replace("−", "-")) == pytest.approx(
            reliability[row.label], abs=0.006
        )
    assert f"{len(source.models().labels)} models" in heat.plot.axis


def test_modes_are_compared_over_the_conversations_that_a_model_has_in_all_of_them() -> None:
    raw = planted_scores({name: {"default": Skill(), "verbose": Skill()} for name in "ab"}, Plan(conversations=4))
    gone = raw["ground_truth"][0]["conversationId"]
    raw["conversations"] = [
        entry
        for entry in raw["conversations"]
        if (entry["em_model"], entry["mode"], entry["conversationId"]) != ("a", "verbose", gone)
    ]
    (sheet,) = between.mode_composites(Source(score_table([raw]), SETTINGS, LOOK))
    cells = {row.label: [cell.n for cell in row.cells] for row in sheet.panels[0].plot.rows}
    assert {"a": [3, 3], "b": [4, 4]} == cells


def test_a_conversation_counts_once_in_a_topic_that_it_names_twice() -> None:
    raw = planted_scores({"a": Skill(), "b": Skill()}, Plan(conversations=4), resamples=100)
    for fact in raw["ground_truth"]:
        fact["topics"] = ["Work", "work "]
    (heat,) = people.topics(Source(score_table([raw]), SETTINGS, LOOK))
    assert [("work", 4)] == [(row.label, row.cells[0].value) for row in heat.plot.rows]


@pytest.mark.parametrize(
    ("name", "keys"),
    [("perspective-gap", 2), ("mode-composites", 3), ("annotators-by-conversation", 5)],
)
def test_a_figure_has_a_key_for_what_its_markers_mean(name: str, keys: int) -> None:
    (legend,) = one(name, "single").figure.legends
    assert len(legend.get_texts()) == keys


def test_questions_stand_in_the_order_of_their_accuracy_and_labels_have_no_colour() -> None:
    heat = next(within.question_heatmap(Source(study(), SETTINGS, LOOK)))
    level = [row.cells[heat.aside].value for row in heat.plot.rows]
    assert level == sorted(level, reverse=True)
    assert ["yes", "frequent"] == [column.id for column in heat.plot.columns[: heat.aside]]


def test_chance_lies_where_the_metric_has_it() -> None:
    axes = next(a for a in one("leaderboard").figure.axes if "Pairwise" in a.get_title(loc="left"))
    near = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--" and line.get_zorder() == 1]
    assert 0.5 in near or "chance" in axes.get_xlabel()


# What scores cannot give


def test_a_figure_that_scores_cannot_give_is_skipped_with_the_reason() -> None:
    alone = score_table([planted_scores({"solo": Skill()}, Plan(conversations=3, turns=2), resamples=100)])
    names = ["top-three", "mode-ranks", "mode-differences", "win-rates", "turn-drift", "draft-metrics", "cost"]
    pictures, skipped = figures.draw(alone, SETTINGS, LOOK, names)
    assert [] == pictures
    assert names == [one.name for one in skipped]
    assert all(one.reason.endswith(".") for one in skipped)


@pytest.mark.slow
def test_one_conversation_and_answers_that_are_lacking_break_no_figure() -> None:
    models = {"silent": Skill(unanswered=1.0, tag=0, false_tag=0), "$\\frac{1}$ <b>": Skill(), "模型\u202e": Skill()}
    odd = score_table([planted_scores(models, Plan(conversations=1), resamples=100)])
    names = ["leaderboard", "turn-metrics", "perspective-gap", "diagnosis-groups", "distributions", "win-rates"]
    pictures, skipped = figures.draw(odd, SETTINGS, LOOK, names)
    assert [] == skipped
    text = figures.render(pictures[0], "svg", LOOK).decode()
    assert "$\\frac{1}$ &lt;b&gt;" in text
    assert "\u202e" not in text
    assert not re.search(r"(?<!\\)[<>]b>", figures.captions(pictures, []))


@pytest.mark.slow
def test_names_are_no_markup_in_captions() -> None:
    name = "![i](http://127.0.0.1:9/p.png) [click](http://127.0.0.1:9) <a> `x` | *b*"
    hostile = score_table([planted_scores({name: Skill(), "other": Skill()}, Plan(conversations=4), resamples=100)])
    pictures, _ = figures.draw(hostile, SETTINGS, LOOK, ["leaderboard", "win-rates", "turn-drift"])
    text = figures.captions(pictures, [figures.Skipped("cost", f"because {name}.")], [f"Beware of {name}."])
    assert "click" in text
    assert [] == re.findall(r"(?<!\\)[\[\]]|(?<!\\)<a|(?<!\\)\*b", text)


def test_a_name_that_does_not_exist_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="leaderboard"):
        figures.draw(study(), only=["leaderbord"])


def test_what_several_figures_share_stands_once_in_the_methods_note() -> None:
    shared, own = "Tests are corrected.", "Only here."
    pictures = [figures.Picture("a", "A", one("branch-errors").figure, (), (shared, own))]
    pictures.append(figures.Picture("b", "B", one("branch-errors").figure, (), (shared,)))
    text = figures.methods(pictures, SETTINGS)
    assert [1, 1] == [text.count(shared), text.count(own)]
    assert "See `a`" in text


def test_names_that_print_alike_get_numbers() -> None:
    assert ["same", "same #2"] == list(short_names(["same", "same\u200e"]).values())


# Files and the command


def test_another_programs_file_is_left_alone_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "leaderboard.svg").write_text("mine")
    with pytest.raises(DataError, match=r"leaderboard\.svg"):
        figures.write({"top-three.svg": b"attune-bench figures", "leaderboard.svg": b""}, tmp_path)
    assert ["leaderboard.svg"] == [path.name for path in tmp_path.iterdir()]


def test_our_own_files_are_replaced(tmp_path: Path) -> None:
    for content in (b"attune-bench figures 1", b"attune-bench figures 2"):
        figures.write({"a.svg": content}, tmp_path)
    assert b"attune-bench figures 2" == (tmp_path / "a.svg").read_bytes()


@pytest.mark.slow
def test_the_command_writes_figures_and_captions_and_says_what_it_left_out(tmp_path: Path) -> None:
    write_scores(tmp_path / "scores.json", planted_scores({"a": Skill(), "b": Skill()}, Plan(conversations=4)))
    out = tmp_path / "out"
    words = ["figures", "-s", str(tmp_path / "scores.json"), "-o", str(out), "--resamples", "100", "--dpi", "60"]
    words += ["--format", "svg", "--format", "png", "--only", "branch-errors,mode-ranks", "--width", "single"]
    for _ in range(2):
        done = CliRunner().invoke(app, words)
        assert 0 == done.exit_code, done.output
    names = ["branch-errors.png", "branch-errors.svg", "captions.md", "methods.md"]
    assert names == sorted(path.name for path in out.iterdir())
    assert "mode-ranks was not drawn: " in done.stderr
    assert "4 conversations" in (out / "captions.md").read_text("utf-8")
    assert "`mode-ranks`: " in (out / "captions.md").read_text("utf-8")


def test_the_list_names_every_figure_with_what_it_needs() -> None:
    done = CliRunner().invoke(app, ["figures", "--only", "list"])
    assert list(figures.FIGURES) == [line.split()[0] for line in done.output.splitlines()]


def test_the_documentation_names_every_figure() -> None:
    page = (Path(__file__).parents[2] / "docs" / "figures.md").read_text("utf-8")
    assert list(figures.FIGURES) == re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)


def test_without_matplotlib_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r'pip install "\.\[analyses\]"'):
        figures.draw(study())


def test_importing_the_package_leaves_matplotlib_out() -> None:
    code = "import sys, attunebench.figures, attunebench.cli.figures; sys.exit('matplotlib' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
