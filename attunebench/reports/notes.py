"""What must be said beside the numbers: who was not scored, not answered, not comparable.

Turns groups and metadata into sentences, warnings first. Shows no score and knows no layout.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attunebench.metrics.rates import ANSWERED_ENOUGH, percent
from attunebench.published import published_remarks, rules_of
from attunebench.reports import servers
from attunebench.reports.model import NO_INTERVAL, PRIMARY_MODE, Group, Reference, strings
from attunebench.scores.audits import MARK, validation_text
from attunebench.text import counted, listed

_MUST_AGREE = {
    "panas_strategy": "PANAS strategies",
    "prompt_set_sha256": "prompt sets",
    "codebook_sha256": "codebooks",
}
_LEFT_OUT = {
    "unreadable": "unreadable results",
    "not_in_ground_truth": "results of conversations without labels",
    "mismatched": "results that do not match their conversation",
    "duplicates": "duplicate results",
    "invalid_conversations": "invalid conversations",
}
_SHORT_HASH = 12
_RELEASED = (
    "Scored by the rules of the released scorer, for comparison with published numbers only. No chance level is shown: "
    "these rules give turns without labels 1 and comparisons without a winner 0, so guessing has no constant score."
)
_DEMONSTRATION = "Demonstration conversations: no human data, not comparable with published scores."


def warnings_of(groups: Sequence[Group], scores: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences to read before any number, the most misleading trouble first."""
    metadata = scores["metadata"]
    by_se = listed(group.name for group in groups if group.by_se)
    sources = strings(metadata.get("sources")) + strings(metadata.get("source"))
    modes = dict.fromkeys(group.mode for group in groups)
    found = [
        _RELEASED if rules_of(metadata) == "released" else "",
        by_se and f"Aggregates only; intervals are mean ± 1.96 SE, and differences are not tested: {by_se}.",
        _unanswered(groups),
        _DEMONSTRATION if metadata.get("synthetic_demo") is True or "synthetic-demo" in sources else "",
        _uncovered(groups),
        _left_out(scores.get("left_out", {})),
        votes_left_out(metadata),
        *servers.warnings_of(groups),
        *(_mixed(groups, key, what) for key, what in _MUST_AGREE.items()),
        f"All results are in mode {' and '.join(modes)}; the primary benchmark is mode {PRIMARY_MODE}."
        if PRIMARY_MODE not in modes
        else "",
        _baselines(groups),
    ]
    return tuple(filter(None, found))


def notes_of(groups: Sequence[Group], references: Iterable[Reference], scores: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences to have at hand after the numbers; what each reference is comes last."""
    metadata = scores["metadata"]
    counts = [f"{group.name} {group.incomplete} of {group.n}" for group in groups if group.incomplete]
    lacking = "Conversations whose Composite lacks a term (weights within its pillar are renormalised)"
    incomplete = f"{lacking}: {listed(counts)}." if counts else ""
    found = [_different_conversations(groups), incomplete, _bertscore(metadata), _intervals(metadata)]
    found += published_remarks(metadata)
    found += [f"{one.label} ({one.id}), a reference that is not ranked: {one.meaning}" for one in references]
    return tuple(filter(None, found))


def judges_of(groups: Iterable[Group]) -> str:
    """Who judged the drafts, in a sentence; to stand wherever a judge's score stands."""
    by_judges: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for group in groups:
        if "draft_judge" in group.values and group.values["draft_judge"].n:
            by_judges[group.judges].append(group.name)
    if len(by_judges) < 2:
        judges = next(iter(by_judges), ())
        return f"Judged by {', '.join(judges)}." if judges else "The scores do not name the judges."
    parts = [f"{', '.join(judges) or 'no judge named'} for {listed(names)}" for judges, names in by_judges.items()]
    return f"DIFFERENT JUDGES OR SCALES, so these numbers are not comparable with each other: {'; '.join(parts)}."


def validation_of(groups: Iterable[Group]) -> list[str]:
    """Whether the judges agree with participants, in sentences; to stand wherever a judge's score stands."""
    passed, failed = dict[str, str](), dict[str, str]()
    for group in groups:
        if "draft_judge" in group.values and group.values["draft_judge"].n:
            passed |= group.validated
            failed |= group.unvalidated
    return validation_text(passed, failed, mark=f"{MARK} ")


def judged_n(groups: Iterable[Group]) -> str:
    """Over how many conversations each group's judged scores are."""
    counts = {group.name: group.values["draft_judge"].n or 0 for group in groups if "draft_judge" in group.values}
    if len(set(counts.values())) == 1:
        return f"n: {counted(next(iter(counts.values())), 'conversation')}{' each' if len(counts) > 1 else ''}."
    return f"n, conversations: {'; '.join(f'{name} {count}' for name, count in counts.items())}."


def other_modes(groups: Iterable[Group]) -> str | None:
    """That modes beside the primary one are not ranked with it; None without both."""
    modes = dict.fromkeys(group.mode for group in groups)
    if PRIMARY_MODE not in modes or len(modes) < 2:
        return None
    others = " and ".join(mode for mode in modes if mode != PRIMARY_MODE)
    return f"The primary benchmark is mode {PRIMARY_MODE}; other modes ({others}) are shown for comparison, unranked."


def _unanswered(groups: Sequence[Group]) -> str:
    low = [
        f"{group.name} {percent(group.answered)}"
        for group in groups
        if group.answered is not None and group.answered < ANSWERED_ENOUGH
    ]
    least = f"{100 * ANSWERED_ENOUGH:.0f} %"
    return f"Answered rate below {least}: {listed(low)}. Unanswered items count as wrong." if low else ""


def _uncovered(groups: Sequence[Group]) -> str | None:
    partial = []
    for group in groups:
        if group.expected is not None and group.n < group.expected:
            why = ", ".join(f"{len(ids)} {reason}" for reason, ids in group.unscored.items())
            text = f"{group.name} {group.n} of {group.expected}" + (f" ({why})" if why else "")
            if group.sample is not None:
                reached, seed = group.sample
                lacking = f", without {reached - group.n} of its conversations" if reached > group.n else ""
                text += f", a random sample stratified by topic and diagnosis (seed {seed}){lacking}"
            partial.append(text)
    return f"Not all conversations are scored: {listed(partial)}." if partial else None


def _left_out(left_out: Mapping[str, Any]) -> str | None:
    """The files by name: a reader has to know what is missing, and cannot always ask whoever scored."""
    parts = []
    for key, what in _LEFT_OUT.items():
        files: list[str] = []
        for entry in left_out.get(key, ()):
            files += strings(entry.get("files")) or (str(entry.get("file", "a file without a name")),)
        if files:
            parts.append(f"{what} ({listed(files)})")
    return f"Not scored: {'; '.join(parts)}." if parts else None


def votes_left_out(metadata: Mapping[str, Any]) -> str | None:
    """That some votes do not count: ratings on different scales are never averaged."""
    parts = [
        f"{entry['em_model']} ({entry['mode']}) {entry['judge_scale']} scale, in "
        f"{counted(entry['n_results'], 'result')}"
        for entry in metadata.get("votes_left_out") or ()
    ]
    if not parts:
        return None
    return (
        "Judges' votes on two scales are never averaged, so some are not counted (choose the scale with `attune-bench "
        f"score --judge-scale`): {listed(parts)}."
    )


def _mixed(groups: Sequence[Group], key: str, what: str) -> str | None:
    users: dict[str, dict[str, None]] = defaultdict(dict)
    for group in groups:
        for variant in group.settings:
            value = variant.get(key, (variant.get("parameters") or {}).get(key))
            if isinstance(value, str):
                users[value][group.name] = None
    if len(users) < 2:
        return None
    most = max(users, key=lambda value: len(users[value]))
    parts = [f"{value[:_SHORT_HASH]} ({listed(names)})" for value, names in users.items() if value != most]
    parts.append(f"{most[:_SHORT_HASH]} ({counted(len(users[most]), 'other group')})")
    return f"DIFFERENT {what.upper()} in one table, so compare with care: {'; '.join(parts)}."


def _baselines(groups: Sequence[Group]) -> str:
    names = dict.fromkeys(group.model for group in groups if group.provider == "baseline")
    oracle = " The oracle answers from the labels and shows the ceiling." if "oracle" in names else ""
    return f"Built-in baselines, not language models: {', '.join(names)}.{oracle}" if names else ""


def _different_conversations(groups: Sequence[Group]) -> str | None:
    sets = {group.conversations for group in groups if group.conversations}
    if len(sets) < 2:
        return None
    shared = frozenset.intersection(*sets)
    return (
        f"The groups were scored on different conversations ({counted(len(shared), 'conversation')} in common), which "
        "may explain a difference between two of them."
    )


def _bertscore(metadata: Mapping[str, Any]) -> str | None:
    """With which language model drafts were compared: without that, its numbers are comparable with nothing."""
    made = metadata.get("bertscore") or {}
    if not made:
        return None
    which = [f"layer {made.get('layer')}", f"weights {str(made.get('sha256'))[:_SHORT_HASH]}"]
    which += [f"revision {str(revision)[:_SHORT_HASH]}" for revision in [made.get("revision")] if revision]
    which += [f"transformers {made.get('transformers')}", "rescaled" if made.get("rescaled") else "not rescaled"]
    cut = made.get("texts_cut")
    read = f" {cut} of {made.get('texts')} texts were truncated to their first {made.get('max_tokens')} tokens."
    return f"BERTScore with {made.get('model')} ({', '.join(which)}).{read if cut else ''}"


def _intervals(metadata: Mapping[str, Any]) -> str:
    made = metadata.get("intervals") or {}
    unit = "participants" if made.get("unit") == "participant" else "conversations"
    bca = made.get("method") == "BCa bootstrap"
    kind, instead = ("BCa bootstrap", " (percentile where BCa is undefined)") if bca else ("bootstrap", "")
    return (
        f"[low, high] is the 95 % {kind} interval over {unit}{instead}; – is undefined, which is not 0. {NO_INTERVAL}: "
        f"the interval is not estimable, because only one of the {unit} has a value or all have the same value (shares "
        "of correct answers have Wilson's interval instead). Without another n, n is the number of scored "
        "conversations."
    )
