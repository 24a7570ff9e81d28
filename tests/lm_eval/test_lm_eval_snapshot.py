"""The small study of the snapshot in the real framework against the kept live one."""

from __future__ import annotations

import pytest
from engines import write_lines
from snapshot_compare import differences, parts_of
from snapshot_models import SMALL
from snapshot_study import ALLOWED, TEXT_MODEL, kept, workshop

pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed (extra `harness`)")


# The framework's dependencies warn of each other's plans.
pytestmark = pytest.mark.filterwarnings("default")


def test_the_framework_gives_the_results_of_a_live_run_on_text_alone(evaluate, tmp_path):
    with workshop(SMALL, tmp_path) as at:
        server = {"model": TEXT_MODEL, "base_url": f"{at.server.url}/chat/completions", "num_concurrent": 8}
        found = evaluate(
            "local-chat-completions", model_args=server, metadata={"conversations": str(at.data), "model": TEXT_MODEL}
        )
        write_lines(tmp_path / "samples_attunebench_1.jsonl", found["samples"]["attunebench"])
        at.do("import-lm-eval", tmp_path / "samples_attunebench_1.jsonl", "-o", "results")
        made = parts_of(at.folder / "results", provider="local")
    found = differences(kept("plain"), made, allowed=ALLOWED["lm-eval"])
    assert not found, "\n".join(found)
