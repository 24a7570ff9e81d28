"""Which rules scores follow, and a scores.json of the released scorer, read with tolerance into the shape of ours. What
it does not know is listed, what is out of its range is refused by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attunebench.coerce import MOST, in_range
from attunebench.errors import DataError
from attunebench.metrics.registry import REGISTRY, REGISTRY_VERSION, Rules
from attunebench.text import listed, printable

PROVIDER = "released"
"""The provider of models whose entries name none."""
BY_SE = "mean ± 1.96 SE"
"""How the interval of a model is made of which the file has aggregates alone."""

_OTHER_FILES = (
    (frozenset(("results", "configs")), "output of another task of lm-evaluation-harness"),
    (frozenset(("eval", "plan")), "output of another task of Inspect AI"),
    (frozenset(("adapter_spec", "request_states")), "output of HELM"),
    (frozenset(("turns", "em_model")), "the result of one conversation; `score --results` takes the folder it is in"),
    (frozenset(("turns",)), "a conversation; `attune-bench score` computes scores from results and conversations"),
    (frozenset(("schema_version", "analyses")), "the output of another command"),
    (frozenset(("schema_version", "sections")), "the output of another command"),
)
"""Keys that a file has together → what it is."""

_LISTS = ("conversations", "conversation_scores", "scores", "results")
_AGGREGATES = ("aggregates", "aggregate_results")
_MODELS = ("em_model", "model")
_ABOUT = frozenset(("conversation_id", *_MODELS, "provider", "mode", "participant_id", "n_conversations", "post_score"))
_NAMES: Mapping[str, str] = {
    "emotion_hit_rate_tagged_only": "emotion_hit_rate_tagged",
    "emotion_va_score": "emotion_va",
    "emotion_va_intensity_score": "emotion_va_intensity",
    "binary_human_accuracy": "binary_hp_accuracy",
    "binary_human_accuracy_hp": "binary_hp_accuracy_hp",
    "pairwise_kendall_tau": "kendall_tau",
    "draft_judge_score": "draft_judge",
    "response_similarity": "response_similarity_max",
    "hp_perspective_gap": "phrasing_gap",
    "q1_looking_for_score": "q1_goals",
    **dict.fromkeys(("q2_emotion_clarity_match", "q2_emotion_clarity_score", "q2_match"), "q2_clarity"),
    **dict.fromkeys(("q3_model_fit_match", "q3_model_fit_score", "q3_match"), "q3_fit"),
    "q3_model_fit_ordinal_distance": "q3_fit_distance",
    "q3_follow_up_score": "q3_follow_up",
    **dict.fromkeys(("four_branch_normalized", "four_branch_score"), "four_branch"),
    "composite_score": "composite",
}
"""Key of the released scorer → our id, where they differ."""
_UNBOUNDED = frozenset(("hp_perspective_alignment", "hp_perspective_alignment_mcc", "z_score"))
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TOLERANCE = 1e-6
_RESAMPLES = 10_000

Entry = Mapping[str, Any]
Key = tuple[str, str, str]
_OF_GROUP = ("provider", "em_model", "mode")


def rules_of(metadata: Mapping[str, Any]) -> Rules:
    """Whose rules the scores follow, by their metadata; ours in files of versions that did not say."""
    return "released" if metadata.get("rules") == "released" else "attunebench"


def mixed_rules(parts: Sequence[Mapping[str, Any]], files: Sequence[str]) -> str:
    """Why scores by different rules are not held against each other, and the remedy."""
    names = [files[place] if place < len(files) else f"scores file {place + 1}" for place in range(len(parts))]
    listed = ", ".join(f"{name}: {rules_of(part['metadata'])}" for name, part in zip(names, parts, strict=True))
    return (
        f"The scores follow different rules ({listed}), so they are not comparable; score all results with the same "
        "--rules, or see the differences with `attune-bench analyze rules`."
    )


def published_scores(content: Any, name: str) -> dict[str, Any] | None:
    """The content of a scores file of the released scorer, as ours; None where it is no such file.

    `name` is the file's. DataError names file, entry and key of a value that is out of its range, and an entry that
    says neither its conversation nor a number of them.
    """
    listed = [(where, _plain(entry)) for where, entry in _entries(content)]
    if not any(_metric_of(key) for _, entry in listed for key, _ in _fields(entry)):
        return None
    reader = _Reader(name, _plain(content) if isinstance(content, dict) else {})
    for where, entry in listed:
        reader.read(where, entry)
    return reader.scores()


def _entries(content: Any) -> Iterator[tuple[str, Entry]]:
    """Where each entry stands, and what it holds; aggregates may stand under the name of their model."""
    if isinstance(content, list):
        yield from ((f"entry {place}", entry) for place, entry in enumerate(content, 1) if isinstance(entry, dict))
        return
    if not isinstance(content, dict):
        return
    content = _plain(content)
    for names in (_LISTS, _AGGREGATES):
        lists = ((key, content[key]) for key in names if isinstance(content.get(key), (list, dict)))
        what, found = next(lists, ("", []))
        if isinstance(found, dict):
            found = [{"model": key, **entry} for key, entry in found.items() if isinstance(entry, dict)]
        yield from ((f"{what}[{place}]", entry) for place, entry in enumerate(found) if isinstance(entry, dict))


def _plain(entry: Entry) -> Entry:
    """The entry with keys in one spelling: emotionVAScore is emotion_va_score."""
    return {_HUMP.sub("_", key).lower() if key.isascii() else key: value for key, value in entry.items()}


def _fields(entry: Entry) -> list[tuple[str, Any]]:
    """Key and value of an entry, those of its `post_score` among them."""
    nested = entry.get("post_score")
    fields = (*entry.items(), *(_plain(nested).items() if isinstance(nested, dict) else ()))
    return [(key, value) for key, value in fields if key not in _ABOUT]


def _metric_of(key: str) -> str | None:
    """Our id of a key with or without `avg_` or `se_`; None for one that is not understood."""
    plain = key.removeprefix("avg_").removeprefix("se_")
    known = _NAMES.get(plain, plain)
    return known if known in REGISTRY else None


def _first(entry: Entry, *keys: str) -> str | None:
    found = next((entry[key] for key in keys if isinstance(entry.get(key), (str, int))), None)
    return None if found is None else str(found).strip() or None


@dataclass(slots=True)
class _Reader:
    """Gathers the entries of one file, and the keys that it did not understand."""

    name: str
    top: Entry
    conversations: dict[tuple[Key, str], dict[str, Any]] = field(default_factory=dict)
    aggregates: dict[Key, dict[str, Any]] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)

    def read(self, where: str, entry: Entry) -> None:
        model = _first(entry, *_MODELS) or _first(self.top, *_MODELS)
        if model is None:
            raise DataError(f"{self.name}, {where} has no model (em_model); add it or remove the entry.")
        mode = _first(entry, "mode") or _first(self.top, "mode") or "default"
        key = (_first(entry, "provider") or PROVIDER, model, mode)
        means, errors = self._values(where, entry)
        conversation, count = _first(entry, "conversation_id"), entry.get("n_conversations")
        if conversation is not None:
            if (key, conversation) in self.conversations:
                raise DataError(f"{self.name}, {where}: {model} ({mode}) has {conversation} twice; remove one.")
            self.conversations[key, conversation] = {
                "conversationId": conversation,
                **dict(zip(_OF_GROUP, key, strict=True)),
                "epoch": None,
                "source_file": "",
                "participant_id": _first(entry, "participant_id"),
                "n_turns": 0,
                "metrics": means,
                "turns": [],
            }
        elif type(count) is int and count > 0:
            self.aggregates[key] = _aggregate(key, count, _by_se(means, errors, count))
        else:
            raise DataError(
                f"{self.name}, {where} has neither a conversationId nor n_conversations above 0; add one of them."
            )

    def _values(self, where: str, entry: Entry) -> tuple[dict[str, float], dict[str, float]]:
        """Our id → value, and our id → standard error."""
        means: dict[str, float] = {}
        errors: dict[str, float] = {}
        for key, value in _fields(entry):
            metric_id = _metric_of(key)
            if metric_id is None:
                self.unknown[key] = None
            elif value is not None:
                of_error = key.startswith("se_")
                (errors if of_error else means)[metric_id] = self._number(metric_id, value, of_error, f"{where}.{key}")
        return means, errors

    def _number(self, metric_id: str, value: Any, of_error: bool, where: str) -> float:
        card = REGISTRY[metric_id]
        low, high = (-MOST, MOST) if metric_id in _UNBOUNDED else (card.low, card.high)
        if of_error:
            low, high = 0.0, high - low
        number = in_range(value, low - _TOLERANCE, high + _TOLERANCE)
        if number is None:
            raise DataError(
                f"{self.name}, {where}: {printable(repr(value), 40)} is not a number from {low:g} to {high:g}; correct "
                "or remove it."
            )
        return float(number)

    def scores(self) -> dict[str, Any]:
        """What the file holds, in the shape of our own scores."""
        from attunebench.scores import new_scores

        groups: dict[Key, list[dict[str, Any]]] = {}
        for (key, _), conversation in self.conversations.items():
            groups.setdefault(key, []).append(conversation)
        computed = {key: _aggregate(key, len(rows), _bootstrap(rows)) for key, rows in groups.items()}
        for key in computed.keys() & self.aggregates.keys():
            stated = self.aggregates[key]["metrics"]
            computed[key]["metrics"] |= {"z_score": stated["z_score"]} if "z_score" in stated else {}
        alone = [key for key in self.aggregates if key not in groups]
        aggregates = [*computed.values(), *(self.aggregates[key] for key in alone)]
        keys = [*groups, *alone]
        metadata = {
            "rules": "released",
            "registry_version": REGISTRY_VERSION,
            "n_conversations": len({conversation for _, conversation in self.conversations}),
            "models": sorted({model for _, model, _ in keys}),
            "modes": sorted({mode for _, _, mode in keys}),
            "judges": [],
            "settings": [],
            "published": [
                {
                    "file": self.name,
                    "n_results": len(self.conversations),
                    "models": sorted({f"{model} ({mode})" for _, model, mode in keys}),
                    "aggregates_only": sorted(f"{model} ({mode})" for _, model, mode in alone),
                    "unknown_keys": list(self.unknown),
                }
            ],
        }
        return dict(new_scores(metadata, list(self.conversations.values()), aggregates, {}))  # type: ignore[arg-type]


def _aggregate(key: Key, count: int, metrics: dict[str, Any]) -> dict[str, Any]:
    of_group = dict(zip(_OF_GROUP, key, strict=True))
    return {**of_group, "n_conversations": count, "n_participants": 0, "metrics": metrics, "pooled": {}}


def _by_se(means: Mapping[str, float], errors: Mapping[str, float], count: int) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    for name, mean in means.items():
        se = errors.get(name)
        low, high = (None, None) if se is None else (mean - 1.96 * se, mean + 1.96 * se)
        metrics[name] = {"mean": mean, "n": count, "se": se, "ci_low": low, "ci_high": high, "ci_method": BY_SE}
    return metrics


def _bootstrap(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the conversations that have a value, with the same intervals as those of our scores."""
    import numpy as np

    from attunebench.statistics.bootstrap import Resampling, estimate_ratios, mean_as_ratio, resample_weights

    names = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    values = np.array([[row["metrics"].get(name, np.nan) for name in names] for row in rows], dtype=np.float64)
    weights = resample_weights(len(rows), _RESAMPLES, np.random.default_rng(0))
    found = estimate_ratios(*mean_as_ratio(values.reshape(len(rows), len(names))), Resampling(weights))
    parts = {"mean": found.value, "n": found.n, "se": found.se, "ci_low": found.low, "ci_high": found.high}
    columns = {part: [None if value != value else value for value in of.tolist()] for part, of in parts.items()}
    return {name: {part: of[i] for part, of in columns.items()} for i, name in enumerate(names)}


def published_remarks(metadata: Mapping[str, Any]) -> list[str]:
    """What was understood of each scores file of the released scorer among those that were read."""
    remarks = []
    for entry in metadata.get("published") or ():
        unknown = listed((printable(key, 60) for key in entry["unknown_keys"]), most=30)
        left = f" Unknown keys: {unknown}." if unknown else ""
        models = printable(", ".join(entry["models"]), 500)
        remarks.append(
            f"{entry['file']}, of the released scorer: {entry['n_results']} conversation scores; {models}.{left}"
        )
    return remarks


def instead_of_scores(content: Any) -> str:
    """The end of a sentence "FILE is not a scores file…", without the final stop, for JSON that is none."""
    what = "a list" if isinstance(content, list) else ""
    if isinstance(content, dict):
        what = next((what for signs, what in _OTHER_FILES if signs <= content.keys()), "")
    if content in ({}, []):
        what = "empty"
    return f"{f' but {what}' if what else ''}; name the one that `attune-bench score` wrote"
