"""The script for Ray Data LLM that the documentation shows: its row functions, between our files and ours.

Ray's part is stood in for as its source describes it: text rows in, columns carried over, error rows past the last
function.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from engines import reply, requests_in, write_lines
from planned import CONVERSATIONS, PER_CONVERSATION, Planning

from attunebench import api

PAGE = Path(__file__).resolve().parents[2] / "docs" / "batch-files.md"
Row = dict[str, Any]


class Rows(list[Row]):
    """A dataset that can be written."""

    def write_json(self, folder: str) -> None:
        Path(folder).mkdir()
        for number in range(2):
            write_lines(Path(folder) / f"a1b2_{number:06d}.json", self[number::2])


def stand_in(failing: Callable[[Row], bool]) -> Mapping[str, ModuleType]:
    """Modules with the names that the script imports."""
    ray, data, llm = ModuleType("ray"), ModuleType("ray.data"), ModuleType("ray.data.llm")

    def build_processor(
        config: Mapping[str, Any], preprocess: Any, postprocess: Any
    ) -> Callable[[Iterable[Row]], Rows]:
        assert config["should_continue_on_error"]

        def run(rows: Iterable[Row]) -> Rows:
            written = Rows()
            for before in rows:
                row = {**before, **preprocess(before)}
                schema = row["sampling_params"].get("structured_outputs", {}).get("json")
                assert schema is None or json.loads(schema)["type"] == "object"
                if failing(row):
                    written.append({**row, "generated_text": "", "__inference_error__": "ValueError: it broke"})
                    continue
                said = reply({"url": "", "body": json.loads(before["text"])["body"]})
                usage = said["usage"]
                row["generated_text"] = said["choices"][0]["message"]["content"]
                row["num_input_tokens"], row["num_generated_tokens"] = (
                    usage["prompt_tokens"],
                    usage["completion_tokens"],
                )
                written.append({**postprocess(row), "__inference_error__": ""})
            return written

        return run

    data.read_text = lambda path: [{"text": line} for line in Path(path).read_text("utf-8").splitlines()]  # type: ignore[attr-defined]
    llm.build_processor, llm.vLLMEngineProcessorConfig = build_processor, dict  # type: ignore[attr-defined]
    ray.data, data.llm = data, llm  # type: ignore[attr-defined]
    return {"ray": ray, "ray.data": data, "ray.data.llm": llm}


@pytest.mark.parametrize("failures", [0, 1])
def test_the_documented_script_carries_answers_from_plan_to_collect(
    planning: Planning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    planning(structured="schema")
    first = requests_in(tmp_path / "requests.jsonl")[0]["custom_id"]
    script = next(
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if "ray" in block
    )
    for name, module in stand_in(lambda row: bool(failures) and row["custom_id"] == first).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("sys.argv", ["answer.py", "m", str(tmp_path / "requests.jsonl"), str(tmp_path / "responses")])
    exec(script, {"__name__": "__main__"})
    summary = api.collect([tmp_path / "responses"], tmp_path / "results")
    assert CONVERSATIONS * PER_CONVERSATION - failures == summary.collected.kept
    assert failures == summary.collected.later.total()
    assert (not failures) == summary.done
