"""Every command that reads scores, over too little, too much or nothing in common: an answer or a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from odd_scores import ODD

from attunebench.scores import write_scores

LONG = "long names"
REPORTS = [("report", "--format", name) for name in ("terminal", "markdown", "csv", "json", "html")]
TABLES = [("report", "--by", "branch"), ("stats",), ("subset-report",), ("compare",), ("compare", "--format", "json")]
NOTHING_TO_COMPARE = (
    "no result",
    "one conversation",
    "one model",
    "nothing in common",
    "modes of other conversations",
    "one conversation in common",
    "no primary mode",
)
FEW = "leaderboard,win-rates,mode-ranks,turn-drift,question-heatmap"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd")
    for name, make in ODD.items():
        write_scores(path / f"{name}.json", make())
    return path


def ends_well(ended, name: str) -> None:
    """With an answer, or with a sentence that is none about a bug."""
    assert ended.status in (0, 1, 2)
    assert "bug of" not in ended.err
    assert "Traceback" not in ended.err
    assert "Warning" not in ended.err
    assert (ended.status == 2) == (ended.out == "" and ended.err.startswith("attune-bench: "))
    assert ended.status == 0 or name in NOTHING_TO_COMPARE


@pytest.mark.slow
@pytest.mark.parametrize("command", [*REPORTS, *TABLES], ids=" ".join)
@pytest.mark.parametrize("name", ODD)
def test_no_report_breaks(cli, folder: Path, name: str, command: tuple[str, ...]) -> None:
    if "html" in command:
        command = (*command, "-o", "page.html")
    ended = cli(*command, "-s", folder / f"{name}.json")
    if "html" in command:
        assert Path("page.html").exists() == (ended.status == 0)
    else:
        ends_well(ended, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_no_analysis_breaks(cli, folder: Path, name: str) -> None:
    ends_well(cli("analyze", "all", "-s", folder / f"{name}.json", "--resamples", "100"), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_no_figure_breaks(cli, folder: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    only = () if name == "nothing in common" else ("--only", "leaderboard" if name == LONG else FEW)
    ends_well(cli("figures", "-s", folder / f"{name}.json", "-o", "f", "--resamples", "100", *only), name)


def test_where_nothing_is_in_common_the_other_figures_are_drawn_and_win_rates_are_named(cli, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    names = "win-rates,cost,distributions"
    source = folder / "nothing in common.json"
    ended = cli("figures", "-s", source, "-o", "f", "--resamples", "100", "--only", names)
    drawn = [line for line in ended.out.splitlines() if line.endswith(".svg")]
    assert 2 == len(drawn)
    assert "win-rates" in ended.err
    assert "win-rates" in Path("f/captions.md").read_text()


def test_win_rates_of_models_with_nothing_in_common_are_undefined(cli, folder: Path) -> None:
    source = folder / "nothing in common.json"
    ended = cli("analyze", "win-rates", "--format", "json", "-s", source, "--resamples", "100")
    (analysis,) = json.loads(ended.out)["analyses"]
    assert 0 == ended.status
    assert "common" in json.dumps(analysis)
