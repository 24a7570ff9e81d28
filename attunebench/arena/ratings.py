"""Ratings of authors by people, by each judge and by all judges together (spec 10.3, item 1)."""

from __future__ import annotations

from attunebench.analyses.table import Analysis, Missing
from attunebench.arena.folder import Arena
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import VerdictTable


def ratings(_arena: Arena, table: VerdictTable, settings: ArenaSettings) -> Analysis:
    raise Missing(f"{len(table)} verdicts were read; nothing is computed of them (level {settings.level:g}).")
