"""What the functions return: the dict of before, tables, frames, files, and what a notebook shows of them."""

from __future__ import annotations

import json
import pickle
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from html_study import HOSTILE, small_scores
from planted import Plan, Skill, planted_scores

import attunebench
from attunebench.analyses import ANALYSES
from attunebench.analyses.table import Analysis, table, words
from attunebench.conversations import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.scores import read_scores
from attunebench.scores.loading import score_table
from attunebench.views import AnalysisResult, ScoreFile

pytest.importorskip("pandas", reason="data frames need the extra `data`")

FAST = {"resamples": 50}


class Parsed(HTMLParser):
    """The tags of a piece of HTML, its attributes' names, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def scores() -> ScoreFile:
    return ScoreFile(small_scores())


@pytest.fixture(scope="module")
def path(scores: ScoreFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.json"
    scores.save(path)
    return path


# Scores


def test_score_returns_the_dict_of_the_file(tmp_path: Path) -> None:
    em = attunebench.ModelSettings(provider="baseline", model="majority")
    attunebench.run(demo_folder(), attunebench.RunSettings(em=em, output=tmp_path / "results", limit=1))
    found = attunebench.score(tmp_path / "results", demo_folder(), resamples=50)
    found.save(tmp_path / "scores.json")
    read: Any = read_scores(tmp_path / "scores.json")
    assert read == json.loads(json.dumps(found))
    assert isinstance(found["aggregates"][0]["metrics"]["composite"]["mean"], float)
    assert dict(found) == pickle.loads(pickle.dumps(found)) == {**found}


def test_a_table_says_in_a_line_what_it_holds(scores: ScoreFile) -> None:
    for shown in (repr(scores), repr(scores.table)):
        assert "strong (default)" in shown
        assert "\n" not in shown


def test_scores_are_not_saved_over_another_file(scores: ScoreFile, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError):
        scores.save(tmp_path / "notes.txt")


@pytest.mark.parametrize("shape", ["dict", "file", "path", "text", "list", "table", "plain table"])
def test_every_shape_of_scores_gives_the_same(scores: ScoreFile, path: Path, shape: str) -> None:
    shapes: dict[str, Any] = {
        "dict": dict(scores),
        "file": scores,
        "path": path,
        "text": str(path),
        "list": [path],
        "table": attunebench.load_scores(path),
        "plain table": score_table(dict(scores), files=[str(path)]),
    }
    found = [attunebench.analyze(one, "win-rates", **FAST).text for one in (scores, shapes[shape])]
    assert found[0] == found[1]


@pytest.mark.slow
def test_every_shape_of_scores_gives_the_same_report(scores: ScoreFile, path: Path) -> None:
    shapes = (dict(scores), scores, path, [path], attunebench.load_scores(path), scores.table)
    first, *others = (attunebench.report(one).to_df() for one in shapes)
    assert all(first.equals(other) for other in others)


@pytest.mark.slow
def test_a_report_of_a_table_has_its_groups_and_refuses_some_of_its_conversations(path: Path) -> None:
    table = attunebench.load_scores(path)
    assert {"verbose"} == set(attunebench.report(table.of_mode("verbose")).to_df()["mode"].iloc[:1])
    with pytest.raises(UsageError):
        attunebench.report(table.with_conversations(table.ids[:3]))


# Analyses


def test_an_analysis_has_a_verdict_tables_and_frames(scores: ScoreFile) -> None:
    found = attunebench.analyze(scores, "perspective_gap", **FAST)
    assert ["perspective-gap"] == [analysis.name for analysis in found]
    assert found.verdict == found.analyses[0].shows
    frame = found.to_df(next(iter(found.tables)))
    assert 3 <= len(frame)
    assert {"gap", "gap_low", "gap_high"} <= set(frame)
    with pytest.raises(KeyError):
        found.to_df("no such table")


@pytest.mark.slow
def test_all_analyses_are_a_line_each_and_found_by_name(scores: ScoreFile) -> None:
    begun: list[str] = []
    found = attunebench.analyze(scores, progress=lambda names: (begun.append(name) or name for name in names), **FAST)
    assert [*ANALYSES] == begun == [analysis.name for analysis in found]
    assert (
        found["perspective-gap"].tables.keys() == attunebench.analyze(scores, "perspective-gap", **FAST).tables.keys()
    )
    assert all(name in found._repr_html_() for name in ANALYSES)
    assert len(repr(found)) < len(found.markdown)
    with pytest.raises(KeyError):
        found["nothing"]


def test_what_cannot_be_analysed_says_why(scores: ScoreFile) -> None:
    found = attunebench.analyze(scores, "label-sets")
    assert found[0].missing in " ".join(repr(found).split())
    with pytest.raises(UsageError):
        found.to_df()


@pytest.mark.parametrize(
    ("names", "options"),
    [(("no-such",), {}), ((), {"mode": "none"}), ((), {"metrics": ["none"]}), ((), {"resample": 5})],
)
def test_what_does_not_exist_is_refused(scores: ScoreFile, names: tuple[str, ...], options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        attunebench.analyze(scores, *names, **options)


def test_compare_shows_what_fits_and_has_every_pair(scores: ScoreFile) -> None:
    found = attunebench.compare(scores, mode="default", **FAST)
    assert ("composite", "default") in found.comparison.rankings
    assert 3 == len(found.to_df(next(name for name in found.tables if name.endswith("pairs_composite"))))
    assert len(repr(found)) < len(found.markdown)
    two = attunebench.compare(scores, "strong", "weak", mode="default", metrics="composite", **FAST)
    assert {"strong", "weak"} == {group.label for group in two.comparison.rankings["composite", "default"].groups}


@pytest.mark.parametrize("odd", [None, 5, [], b"scores.json", [None]], ids=repr)
def test_what_is_no_scores_is_refused(odd: Any) -> None:
    with pytest.raises(UsageError):
        attunebench.compare(odd)


@pytest.mark.parametrize("change", [{"schema_version": "2.0"}, {"metadata": None}])
def test_a_dict_that_no_version_of_this_wrote_is_refused_as_its_file_is(scores: ScoreFile, change: Any) -> None:
    for function in (attunebench.compare, attunebench.report, lambda odd: attunebench.analyze(odd, "rules")):
        with pytest.raises(DataError):
            function({**scores, **change})


def test_scores_that_cannot_be_shown_are_still_a_dict() -> None:
    for odd in (ScoreFile(), ScoreFile(aggregates=[{}, 3])):
        assert "\n" not in repr(odd)
        assert "<p>" in odd._repr_html_()


def test_nothing_is_saved_over_data_or_where_nothing_can_be_written(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    found = attunebench.analyze(path, "win-rates", **FAST)
    (tmp_path / "folder.md").mkdir()
    for target in (path, tmp_path / "folder.md", path / "a.md", path / "folder"):
        with pytest.raises(DataError):
            found.save(target)
    assert before == path.read_bytes()


# Reports and figures


@pytest.mark.slow
def test_a_report_is_a_page_tables_and_a_leaderboard(scores: ScoreFile, tmp_path: Path) -> None:
    found = attunebench.report(scores, texts=False)
    found.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == found.html
    assert () == found.remarks
    assert "strong" in found.text
    assert "strong" in found._repr_html_()
    assert "<script" in found.html
    assert "composite" in found.to_df()


@pytest.mark.slow
def test_a_page_says_which_texts_are_missing(scores: ScoreFile, tmp_path: Path) -> None:
    found = attunebench.report(scores, results=tmp_path / "none", conversations=tmp_path / "none")
    assert found.remarks


@pytest.mark.parametrize("name", ["a.md", "a.csv", "a.json", "a.txt"])
def test_tables_are_saved_by_the_ending(scores: ScoreFile, tmp_path: Path, name: str) -> None:
    for found in (attunebench.report(scores), attunebench.analyze(scores, "win-rates", **FAST)):
        found.save(tmp_path / "new" / name)
        assert (tmp_path / "new" / name).stat().st_size > 100


def test_an_analysis_is_saved_into_a_folder(scores: ScoreFile, tmp_path: Path) -> None:
    found = attunebench.analyze(scores, "win-rates", **FAST)
    found.save(tmp_path / "folder")
    assert {"win-rates.json", *(f"win-rates.{name}.csv" for name in found.tables)} == {
        one.name for one in (tmp_path / "folder").iterdir()
    }
    with pytest.raises(UsageError):
        found.save(tmp_path / "a.docx")


@pytest.mark.slow
def test_a_figure_has_a_caption_a_picture_and_files(scores: ScoreFile, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = attunebench.figure(scores, "leaderboard", mode="default", **FAST)
    assert found.figure.axes
    assert found.caption in repr(found)
    png = found._repr_png_()
    assert png is not None
    assert png.startswith(b"\x89PNG")
    [written] = found.save(tmp_path / "one.svg")
    assert "<svg" in written.read_text("utf-8")
    saved = {one.name for one in found.save(tmp_path / "all", ["png"])}
    assert {"captions.md", "methods.md", "leaderboard.png"} == saved
    with pytest.raises(UsageError):
        found.save(tmp_path / "all", ["gif"])


def test_a_picture_of_another_kind_is_no_folder(scores: ScoreFile, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        attunebench.figure(scores, "leaderboard", **FAST).save(tmp_path / "a.jpg")


def test_a_figure_that_cannot_be_drawn_says_why(scores: ScoreFile) -> None:
    pytest.importorskip("matplotlib")
    found = attunebench.figure(scores, "mode-ranks", mode="verbose", **FAST)
    assert found.skipped[0].reason in repr(found)
    with pytest.raises(UsageError):
        found.figure  # noqa: B018


# What a notebook shows


@pytest.fixture(scope="module")
def hostile() -> ScoreFile:
    names = {f"{HOSTILE} {place}": Skill() for place in range(2)}
    return ScoreFile(planted_scores(names, Plan(conversations=6, people=3), resamples=20))


def test_every_text_of_an_analysis_is_text_in_a_notebook() -> None:
    told = Analysis(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, (), (HOSTILE,), (HOSTILE,), HOSTILE)
    filled = table(HOSTILE, HOSTILE, words("model", [HOSTILE], HOSTILE, HOSTILE), caption=HOSTILE, notes=(HOSTILE,))
    html = Parsed(AnalysisResult((told, Analysis(tables=(filled,))), "attunebench", None)._repr_html_())
    assert not {"script", "img"} & html.names
    assert not [name for name in html.attributes if name.startswith("on")]
    assert 9 <= html.text.count("<script>alert(1)</script>")


def shown(scores: ScoreFile) -> list[Any]:
    return [
        scores,
        scores.table,
        attunebench.report(scores),
        attunebench.analyze(scores, **FAST),
        attunebench.analyze(scores, "perspective-gap", "win-rates", "question-heatmap", "turn-drift", **FAST),
        attunebench.compare(scores, **FAST),
    ]


@pytest.mark.slow
def test_names_of_models_are_text_in_a_notebook(hostile: ScoreFile) -> None:
    for one in shown(hostile):
        html = Parsed(one._repr_html_())
        assert not {"script", "img", "iframe", "object", "link"} & html.names
        assert not [name for name in html.attributes if name.startswith("on")]
        assert "\x1b" not in html.text + repr(one)


def test_a_figure_s_caption_is_text_in_a_notebook(hostile: ScoreFile) -> None:
    pytest.importorskip("matplotlib")
    html = Parsed(attunebench.figure(hostile, "leaderboard", **FAST)._repr_html_())
    assert {"figure", "img", "figcaption"} >= html.names - {"p"}
    assert {"alt", "src", "style"} >= html.attributes


@pytest.mark.slow
def test_styles_apply_inside_of_the_output_alone(scores: ScoreFile) -> None:
    for one in shown(scores):
        html = one._repr_html_()
        assert 1 == html.count("<style>")
        assert html.partition("<style>")[2].lstrip().startswith("div.attunebench.attunebench {")
        assert html.count("{") == html.count("}")


def test_long_tables_are_cut_in_a_notebook_and_whole_in_a_frame() -> None:
    long = table("long", "Long", words("word", [f"word-{place}" for place in range(50)]))
    found = AnalysisResult((Analysis("long", tables=(long,)),), "attunebench", None)
    assert 50 == len(found.to_df())
    assert "word-39" in found._repr_html_()
    assert "word-40" not in found._repr_html_()
