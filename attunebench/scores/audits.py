"""What is known of a judge before its numbers are shown: how far it agrees with participants (spec 10.4).

Declares the judges of audit.json, finds the files beside scores, and says in a sentence what each of them means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from attunebench.coerce import block
from attunebench.errors import DataError
from attunebench.jsonfile import read_json
from attunebench.judging import JUDGE_SCALES, JudgeScale, judge_label
from attunebench.text import number

FOLDER, FILE = "judge-audit", "audit.json"
"""Beside a results folder: `judge-audit/TASK/audit.json`."""
SCHEMA_VERSION = 1
MARK = "†"
"""Beside a number of a judge that did not pass an audit."""
AUDITS = "judge_audits"
"""Key of the metadata of scores under which `with_audits` puts what is known of judges."""

AuditTask = Literal["pairwise", "rating"]


class JudgeAudit(BaseModel):
    """One judge in an audit. `agreement` is in [0, 1] with its interval over conversations, of `n` choices; `rule` the
    simple rule that agrees most ("longest reply"). `scale`: of the ratings, None for the pairwise task. Hashes are of
    the prompts: of the judge's own, and of the benchmark's."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    judge: str
    provider: str = ""
    task: AuditTask
    scale: JudgeScale | None = None
    agreement: float | None
    low: float | None = None
    high: float | None = None
    kappa: float | None = None
    n: int
    conversations: int
    rule: str
    rule_agreement: float
    passed: bool
    prompt_sha256: str
    prompt_set_sha256: str
    attunebench_version: str

    @property
    def text(self) -> str:
        """ "0.58 [0.55, 0.61], longest reply 0.57"."""
        ends = f" [{number(self.low, 2)}, {number(self.high, 2)}]" if self.low is not None else ""
        return f"{number(self.agreement, 2)}{ends}, {self.rule} {number(self.rule_agreement, 2)}"


def read_audit(path: Path) -> tuple[JudgeAudit, ...]:
    """The judges in a file that `judge-audit` wrote. Raises DataError for any other file."""
    try:
        content, _ = read_json(path)
    except DataError as error:
        raise DataError(f"{error} Run `attune-bench judge-audit` again, or remove the file.") from None
    try:
        if content["schema_version"] != SCHEMA_VERSION:
            raise DataError(f"{path} was written by another version of attune-bench; run `judge-audit` again.")
        return tuple(map(JudgeAudit.model_validate, content["judges"]))
    except (ValidationError, KeyError, TypeError):
        raise DataError(f"{path} is not a file that `attune-bench judge-audit` wrote; rename or remove it.") from None


def audit_folder(results: Path) -> Path:
    """Where the audits of a results folder's judges are."""
    return results.absolute().parent / FOLDER


def audits_beside(*places: Path) -> list[JudgeAudit]:
    """The audits beside these folders or files, each once. Raises DataError for one that cannot be read."""
    found = (path for place in dict.fromkeys(map(audit_folder, places)) for path in sorted(place.glob(f"*/{FILE}")))
    return [one for path in dict.fromkeys(path.resolve() for path in found) for one in read_audit(path)]


def with_audits(scores: Mapping[str, Any], file: str) -> Mapping[str, Any]:
    """The scores with what is known of judges in their metadata: from audits beside the results that were scored, and
    beside the scores `file`. Raises DataError for an audit that cannot be read."""
    metadata = scores.get("metadata", {})
    if not isinstance(metadata, Mapping):
        return scores
    named = metadata.get("results")
    places = [Path(named), Path(file).parent / named] if isinstance(named, str) and named else []
    audits = audits_beside(*([Path(file)] if Path(file).is_file() else []), *places)
    if not audits:
        return scores
    known = dict.fromkeys([*audits_in(metadata), *audits])
    return {**scores, "metadata": {**metadata, AUDITS: [one.model_dump(mode="json") for one in known]}}


def audits_in(metadata: Mapping[str, Any]) -> list[JudgeAudit]:
    """The audits in the metadata of scores; what is none counts as nothing."""
    entries, audits = metadata.get(AUDITS), list[JudgeAudit]()
    for entry in entries if isinstance(entries, list) else ():
        with suppress(ValidationError):
            audits.append(JudgeAudit.model_validate(entry))
    return audits


def standing_of(
    judges: Sequence[str], audits: Iterable[JudgeAudit], prompts: Iterable[str], task: AuditTask = "rating"
) -> tuple[dict[str, str], dict[str, str]]:
    """(passed, not passed): judge → why, in the words of a list. Of ratings a judge has its scale in its name ("gpt-x
    (quality scale)"). `prompts`: the digests of the prompts by which the judge was asked: for ratings of the whole
    prompt sets of results, else of its own prompt."""
    passed, failed = {}, {}
    known, prompts = list(audits), {*prompts}
    for judge in judges:
        own = [one for one in known if judge in (one.judge, *(judge_label(one.judge, s) for s in JUDGE_SCALES))]
        of_task = [one for one in own if one.task == task]
        alike = [one for one in of_task if not one.scale or judge == judge_label(one.judge, one.scale)]
        same = [one for one in alike if prompts <= {one.prompt_set_sha256 if task == "rating" else one.prompt_sha256}]
        if same and all(one.passed for one in same):
            passed[judge] = same[-1].text
        elif same:
            failed[judge] = next(one for one in same if not one.passed).text
        elif of_task:
            failed[judge] = "audited with another prompt" if alike else "audited on another scale"
        else:
            failed[judge] = f"audited for the {own[0].task} task alone" if own else "not audited"
    return passed, failed


def prompts_of(variants: Iterable[Mapping[str, Any]]) -> set[str]:
    """The digests of the prompt sets of results with these settings of a scores file."""
    return {prompt for one in variants if isinstance(prompt := one.get("prompt_set_sha256"), str)}


def validation_text(
    passed: Mapping[str, str], failed: Mapping[str, str], task: AuditTask = "rating", mark: str = ""
) -> list[str]:
    """What `standing_of` found, in sentences; a judge that is not named is ""."""
    lines = []
    if failed:
        alike = {why: [one or "an unnamed judge" for one in failed if failed[one] == why] for why in failed.values()}
        judges = [f"{', '.join(names)}: {why}" for why, names in alike.items()]
        lines.append(f"{mark}Not validated against participants: {'; '.join(judges)}.")
        if any("audited" in why for why in failed.values()):
            lines[0] += f" Audit a judge with `attune-bench judge-audit --task {task}`."
    if passed:
        judges = [f"{judge}: {why}" for judge, why in passed.items()]
        lines.append(f"Validated against participants: {'; '.join(judges)}.")
    return lines


def arena_notices(judges: Iterable[str], made: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    """Whether the judges of the arena in the folder agree with participants, by the audits beside it; nothing of
    built-in ones. `made`: what its arena.json says. Raises DataError for an audit that cannot be read."""
    folder = folder.absolute()
    audits = audits_beside(folder, *([folder.parent] if folder.parent.name == FOLDER else []))
    passed, failed = dict[str, str](), dict[str, str]()
    for judge in judges:
        how = block(block(made.get("verdicts")).get(judge))
        if how.get("provider") == "baseline":
            continue
        prompt = how.get("prompt_set_sha256")
        good, bad = standing_of([judge], audits, [prompt] if isinstance(prompt, str) else [], "pairwise")
        passed |= good
        failed |= bad
    return tuple(validation_text(passed, failed, "pairwise"))
