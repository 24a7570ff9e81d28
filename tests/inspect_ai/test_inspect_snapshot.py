"""The small study of the snapshot under the real Inspect, with its mock models, against the kept live one."""

from __future__ import annotations

import pytest
from snapshot_compare import differences, parts_of
from snapshot_models import JUDGES, SMALL
from snapshot_study import ALLOWED, MODEL, kept, workshop

from attunebench.selftest.behaviours import Answer

inspect_model = pytest.importorskip("inspect_ai.model", reason="needs inspect_ai, the extra `inspect`")
STOPS = {"length": "max_tokens", "content_filter": "content_filter"}


class StatusError(Exception):
    """As clients of providers raise it."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status_code = status


def mock(name):
    """Inspect's own mock model, which says what this model of the study says."""

    def custom(messages, tools, tool_choice, config):
        said = SMALL.reply(name, tuple(message.text for message in messages), config.max_tokens)
        if not isinstance(said, Answer):
            raise StatusError(said.status, said.body["error"]["message"])
        stop = "content_filter" if said.message.get("refusal") else STOPS.get(said.finish_reason, "stop")
        output = inspect_model.ModelOutput.from_content(name, said.text, stop_reason=stop)
        usage = said.extra["usage"]
        output.usage = inspect_model.ModelUsage(
            input_tokens=usage["prompt_tokens"],
            output_tokens=usage["completion_tokens"],
            total_tokens=usage["total_tokens"],
        )
        return output

    return inspect_model.get_model(f"mockllm/{name}", custom_outputs=custom, memoize=False)


def test_inspect_gives_the_results_of_a_live_run(tmp_path, monkeypatch):
    from inspect_ai import eval as inspect_eval

    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    with workshop(SMALL, tmp_path / "study") as at:
        inspect_eval(
            "attunebench/attunebench",
            task_args={"conversations": str(at.data), "modes": "default"},
            model=mock(MODEL),
            model_roles={f"judge_{number}": mock(judge) for number, judge in enumerate(JUDGES)},
            log_dir=str(tmp_path / "logs"),
            display="none",
            log_realtime=False,
        )
        at.do("import-inspect", tmp_path / "logs", "-o", "results", status=[1])
        made = parts_of(at.folder / "results", provider="local")
    found = differences(kept("live"), made, allowed=ALLOWED["inspect"])
    assert not found, "\n".join(found)
