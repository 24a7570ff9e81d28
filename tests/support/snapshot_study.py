"""The snapshot's studies made by the command line: live, and through every other executor.

Nothing of the engine is imported. The address is part of what makes two requests the same, so commands ask a host that
does not exist, and HTTP_PROXY leads to the server of this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import upgrades
from batch_server import BatchServer
from engines import openai_line, requests_in, write_lines
from snapshot_models import JUDGES, Study

from attunebench.selftest.answers import completion
from attunebench.selftest.doings import Answer, Asked

URL = "http://model.test/v1"
PRICES = (1.0, 4.0)
"""USD per million tokens of prompts and of replies."""
STATED = tuple(
    word for option, price in zip(("--price-in", "--price-out"), PRICES, strict=True) for word in (option, str(price))
)
JUDGED = tuple(word for judge in JUDGES for word in ("--judge-model", judge))
MODEL, TEXT_MODEL = "fake-model", "text-model"
RESAMPLES = "500"
DURATION = 1.5
"""Seconds that every result is said to have taken before it is scored, since that is not the same twice."""


@dataclass(frozen=True)
class Workshop:
    """A folder with the study's conversations in `data`, and the server that answers."""

    study: Study
    folder: Path
    server: BatchServer

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def do(self, *words: str | Path, python: Path | str = sys.executable, status: Sequence[int] = (0,)) -> str:
        """One command of this project in the folder, in a process of its own; what it says on both streams. Fails
        where its exit status is none of these."""
        return self.program(python, "-m", "attunebench.cli.main", *words, status=status)

    def program(self, *words: str | Path, status: Sequence[int] = (0,)) -> str:
        """The same for any program."""
        environment = upgrades.environment(self.server, self.folder) | {"OPENBLAS_NUM_THREADS": "1"}
        # Most of a start is compiling, so that is done once.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment.setdefault("PYTHONPYCACHEPREFIX", str(self.folder / "compiled"))
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode in status, f"exit status {done.returncode} of {words[2:]}:\n{done.stdout}"
        return done.stdout


@contextmanager
def workshop(study: Study, folder: Path) -> Iterator[Workshop]:
    """An open workshop in this folder."""
    models = (*study.models, *JUDGES)
    prices = (PRICES[0] / 1e6, PRICES[1] / 1e6)
    study.write(folder / "data")
    with BatchServer(says=study.says, models=models, prices=prices) as server:
        yield Workshop(study, folder, server)


def asking(study: Study, model: str = MODEL, *, judges: bool = True, command: str = "run") -> tuple[str, ...]:
    """The words that all ways of making the study share."""
    words = (command, "local", model, "data", "--base-url", URL, "--modes", *study.modes)
    return words + JUDGED * judges


# Each makes the results of `fake-model` in a folder of that name. One conversation fails, hence the status.


def live(at: Workshop, output: str = "live", models: Sequence[str] = (MODEL,)) -> Path:
    for model in models:
        at.do(*asking(at.study, model), "-o", output, status=[1 if model == at.study.fails[0] else 0])
    return at.folder / output


def shards(at: Workshop, output: str = "shards") -> Path:
    for shard in ("1/2", "2/2"):
        at.do(*asking(at.study), "-o", output, "--shard", shard, status=(0, 1))
    return at.folder / output


def batches(at: Workshop, output: str = "batches") -> Path:
    at.do(*asking(at.study), "-o", output, "--batch", "--poll-interval", "0", status=[1])
    return at.folder / output


def ray(at: Workshop, output: str = "ray") -> Path:
    at.do(*asking(at.study), "-o", output, "--executor", "ray", "--workers", "2", status=[1])
    return at.folder / output


def request_files(at: Workshop, output: str = "request-files") -> Path:
    """Plan and collect until nothing new is asked; the requests of one conversation bring errors only."""
    before: set[str] = set()
    for number in range(12):
        requests = at.folder / f"requests-{number}.jsonl"
        at.do(*asking(at.study, command="plan"), "-o", requests, "--results", output, *STATED)
        files = sorted(at.folder.glob(f"requests-{number}*.jsonl"))
        lines = [line for file in files for line in requests_in(file)]
        asked = {json.dumps(line["body"], sort_keys=True) for line in lines}
        if asked <= before:
            return at.folder / output
        before |= asked
        responses = write_lines(at.folder / f"responses-{number}.jsonl", map(_line(at.study), lines))
        at.do("collect", responses, "--results", output, status=(0, 1))
    raise AssertionError("there is always something left to ask")


def _line(study: Study) -> Any:
    def answered(request: dict[str, Any]) -> dict[str, Any]:
        asked = Asked(0, "POST", request["url"], {}, json.dumps(request["body"]).encode())
        said = study.says(asked)
        if isinstance(said, Answer):
            return openai_line(request, completion(asked, said))
        return openai_line(request, said.body, status=said.status)

    return answered


def rejudged(at: Workshop, output: str = "rejudged") -> Path:
    """The drafts first, both judges later."""
    at.do(*asking(at.study, judges=False), "-o", output, status=[1])
    server = ("--judge-provider", "local", "--judge-base-url", URL)
    at.do("rejudge", "-d", "data", "--results", output, *server, *JUDGED, "--resamples", "100")
    return at.folder / output


def reparsed(at: Workshop, made: Path) -> Path:
    """A finished folder in whose results answers of every kind were lost is read again from its journal."""
    for path in results_in(made):
        result = json.loads(path.read_text(encoding="utf-8"))
        for turn in result["turns"]:
            turn.update(em_emotion_tags=[], em_pairwise_selections={}, em_binary_om_assessment={})
        result["post_conversation"]["predicted_conversation_wide"]["fourBranchScores"] = {}
        path.write_text(json.dumps(result), encoding="utf-8")
    at.do("reparse", "--results", made, "-d", "data")
    return made


def plain(at: Workshop, output: str = "plain") -> Path:
    """What lm-evaluation-harness can do, live: one mode, text alone, no second asks, no judges."""
    words = ("run", "local", TEXT_MODEL, "data", "--base-url", URL, "--max-reasks", "0", "--structured", "text")
    at.do(*words, "-o", output)
    return at.folder / output


def score(at: Workshop, made: Path) -> None:
    """`scores.json` and `analyses.json` in that folder's `scored`, from copies of its results."""
    scored = made / "scored"
    scored.mkdir()
    for path in (*results_in(made), *made.glob("_skipped_*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        content |= {"duration_seconds": DURATION} if "turns" in content else {}
        (scored / path.name).write_text(json.dumps(content), encoding="utf-8")
    scores, analyses = made / "scores.json", made / "analyses.json"
    at.do("score", "--results", scored, "-d", "data", "-o", scores, "--resamples", RESAMPLES, status=(0, 1))
    at.do("analyze", "all", "-s", scores, "--format", "json", "-o", analyses, "--resamples", RESAMPLES)


def results_in(folder: Path) -> list[Path]:
    """The result files."""
    return sorted(folder.glob("[!_.]*_*.json"))


VARIANTS = {"shards": shards, "batches": batches, "request-files": request_files, "rejudged": rejudged}
"""Ways besides `live` that need no further package."""
