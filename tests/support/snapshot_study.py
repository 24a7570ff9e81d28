"""The snapshot's studies made by the command line: live, and through every other executor.

Nothing of the engine is imported. The address is part of what makes two requests the same, so commands ask a host that
does not exist, and HTTP_PROXY leads to the server of this process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import upgrades
from batch_server import BatchServer
from engines import openai_line, requests_in, write_lines
from snapshot_compare import LATER, Parts, read
from snapshot_models import JUDGES, REJECTED, Study

from attunebench.selftest.answers import completion
from attunebench.selftest.behaviours import Answer, Asked

SMALL_ARCHIVE, LARGE_ARCHIVE = (
    Path(__file__).parents[1] / "snapshot" / f"{name}.tar.xz" for name in ("small", "large")
)
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["attunebench.api", "attunebench.cli.main"])
URL = "http://model.test/v1"
PRICES = (1.0, 4.0)
"""USD per million tokens of prompts and of replies."""
STATED = tuple(
    word
    for whose in ("--price", "--judge-price")
    for way, price in zip(("in", "out"), PRICES, strict=True)
    for word in (f"{whose}-{way}", str(price))
)
"""The same on the line, where no server is asked for its list."""
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

    def do(self, *words: str | Path, status: Sequence[int] = (0,), home: Path | None = None) -> str:
        """What a command of this project says on both streams, run in the folder. Fails where its exit status is none
        of these."""
        environment = upgrades.environment(self.server, home or self.folder) | {"OPENBLAS_NUM_THREADS": "1"}
        said = self.folder / "said.txt"
        process = _FORKS.Process(target=_command, args=([*map(str, words)], self.folder, environment, said))
        process.start()
        process.join()
        text = said.read_text(encoding="utf-8")
        assert process.exitcode in status, f"exit status {process.exitcode} of {words}:\n{text}"
        return text


def _command(words: list[str], folder: Path, environment: dict[str, str], said: Path) -> None:
    """Does a command in this process, which is a new one."""
    from attunebench.cli.main import main

    with said.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    main(words)


@contextmanager
def workshop(study: Study, folder: Path) -> Iterator[Workshop]:
    """An open workshop in this folder."""
    models = (*study.models, *JUDGES)
    prices = (PRICES[0] / 1e6, PRICES[1] / 1e6)
    study.write(folder / "data")
    with BatchServer(says=study.says, models=models, prices=prices) as server:
        yield Workshop(study, folder, server)


def asking(
    study: Study, model: str = MODEL, *, judges: bool = True, command: str = "run", url: str = URL
) -> tuple[str, ...]:
    """The words that all ways of making the study share."""
    words = (command, "local", model, "data", "--base-url", url, "--modes", *study.modes)
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


def ray(at: Workshop, address: str, output: str = "ray") -> Path:
    """By two workers of the cluster at that address, whose token is at home. They know no proxy of ours."""
    cluster = ("--executor", "ray", "--ray-address", address, "--workers", "2")
    at.do(*asking(at.study, url=at.server.url), "-o", output, *cluster, status=[1], home=Path.home())
    return at.folder / output


def request_files(at: Workshop, output: str = "request-files") -> Path:
    """Plan and collect until nothing is left but what the server always rejects."""
    for number in range(12):
        requests = at.folder / f"requests-{number}.jsonl"
        at.do(*asking(at.study, command="plan"), "-o", requests, "--results", output, *STATED)
        files = sorted(at.folder.glob(f"requests-{number}*.jsonl"))
        lines = [_answered(at.study, request) for request in requests_in(*files)]
        if all((line["response"] or {}).get("status_code") == REJECTED for line in lines):
            return at.folder / output
        responses = write_lines(at.folder / f"responses-{number}.jsonl", lines)
        at.do("collect", responses, "--results", output, status=(0, 1))
    raise AssertionError("there is always something left to ask")


def _answered(study: Study, request: dict[str, Any]) -> dict[str, Any]:
    """The line that an engine writes for this request."""
    asked = Asked(0, "POST", request["url"], {}, json.dumps(request["body"]).encode())
    said = study.says(asked)
    if isinstance(said, Answer):
        return openai_line(request, completion(asked, said))
    return openai_line(request, said.body, status=said.status)


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
    """`scores.json`, `analyses.json` and `drills.json` in that folder, from copies of its results."""
    scored = Path(made.name) / "scored"
    (at.folder / scored).mkdir()
    for path in (*results_in(made), *made.glob("_skipped_*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        content |= {"duration_seconds": DURATION} if "turns" in content else {}
        (at.folder / scored / path.name).write_text(json.dumps(content), encoding="utf-8")
    scores, analyses = made / "scores.json", made / "analyses.json"
    at.do("score", "--results", scored, "-d", "data", "-o", scores, "--resamples", RESAMPLES, status=(0, 1))
    at.do("analyze", "all", "-s", scores, "--format", "json", "-o", analyses, "--resamples", RESAMPLES)
    (made / "drills.json").write_text(json.dumps(drills(scores)), encoding="utf-8")


def drills(scores: Path) -> dict[str, Any]:
    """Analysis, table, row and column of each cell behind which answers can be looked at → which these are. No command
    says it but in the page of `report`."""
    from attunebench.analyses import ANALYSES, Settings, Subject, analyse
    from attunebench.scores.loading import load_scores

    subject = Subject(load_scores([scores]), Settings(resamples=100))
    found: dict[str, Any] = {}
    for name in ANALYSES:
        for table in analyse(name, subject).tables:
            for number, row in enumerate(table.rows):
                for column, cell in zip(table.columns, row, strict=True):
                    if cell.drill is not None:
                        found[f"{name}/{table.id}/{number}/{column.id}"] = asdict(cell.drill)
    return found


def results_in(folder: Path) -> list[Path]:
    """The result files."""
    return sorted(folder.glob("[!_.]*_*.json"))


def kept(name: str) -> Parts:
    """A folder of the small snapshot, without its scores."""
    return {file: content for file, content in read(SMALL_ARCHIVE)[name].items() if file not in LATER}


VARIANTS = {"shards": shards, "batches": batches, "request-files": request_files, "rejudged": rejudged}
"""Ways besides `live` that need no further package."""

ALLOWED: Mapping[str, Mapping[str, str]] = {
    "request-files": {r"^skipped\.json: ": "of a request file nobody knows that no better answer will come"},
    "inspect": {
        r"[_|]verbose_omniscient(\.json)?: (not there now|.* is gone$)": "one mode is asked, since Inspect is slow",
        r"^journal\.json/": "Inspect keeps a log of its own",
        r"/(judge_)?api_cost: ": "Inspect knows no price of its mock model",
        r"/structured_used/0: was \"schema\", is \"text\"$": "Inspect's mock model takes no schema",
        r"^skipped\.json/.*/tries: ": "Inspect counts its own tries",
    },
    "lm-eval": {
        r"^journal\.json/": "the framework has a cache of its own",
        r"/(api_cost|em_model_reported|usage/\w+): was .*, is null$": "the framework hands over the text alone",
        r"/structured_used: was \[\"text\"\], is \[\]$": "the framework does not say what it sent",
    },
}
"""How the results of an executor differ from a live run's: pattern of places → why. The others do not differ."""
