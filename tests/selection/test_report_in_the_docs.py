"""What docs/subset-report.md shows for programs runs as it stands."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from demo_scores import demo_scores_file

PAGE = Path(__file__).resolve().parents[2] / "docs" / "subset-report.md"


def test_the_example_for_programs_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "attunebench-demo").mkdir()
    shutil.copy(demo_scores_file(), tmp_path / "attunebench-demo" / "scores.json")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, PAGE.name, "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("who_5 < 13 7 5 {}\n")
    assert "Composite, subset and rest" in said
