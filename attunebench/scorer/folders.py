"""The entrances of scoring: objects or two folders in, out comes the content of `scores.json` or the file."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from typing_extensions import Unpack

from attunebench.conversations.loading import load_conversations
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError, UsageError
from attunebench.jsonfile import dump_json
from attunebench.results.folder import Findings, Skipped, read_result, result_files
from attunebench.results.schema import Result
from attunebench.scorer.assembling import Outcome, Scored, Task, assemble, entry_of, score_results
from attunebench.scorer.closeness import DraftScores, Progress, draft_scores
from attunebench.scorer.encoder import BertScoreSettings, load_encoder, require_libraries
from attunebench.scorer.groups import ScoreOptions, ScoreSettings
from attunebench.scorer.pool import Scorers, processes_for
from attunebench.scorer.truth import Ground
from attunebench.scores.files import refuse_foreign, write_scores
from attunebench.scores.schema import Scores


class FolderOptions(ScoreOptions, total=False):
    """The keywords of `score_folders` and `score_to_file`, on top of those of `ScoreOptions`."""

    skip_invalid: bool
    """Leave out conversation files that are invalid and name them in `left_out`; otherwise they are a DataError."""
    now: datetime | None
    """The time that `metadata.created` states."""
    bertscore: BertScoreSettings | None
    """Also compare drafts by BERTScore (the extra of that name), with the model of these settings."""
    progress: Progress | None
    """Told how many of how many texts that model has read."""


def score(
    conversations: Iterable[Conversation],
    results: Iterable[Result],
    *,
    skipped: Iterable[Skipped] = (),
    drafts: DraftScores | None = None,
    **options: Unpack[ScoreOptions],
) -> Scores:
    """Score results on the conversations of the same ids.

    Results of other conversations, answers to other turns, texts or comparisons, and results that share conversation,
    provider, model, mode and epoch are not scored but named in `left_out`. `skipped`, what runs could not finish,
    enters coverage alone. `drafts` are the BERTScores of the results' drafts. UsageError for options that do not exist.
    """
    settings = ScoreSettings(**options)
    task = Task(Ground.of(conversations, settings.rules), settings, drafts)
    with BytesIO() as lines:
        outcomes = _aside(score_results(task, results), lines)
        scores, scored = assemble(task, outcomes, Findings(skipped=list(skipped)))
        return _with_entries(scores, scored, lines)


def score_folders(results: str | Path, ground_truth: str | Path, **options: Unpack[FolderOptions]) -> Scores:
    """Score the result files under `results` on the conversations under `ground_truth`: what scores.json holds.

    Keywords are those of `FolderOptions` and `ScoreOptions`. Results that could not be scored are named in `left_out`.
    Write it with `attunebench.scores.write_scores`, show it with `attunebench.reports.render`. DataError: nothing
    to score, conversations that are not valid, no such model for BERTScore; UsageError: options that do not exist, an
    extra that is missing.
    """
    with BytesIO() as lines:
        return _with_entries(*_score_folders(results, ground_truth, lines, 1, **options), lines)


def score_to_file(
    results: str | Path,
    ground_truth: str | Path,
    output: str | Path,
    *,
    processes: int | None = 1,
    **options: Unpack[FolderOptions],
) -> Scores:
    """As `score_folders` and `scores.write_scores`, for any number of files: the same file, at less time and memory.

    Returns what was written but for its conversations. `processes` score at the same time, None for as many as are
    worth it; a script that asks for more than one must be importable (`if __name__ == "__main__":`), since they may
    be fresh interpreters. Also raises DataError where the file cannot be written, before anything is scored if it is
    not one that may be overwritten.
    """
    refuse_foreign(output)
    with TemporaryFile() as lines:  # until their places in the file are known, lines are kept on the disk
        scores, scored = _score_folders(results, ground_truth, lines, processes, **options)
        write_scores(output, scores, lines=(_line(one, lines) for one in scored))
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


def _score_folders(
    results: str | Path,
    ground_truth: str | Path,
    lines: IO[bytes],
    processes: int | None,
    *,
    skip_invalid: bool = False,
    now: datetime | None = None,
    bertscore: BertScoreSettings | None = None,
    progress: Progress | None = None,
    **options: Unpack[ScoreOptions],
) -> tuple[Scores, list[Scored]]:
    """The scores but for their conversations, and the results whose `lines` these are; DataError without any."""
    settings, drafts = ScoreSettings(**options), None
    if bertscore is not None:
        if settings.rules == "released":
            raise UsageError("The released rules have no BERTScore; score with --rules attunebench, or without it.")
        require_libraries()
    with _no_collection():
        truth = load_conversations(ground_truth, skip_invalid=skip_invalid)
    files = result_files(results, findings := Findings())
    if bertscore is not None:
        read = (found for path, name in files if isinstance(found := read_result(path, name), Result))
        drafts = draft_scores(truth.conversations, read, load_encoder(bertscore), progress)
    with _no_collection():
        task = Task(Ground.of(truth.conversations, settings.rules), settings, drafts)
        with Scorers(task, processes or processes_for(len(files))) as scorers:
            scores, scored = assemble(task, _aside(scorers.score(files), lines), findings, scorers.estimate)
    if not scored:
        raise DataError(_nothing(Path(results), Path(ground_truth), scores["left_out"]))
    scores["left_out"]["invalid_conversations"] = [asdict(file) for file in truth.skipped]
    scores["metadata"] |= {
        "created": (now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
        "ground_truth": str(ground_truth),
        "ground_truth_sha256": truth.ground_truth_sha256,
        "results": str(results),
    }
    return scores, scored


def _nothing(results: Path, truth: Path, left_out: Mapping[str, Sequence[Any]]) -> str:
    """Why nothing was scored, by the first thing that was left out."""
    other_folder = "name the folder of the conversations that were run."
    if unknown := left_out["not_in_ground_truth"]:
        return f"None of the {len(unknown)} results in {results} belongs to a conversation in {truth}; {other_folder}"
    if mismatched := left_out["mismatched"]:
        reason = f"{mismatched[0]['file']}: {mismatched[0]['reason']}"
        return f"No result in {results} matches its conversation in {truth} ({reason}); {other_folder}"
    if duplicates := left_out["duplicates"]:
        return f"Every result in {results} occurs more than once (first {' and '.join(duplicates[0]['files'])})."
    if unreadable := left_out["unreadable"]:
        return f"No result in {results} can be read: {unreadable[0]['file']} {unreadable[0]['reason']}."
    if profiles := left_out.get("profiles"):
        return (
            f"{results} holds {len(profiles)} predicted profiles but no benchmark results; score profiles with "
            "`attune-bench predict-profile --score-only`."
        )
    return f"There is no result in {results}; name the folder that `attune-bench run` wrote to."


def _aside(outcomes: Iterable[Outcome], lines: IO[bytes]) -> Iterator[Outcome]:
    """The outcomes, their lines written behind each other and replaced by where they are."""
    for outcome in outcomes:
        if isinstance(outcome, Scored):
            outcome.line = (lines.tell(), lines.write(outcome.line))
        yield outcome


def _line(scored: Scored, lines: IO[bytes]) -> bytes:
    start, length = scored.line
    lines.seek(start)
    line = lines.read(length)
    return dump_json(entry_of(line, unjudged=True)) if scored.unjudged else line


def _with_entries(scores: Scores, scored: Iterable[Scored], lines: IO[bytes]) -> Scores:
    return {**scores, "conversations": [json.loads(_line(one, lines)) for one in scored]}
