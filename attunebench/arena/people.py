"""How often replies of people win against those of models (spec 10.3, item 2)."""

from __future__ import annotations

from attunebench.analyses.table import Analysis, Missing
from attunebench.arena.folder import Arena
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import VerdictTable


def people(_arena: Arena, table: VerdictTable, settings: ArenaSettings) -> Analysis:
    raise Missing(f"{len(table)} verdicts were read; nothing is computed of them (level {settings.level:g}).")
