"""The same replies over the line and by files make the same results, and one can go on where the other stopped."""

from __future__ import annotations

import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from engines import openai_line, reply, requests_in, vllm_line, write_lines

import attunebench
from attunebench import api
from attunebench.runner import ModelSettings, RunSettings
from attunebench.selftest.server import Answer, Asked, FakeServer

BY_THE_WAY = ("run_timestamp", "duration_seconds")
"""When a result was made and how long its calls took: nobody measures that of a file."""


def wayward(asked: Asked) -> Answer:
    """Good answers and bad ones, by what is asked, so that asks follow on asks."""
    draw = sha256(asked.prompt.encode()).digest()[0] % 8
    odd = {
        0: Answer(text="{}"),
        1: Answer(text='{"a": ', finish_reason="length"),
        2: Answer(message={"refusal": "I cannot help with that.", "content": None}),
        3: Answer(text=""),
        4: Answer(message={"content": [{"type": "text", "text": "no JSON"}]}),
    }
    return odd.get(draw, Answer())


def answered(path: Path, chance: random.Random) -> list[dict[str, Any]]:
    """Lines for a file's requests, shuffled, with errors before their answers."""
    lines = []
    for number, request in enumerate(requests_in(path)):
        content = json.dumps(request["body"], ensure_ascii=False, separators=(",", ":")).encode()
        line = (openai_line, vllm_line)[number % 2]
        lines.append(line(request, reply(request, wayward(Asked(0, "POST", "", {}, content)))))
    chance.shuffle(lines)
    busy = {"error": {"message": "Slow down"}}
    return [openai_line({**line}, busy, status=429) for line in lines[:3]] + lines


def finish_by_files(data: Path, settings: RunSettings, folder: Path) -> int:
    """Plan and collect until nothing is left; how many requests that took."""
    chance, asked = random.Random(5), 0
    for _ in range(12):
        planned = api.plan(data, settings, folder / "requests.jsonl").planned
        if not planned.files:
            return asked
        asked += planned.requests
        files = []
        for number, file in enumerate(planned.files):
            lines = answered(file.path, chance)
            files += [
                write_lines(folder / f"{number}-{part}.jsonl", lines[part::2]) for part in range(2) if lines[part::2]
            ]
        api.collect(files, settings.output)
    raise AssertionError("there is always something left to ask")


def texts(folder: Path) -> dict[str, str]:
    """The result files to the byte, but for what is by the way."""
    found = {}
    for path in sorted(folder.glob("[!_.]*.json")):
        result = json.loads(path.read_text("utf-8"))
        found[path.name] = json.dumps({**result, **dict.fromkeys(BY_THE_WAY)})
    return found


@pytest.fixture
def settings(tmp_path: Path) -> Any:
    with FakeServer(wayward) as server:
        model, judge = (
            ModelSettings(provider="local", model=name, base_url=server.url) for name in ("fake-model", "judge")
        )

        def made(name: str, **more: Any) -> RunSettings:
            values = {"judges": (judge,), "modes": ("default", "verbose"), "output": tmp_path / name}
            return RunSettings(em=model, **{**values, **more})

        made.server = server  # type: ignore[attr-defined]
        yield made


def test_files_make_the_results_that_a_run_makes_and_each_finds_the_other_s_work_done(
    talks: Path, settings: Any, tmp_path: Path
) -> None:
    attunebench.run(talks, settings("live"))
    over_the_line = len(settings.server.bodies)
    assert over_the_line == finish_by_files(talks, settings("filed"), tmp_path)
    assert texts(tmp_path / "live") == texts(tmp_path / "filed")
    summary = attunebench.run(talks, settings("filed"))
    assert (0, 4, over_the_line) == (summary.written, summary.complete_before, len(settings.server.bodies))
    assert 0 == finish_by_files(talks, settings("live"), tmp_path)


def test_a_run_that_stopped_half_way_is_finished_by_files(talks: Path, settings: Any, tmp_path: Path) -> None:
    attunebench.run(talks, settings("live"))
    attunebench.run(talks, settings("both", limit=1, judges=()))
    before = len(settings.server.bodies)
    asked = finish_by_files(talks, settings("both"), tmp_path)
    assert 0 < asked < before
    assert before == len(settings.server.bodies)
    assert {name: json.loads(text)["turns"] for name, text in texts(tmp_path / "live").items()} == {
        name: json.loads(text)["turns"] for name, text in texts(tmp_path / "both").items()
    }


def test_what_files_have_begun_a_run_finishes(talks: Path, settings: Any, tmp_path: Path) -> None:
    attunebench.run(talks, settings("live"))
    over_the_line = len(settings.server.bodies)
    planned = api.plan(talks, settings("both"), tmp_path / "requests.jsonl").planned
    lines = answered(planned.files[0].path, random.Random(1))
    kept = api.collect([write_lines(tmp_path / "a.jsonl", lines[:40])], tmp_path / "both").collected.kept
    attunebench.run(talks, settings("both"))
    assert 2 * over_the_line - kept == len(settings.server.bodies)
    assert texts(tmp_path / "live") == texts(tmp_path / "both")


def test_unanswered_calls_are_planned_once_more_on_request(talks: Path, settings: Any, tmp_path: Path) -> None:
    finish_by_files(talks, settings("filed", judges=()), tmp_path)
    before = texts(tmp_path / "filed")
    planned = api.plan(talks, settings("filed", judges=(), retry_unanswered=True), tmp_path / "requests.jsonl").planned
    assert planned.requests
    lines = [openai_line(each) for file in planned.files for each in requests_in(file.path)]
    summary = api.collect([write_lines(tmp_path / "a.jsonl", lines)], tmp_path / "filed")
    assert summary.done
    after = texts(tmp_path / "filed")
    counts = [[json.loads(text)["calls"]["answered_items"] for text in each.values()] for each in (before, after)]
    assert sum(counts[0]) < sum(counts[1])
