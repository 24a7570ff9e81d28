"""`--help` answers at once because nothing heavy is imported for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NETWORK = ("openai", "httpx2", "aiohttp", "yarl")
HEAVY = (*NETWORK, "scipy", "numpy", "pydantic", "rich", "jinja2", "json_repair", "tenacity")


def test_importing_the_command_line_leaves_heavy_modules_out() -> None:
    code = f"import sys, attunebench.cli.main; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "" == done.stdout.strip()


def test_importing_the_metrics_loads_neither_network_nor_command_line() -> None:
    code = (
        "import sys, attunebench.metrics.registry; "
        "print(*[name for name in ('aiohttp', 'typer', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "" == done.stdout.strip()


def test_baselines_and_scores_load_no_http_client(tmp_path: Path) -> None:
    code = f"""
import sys, attunebench
from attunebench.conversations.loading import demo_folder
from attunebench.runner import ModelSettings, RunSettings
model = ModelSettings(provider="baseline", model="majority")
attunebench.run(demo_folder(), RunSettings(em=model, output={str(tmp_path)!r}))
attunebench.score({str(tmp_path)!r}, demo_folder())
print(*[name for name in {NETWORK!r} if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "" == done.stdout.strip()
