"""The thin shell around `score`: two folders in, the content of `scores.json` out. Writes and prints nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from attunebench.conversations.loading import load_conversations
from attunebench.errors import DataError
from attunebench.results.reading import Findings, read_results
from attunebench.scorer.groups import Ci
from attunebench.scorer.scoring import Cluster, score
from attunebench.scores import Scores


def score_folders(
    results: str | Path,
    ground_truth: str | Path,
    *,
    seed: int = 0,
    resamples: int = 10_000,
    cluster: Cluster | None = None,
    ci: Ci = "percentile",
    skip_invalid: bool = False,
    now: datetime | None = None,
) -> Scores:
    """Score the result files under one folder on the conversations under another.

    `skip_invalid` leaves out conversation files that are invalid and names them in `left_out`; otherwise they are a
    DataError, as is a folder in which nothing can be scored. `now` is the time that `metadata.created` states.
    """
    truth = load_conversations(ground_truth, skip_invalid=skip_invalid)
    findings = Findings()
    with _no_collection():
        scores = score(
            truth.conversations,
            read_results(results, findings),
            seed=seed,
            resamples=resamples,
            cluster=cluster,
            ci=ci,
            skipped=findings.skipped,
        )
    scores["left_out"]["unreadable"] = [asdict(file) for file in findings.unreadable]
    scores["left_out"]["invalid_conversations"] = [asdict(file) for file in truth.skipped]
    if not scores["conversations"]:
        raise DataError(_nothing(Path(results), Path(ground_truth), scores))
    scores["metadata"] |= {
        "created": (now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
        "ground_truth": str(ground_truth),
        "ground_truth_sha256": truth.ground_truth_sha256,
        "results": str(results),
    }
    return scores


@contextmanager
def _no_collection() -> Iterator[None]:
    """Results and scores are trees: the cyclic collector would walk them over and over and free nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _nothing(results: Path, ground_truth: Path, scores: Scores) -> str:
    left_out = scores["left_out"]
    if unknown := left_out["not_in_ground_truth"]:
        return (
            f"None of the {len(unknown)} results in {results} belongs to a conversation in {ground_truth}; "
            "name the folder of the conversations that were run."
        )
    if duplicates := left_out["duplicates"]:
        return f"Every result in {results} is there more than once (first {' and '.join(duplicates[0]['files'])})."
    if unreadable := left_out["unreadable"]:
        first = unreadable[0]
        return f"No result in {results} can be read: {first['file']} {first['reason']}."
    return f"There is no result in {results}; name the folder that `attune-bench run` wrote to."
