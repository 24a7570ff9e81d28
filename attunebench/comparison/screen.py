"""What of a comparison fits on a screen: ranks in the first mode, the pairs that differ, what is detectable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from attunebench.analyses.base import Settings, digits_of, label_of
from attunebench.analyses.table import Analysis, Cell, Column, Table
from attunebench.analyses.verdicts import legend, listed, number
from attunebench.comparison.comparing import Comparison
from attunebench.comparison.ranking import Ranking

_PAIRS = 8
"""So many pairs are shown, of all metrics together; more would push the ranking out of sight."""
_RANKING = ("score", "rank", "tier")
_PAIR = ("ahead", "behind", "difference", "p_corrected", "n", "mde_corrected")
_IN_UNIT = ("difference", "mde_corrected")


def on_screen(found: Comparison, settings: Settings) -> tuple[Analysis, ...]:
    """The first mode of the comparison in one analysis; all of it as it is where no two models share a mode."""
    lead = found.analyses[0]
    if not found.rankings or lead.missing:
        return found.analyses
    mode = next(mode for _, mode in found.rankings)
    tables = {table.id: table for table in lead.tables}
    rankings = {metric_id: ranking for (metric_id, other), ranking in found.rankings.items() if other == mode}
    rankings = {metric_id: ranking for metric_id, ranking in rankings.items() if metric_id in tables}
    ranked = _rank_table(tables, rankings)
    shown = [ranked, *_pair_tables({metric_id: tables[f"pairs_{metric_id}"] for metric_id in rankings})]
    shown[-1] = replace(shown[-1], notes=(*shown[-1].notes, _detectable_note(rankings, settings)))
    modes = [other for other in dict.fromkeys(other for _, other in found.rankings) if other != mode]
    more = ["every pair", *(f"mode {other}" for other in modes), *(["other weights"] if found.weights else [])]
    marks = legend(shown)  # those of tables that are not shown need no sentence
    kept = (note for note in lead.notes if note in marks or note not in legend(lead.tables))
    notes = (*kept, f"--full shows {listed(more)}; --mode and --metric choose.")
    return (replace(lead, question="", cannot="", tables=tuple(shown), notes=notes),)


def _rank_table(tables: Mapping[str, Table], rankings: Mapping[str, Ranking]) -> Table:
    """A row for each model, in the order of the first metric, with value, rank and tier in each; then references."""
    first, *_ = (tables[metric_id] for metric_id in rankings)
    rows = {row[0].value: [row[0]] for row in first.rows}
    references: dict[object, list[Cell]] = {}
    columns = [first.columns[0]]
    beside = tables.get("references")
    values_at = {column.id: at for at, column in enumerate(beside.columns)} if beside else {}
    for metric_id in rankings:
        table = tables[metric_id]
        place = {column.id: at for at, column in enumerate(table.columns)}
        columns += [replace(table.columns[place[id]], id=f"{id}-{metric_id}") for id in _RANKING]
        columns[-3] = replace(columns[-3], label=label_of(metric_id))
        for row in table.rows:
            rows[row[0].value] += [row[place[id]] for id in _RANKING]
        for row in beside.rows if beside else ():
            cell = replace(row[values_at[metric_id]], small=False)
            references.setdefault(row[0].value, [row[0]]).extend((cell, Cell(None), Cell(None)))
    # The mean over models is none of a reference's; one without a value in the first metric says little here.
    kept = [row for name, row in references.items() if row[1].value is not None and name != "mean over models"]
    ranking = next(iter(rankings.values()))
    of_all = len(ranking.conversations)  # in the caption; an n that is another stands beside its value
    lines = [
        tuple(replace(cell, n=None) if cell.n == of_all or cell.value is None else cell for cell in row)
        for row in (*rows.values(), *kept)
    ]
    caption = (
        f"Over {ranking.sample} that all models have. In brackets: 95 % bootstrap intervals, or ranks over resamples."
    )
    caption += " Below the line: references computed from the labels alone, not ranked." if kept else ""
    return Table("models", "Ranks", tuple(columns), tuple(lines), caption, apart=len(kept))


def _pair_tables(pairs: Mapping[str, Table]) -> Iterator[Table]:
    """The pairs that differ significantly, of each metric the largest differences; a pair that is alone in any case."""
    rows: list[tuple[Cell, ...]] = []
    lead, *_ = pairs.values()
    place = {column.id: at for at, column in enumerate(lead.columns)}
    alone, left = len(lead.rows) == 1, 0
    for metric_id, table in pairs.items():
        chosen = [row for row in table.rows if alone or row[place["told_apart"]].value == "yes"]
        most = max(1, _PAIRS // len(pairs))
        left += len(chosen[most:])
        for row in chosen[:most]:
            cells = (
                replace(row[place[id]], digits=digits_of(metric_id)) if id in _IN_UNIT else row[place[id]]
                for id in _PAIR
            )
            rows.append((Cell(label_of(metric_id)), *cells))
    if rows:
        columns = (Column("metric", "metric", "text"), *(lead.columns[place[id]] for id in _PAIR))
        columns = tuple(replace(one, label="MDE") if one.id == "mde_corrected" else one for one in columns)
        notes = (f"… and {left} more; --full shows them.",) if left else ()
        title = "The pair" if alone else "Pairs that differ significantly"
        yield Table("pairs", title, columns, tuple(rows), notes=notes)


def _detectable_note(rankings: Mapping[str, Ranking], settings: Settings) -> str:
    """What differences the pairs could have shown."""
    parts = []
    for metric_id, ranking in rankings.items():
        counts = ranking.pairs.once("n")
        least = number(ranking.pairs.median("mde_corrected"), digits_of(metric_id))
        among = "–".join(dict.fromkeys((str(counts.min()), str(counts.max()))))
        parts.append(f"{label_of(metric_id)} {least} (n {among})")
    return (
        f"Minimum detectable difference (MDE) at the corrected level with {100 * settings.power:g} % power, median "
        f"over pairs: {listed(parts)}. Smaller differences may exist without being significant."
    )
