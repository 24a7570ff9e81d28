"""Which model answered, by the names that servers give: the one that was asked, several, or another one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_VERSION = re.compile(r"(?:[-@]\d{2,8})+")
"""What providers put behind a name to say which version of it answered: -0613, -2024-08-06, @001."""


def worth_telling(asked: str, reported: Iterable[str]) -> tuple[str, ...]:
    """The reported names where they are several models or another one than was asked, else (). A vendor before the
    name, a tag behind it, letter case and one version or date make no other model."""
    names = tuple(dict.fromkeys(reported))
    different = {_plain(name) for name in names}
    return () if len(different) <= 1 and all(is_same(asked, name) for name in names) else names


def is_same(asked: str, reported: str) -> bool:
    """Whether a server that answers under this name may be taken to have used the model that was asked."""
    wanted, found = _plain(asked).removesuffix("-latest"), _plain(reported)
    return found.startswith(wanted) and (found == wanted or _VERSION.fullmatch(found[len(wanted) :]) is not None)


def _plain(name: str) -> str:
    return name.strip().lower().rsplit("/", 1)[-1].split(":", 1)[0].removesuffix("-latest")
