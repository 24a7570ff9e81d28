"""The demonstration: the bundled conversations, every built-in baseline, scored. Offline, in seconds.

It runs the same code as a real run does, so that it is also the installation's self-test.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from attunebench import api
from attunebench.analyses.base import metric_column
from attunebench.analyses.table import Analysis, Cell, Table, table, words
from attunebench.backends.baselines import BASELINES
from attunebench.codebook import default_codebook
from attunebench.conversations import demo_folder
from attunebench.conversations.schema import Tag, Turn
from attunebench.errors import UsageError
from attunebench.files import atomic_write
from attunebench.results.folder import read_result
from attunebench.results.schema import PredictedTag, Result, ResultTurn
from attunebench.runner import ModelSettings, RunSettings
from attunebench.scorer import score_folders
from attunebench.scores import Scores

SEED = 0
_NOTE = "README.txt"
_METRICS = ("composite", "emotion_va", "pairwise_accuracy")
_CEILING, _EXAMPLE = "oracle", "lexicon"
_QUOTED = 220
_REPLIES = {"original": "original reply", "alternate": "alternate reply", "human": "human-edited reply"}


def run_demo(folder: Path, *, now: datetime | None = None) -> Scores:
    """Run every baseline on the demonstration conversations, with results in `folder`, and score them all.

    A folder that holds the results already is only scored again; results of an earlier version are replaced. Raises
    DataError where it cannot be written.
    """
    conversations = api.load_conversations(demo_folder())
    for name in BASELINES:
        em = ModelSettings(provider="baseline", model=name)
        api.run(conversations, RunSettings(em=em, output=folder, seed=SEED, replace=True))
    return score_folders(folder, demo_folder(), seed=SEED, now=now)


def claim_folder(
    folder: Path, command: str = "demo", replaced: str = "results, scores.json and report.html in this folder"
) -> None:
    """Make the folder of a demonstration, or find that it is one of this command; a note in it says what a repetition
    replaces. UsageError where something else is there."""
    made, note = f"Made by `attune-bench {command}`", folder / _NOTE
    # A kill may have left the note half-written.
    empty = folder.is_dir() and all(path.name.startswith(f".{_NOTE}.") for path in folder.iterdir())
    if (folder.exists() or folder.is_symlink()) and not empty:
        if not (note.is_file() and note.read_text("utf-8", "replace").startswith(made)):
            raise UsageError(
                f"{folder} was not created by `attune-bench {command}`, so it was not overwritten; name another folder "
                "with -o."
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    written = (
        f"{made}. Running it again overwrites {replaced}.\nSynthetic conversations and built-in baselines: no human "
        "data, and numbers that cannot be compared with published ones.\n"
    )
    with atomic_write(note) as file:
        file.write(written.encode())


def demo_analysis(scores: Scores, results: Path) -> Analysis:
    """What the demonstration shows on a screen: the baselines below their ceiling, and one turn side by side."""
    return Analysis(
        "demo",
        "AttuneBench demo",
        "Synthetic conversations (no human data) and built-in baselines (no language model): these scores cannot be "
        "compared with published ones.",
        tables=(_scores_table(scores), _turn_table(results)),
    )


def _scores_table(scores: Scores) -> Table:
    """The baselines by Composite, the best first, and apart from them the one that has read the labels."""
    groups = sorted(
        (one for one in scores["aggregates"] if one["provider"] == "baseline"),
        key=lambda one: (one["em_model"] == _CEILING, -(one["metrics"]["composite"]["mean"] or 0)),
    )
    cells = [
        [
            Cell(one["mean"], one["ci_low"], one["ci_high"], mark="[–]" if one["ci_low"] is None else "")
            for one in (group["metrics"][name] for group in groups)
        ]
        for name in _METRICS
    ]
    count = groups[0]["n_conversations"]
    return table(
        "scores",
        f"Scores of the baselines on {count} conversations",
        words("model", [group["em_model"] for group in groups], "Baseline"),
        *(metric_column(name, column) for name, column in zip(_METRICS, cells, strict=True)),
        caption=f"{_CEILING} answers from the labels and shows the ceiling; it is not ranked. [low, high] is the 95 % "
        f"bootstrap interval, [–] if all values are equal. {count} conversations are too few to claim that one "
        "baseline is better than another.",
        apart=1,
    )


def _turn_table(results: Path) -> Table:
    """One turn: what the person felt, said of the reply and preferred, beside what the baseline predicted."""
    turn, predicted = next(_partly_right(results))
    texts, judgement, comparison = default_codebook(), turn.judgements[0], turn.comparisons[0]
    question, sides = judgement.question_id, {"A": comparison.a, "B": comparison.b}
    picked = predicted.assignment.get("0", sides)[predicted.pairwise["0"]]
    rows = [
        ("Emotions felt (1–7)", _emotions(turn.tags or ()), _emotions(predicted.tags or ())),
        (texts.binary[question].text, judgement.observed, predicted.binary_om[question]),
        ("Should it have?", judgement.preferred, predicted.binary_hp[question]),
        (texts.pairwise[comparison.question_id], _REPLIES[sides[comparison.winner or "A"]], _REPLIES[picked]),
    ]
    quoted = textwrap.shorten(turn.user_message, _QUOTED, placeholder=" …")
    columns = (words("asked", (), "Label"), words("person", (), "The person"), words("model", (), _EXAMPLE))
    return table("turn", f"One turn. The person writes: “{quoted}”", *columns, rows=rows)


def _partly_right(results: Path) -> Iterator[tuple[Turn, ResultTurn]]:
    """Turns with what the baseline predicted of them, where it named some of the emotions."""
    for conversation in api.load_conversations(demo_folder()):
        for path in sorted(results.glob(f"{conversation.conversation_id}_baseline_{_EXAMPLE}_*.json")):
            if isinstance(result := read_result(path, path.name), Result):
                for turn, predicted in zip(conversation.turns, result.turns, strict=False):
                    felt, named = ({tag.emotion for tag in tags or ()} for tags in (turn.tags, predicted.tags))
                    if felt & named and felt != named:
                        yield turn, predicted


def _emotions(tags: Iterable[Tag | PredictedTag]) -> str:
    return ", ".join(f"{tag.emotion} {tag.intensity:g}" for tag in tags)
