"""What a user may tell the tasks: the part of the framework's `--metadata` that is meant for them.

The framework mixes the model's own arguments in, so that keys which are not ours are no mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from attunebench.errors import UsageError
from attunebench.protocol.calls import PanasStrategy
from attunebench.scorer.scoring import Cluster

UNNAMED_MODEL = "unnamed"
"""The model's name in results where the framework does not say which it is: a model object that a script made."""

NAMES = ("conversations", "codebook", "panas_strategy", "cluster", "repeats")
"""The keys that are ours alone."""
_NEAR = 0.8


@dataclass(frozen=True, slots=True)
class Options:
    """How a task is run.

    `conversations`: a folder of them, None for the bundled examples. `codebook`: another one than the folder's or ours.
    `panas_strategy`, `cluster`: as for `run` and `score`. `repeats`: how often each call is put to the model, at least
    1; they become the epochs of a conversation. `model`: the name that results bear.
    """

    conversations: Path | None = None
    codebook: Path | None = None
    panas_strategy: PanasStrategy = "absolute"
    cluster: Cluster | None = None
    repeats: int = 1
    model: str = UNNAMED_MODEL

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Options:
        """The options in a task's metadata. Raises UsageError for a value that does not exist, or a misspelt name."""
        _spelling(metadata)
        strategy = metadata.get("panas_strategy", "absolute")
        if strategy not in get_args(PanasStrategy):
            raise UsageError(
                f"There is no panas_strategy {strategy!r}; there are {', '.join(get_args(PanasStrategy))}."
            )
        cluster = metadata.get("cluster")
        if cluster not in (None, *get_args(Cluster)):
            raise UsageError(f"There is no cluster {cluster!r}; `participant` is the one there is.")
        repeats = metadata.get("repeats", 1)
        if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
            raise UsageError(f"repeats must be a whole number from 1, not {repeats!r}.")
        # A model's own arguments name it in one of these ways.
        model = metadata.get("model") or metadata.get("pretrained") or UNNAMED_MODEL
        return cls(
            conversations=_path(metadata, "conversations"),
            codebook=_path(metadata, "codebook"),
            panas_strategy=strategy,
            cluster=cluster,
            repeats=repeats,
            model=str(model),
        )


def _spelling(metadata: Mapping[str, Any]) -> None:
    """Others' keys are none of our business, but what is nearly a key of ours would be passed over in silence."""
    for name in metadata:
        near = get_close_matches(str(name).lower(), NAMES, n=1, cutoff=_NEAR)
        if near and name not in NAMES:
            raise UsageError(f"There is no key {name!r} for --metadata; you may mean {near[0]}.")


def _path(metadata: Mapping[str, Any], name: str) -> Path | None:
    value = metadata.get(name)
    if value is None:
        return None
    # A folder that is called 25 reaches us as a number.
    if isinstance(value, bool) or not isinstance(value, (str, int, Path)) or not str(value).strip():
        raise UsageError(f"{name} must name a {'folder' if name == 'conversations' else 'file'}, not {value!r}.")
    return Path(str(value)).expanduser()
