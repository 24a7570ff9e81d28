"""The entrances of scoring: objects or two folders in, out comes the content of `scores.json` or the file."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import orjson
from typing_extensions import Unpack

from attunebench.conversations.loading import ConversationSet, load_conversations
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError, UsageError
from attunebench.jsonfile import dump_json
from attunebench.results.folder import Findings, Skipped, read_result, result_files
from attunebench.results.schema import Result
from attunebench.scorer.assembling import Scored, Unknown, assemble, score_one, without_votes
from attunebench.scorer.closeness import DraftScores, Progress, draft_scores
from attunebench.scorer.encoder import BertScoreSettings, load_encoder, require_libraries
from attunebench.scorer.groups import Resampling, ScoreOptions
from attunebench.scorer.pool import File, Outcome, Scorers, Task, processes_for
from attunebench.scorer.truth import Ground
from attunebench.scores.files import refuse_foreign, write_scores
from attunebench.scores.schema import Scores


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
    resampling = Resampling(**options)
    ground = Ground.of(conversations, resampling.rules)
    outcomes = (score_one(ground.truths, result, drafts, resampling.judge_scale) for result in results)
    facts = None if drafts is None else drafts.facts
    return _with_entries(*assemble(ground, outcomes, skipped, resampling, bertscore=facts))


def score_folders(
    results: str | Path,
    ground_truth: str | Path,
    *,
    skip_invalid: bool = False,
    now: datetime | None = None,
    bertscore: BertScoreSettings | None = None,
    progress: Progress | None = None,
    **options: Unpack[ScoreOptions],
) -> Scores:
    """Score the result files under one folder on the conversations under another: what scores.json holds.

    `options`: `seed`, `resamples`, `cluster` ("participant" or None for conversations) and `ci` ("percentile" or "bca")
    of the bootstrap; `rules` "released" computes what the released scorer does, for comparison with published numbers;
    `judge_scale` is the scale of the votes that count. Results that could not be scored are named in `left_out`. Write
    it with `attunebench.scores.write_scores`, show it with `attunebench.reports.render`.
    `skip_invalid` leaves out conversation files that are invalid and names them in `left_out`; otherwise they are a
    DataError, as is a folder in which nothing can be scored. `now` is the time that `metadata.created` states.
    `bertscore` also compares drafts by BERTScore, with the model of these settings, and tells `progress` of it; raises
    UsageError or DataError where that model is not to be had, before anything is scored.
    """
    folders = _Folders.opened(results, ground_truth, skip_invalid, bertscore, progress, Resampling(**options))
    return _with_entries(*folders.scored(1, now))


def score_to_file(
    results: str | Path,
    ground_truth: str | Path,
    output: str | Path,
    *,
    skip_invalid: bool = False,
    now: datetime | None = None,
    bertscore: BertScoreSettings | None = None,
    progress: Progress | None = None,
    processes: int | None = 1,
    **options: Unpack[ScoreOptions],
) -> Scores:
    """As `score_folders` and `scores.write_scores`, for any number of files: the same file, at less time and memory.

    Returns what was written but for its conversations. `processes` score at the same time, None for as many as are
    worth it; a script that asks for more than one must be importable (`if __name__ == "__main__":`), since they are
    fresh interpreters. Also raises DataError where the file cannot be written, before anything is scored if it is not
    one that may be overwritten.
    """
    resampling = Resampling(**options)
    refuse_foreign(output)
    folders = _Folders.opened(results, ground_truth, skip_invalid, bertscore, progress, resampling)
    count = processes_for(len(folders.files)) if processes is None else processes
    with TemporaryFile() as lines:  # until their places in the file are known, lines are kept on the disk

        def aside(scored: Scored) -> None:
            scored.entry = (lines.tell(), lines.write(scored.entry))

        def line_of(scored: Scored) -> bytes:
            start, length = scored.entry
            lines.seek(start)
            line = lines.read(length)
            return dump_json(without_votes(orjson.loads(line))) if scored.unjudged else line

        scores, kept = folders.scored(count, now, aside)
        write_scores(output, scores, lines=map(line_of, kept))
    return scores


@dataclass(frozen=True, slots=True)
class _Folders:
    """The two folders, read but for the results."""

    results: str | Path
    ground_truth: str | Path
    truth: ConversationSet
    ground: Ground
    files: Sequence[File]
    findings: Findings
    resampling: Resampling
    drafts: DraftScores | None

    @classmethod
    def opened(
        cls,
        results: str | Path,
        ground_truth: str | Path,
        skip_invalid: bool,
        bertscore: BertScoreSettings | None,
        progress: Progress | None,
        resampling: Resampling,
    ) -> _Folders:
        """Also compares the drafts where BERTScore is asked for; the model is gone afterwards."""
        if bertscore is not None:
            if resampling.rules == "released":
                raise UsageError("The released rules have no BERTScore; score with --rules attunebench, or without it.")
            require_libraries()
        truth = load_conversations(ground_truth, skip_invalid=skip_invalid)
        files = result_files(results, findings := Findings())
        drafts = None
        if bertscore is not None:
            encoder = load_encoder(bertscore)
            read = (found for path, name in files if isinstance(found := read_result(path, name), Result))
            drafts = draft_scores(truth.conversations, read, encoder, progress)
        ground = Ground.of(truth.conversations, resampling.rules)
        return cls(results, ground_truth, truth, ground, files, findings, resampling, drafts)

    def scored(
        self, processes: int, now: datetime | None, aside: Callable[[Scored], None] | None = None
    ) -> tuple[Scores, list[Scored]]:
        """The scores but for their conversations, and what these are made of; DataError where nothing was scored.

        `aside` is given each scored result with its entry as a line, and puts something else in its place.
        """
        task = Task(self.ground.truths, self.resampling, self.drafts, as_lines=aside is not None)
        facts = None if self.drafts is None else self.drafts.facts
        with _no_collection(), Scorers(task, processes) as scorers:
            found = self._results(scorers.score(self.files), aside)
            skipped = self.findings.skipped
            scores, scored = assemble(self.ground, found, skipped, self.resampling, scorers.estimate, facts)
        left_out = scores["left_out"]
        left_out["unreadable"] = [asdict(file) for file in self.findings.unreadable]
        if self.findings.profiles:
            left_out["profiles"] = [{"file": file} for file in self.findings.profiles]
        left_out["invalid_conversations"] = [asdict(file) for file in self.truth.skipped]
        if not scored:
            raise DataError(self._nothing(left_out))
        scores["metadata"] |= {
            "created": (now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
            "ground_truth": str(self.ground_truth),
            "ground_truth_sha256": self.truth.ground_truth_sha256,
            "results": str(self.results),
        }
        return scores, scored

    def _results(
        self, outcomes: Iterable[Outcome], aside: Callable[[Scored], None] | None
    ) -> Iterator[Scored | Unknown]:
        """What was scored or could have been; files without a result go into the findings."""
        for outcome in outcomes:
            if not isinstance(outcome, (Scored, Unknown)):
                self.findings.add(outcome)
                continue
            if aside is not None and isinstance(outcome, Scored):
                aside(outcome)
            yield outcome

    def _nothing(self, left_out: Mapping[str, Sequence[Any]]) -> str:
        results, truth = Path(self.results), Path(self.ground_truth)
        if unknown := left_out["not_in_ground_truth"]:
            return (
                f"None of the {len(unknown)} results in {results} belongs to a conversation in {truth}; "
                "name the folder of the conversations that were run."
            )
        if mismatched := left_out["mismatched"]:
            first = mismatched[0]
            return (
                f"No result in {results} matches its conversation in {truth} ({first['file']}: {first['reason']}); "
                "name the folder of the conversations that were run."
            )
        if duplicates := left_out["duplicates"]:
            return f"Every result in {results} is there more than once (first {' and '.join(duplicates[0]['files'])})."
        if unreadable := left_out["unreadable"]:
            return f"No result in {results} can be read: {unreadable[0]['file']} {unreadable[0]['reason']}."
        if profiles := left_out.get("profiles"):
            return (
                f"{results} holds {len(profiles)} predicted profiles, which `attune-bench predict-profile "
                "--score-only` scores, and no result of the benchmark."
            )
        return f"There is no result in {results}; name the folder that `attune-bench run` wrote to."


def _with_entries(scores: Scores, scored: Iterable[Scored]) -> Scores:
    entries = (without_votes(one.entry) if one.unjudged else one.entry for one in scored)
    return {**scores, "conversations": list(entries)}


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
