"""Which emotions are taken for which: felt items beside the predicted ones that they were matched with.

Counts, matches and what chance would match come from `tag_pairs`; here they become rates with their doubt.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject, best_first
from attunebench.analyses.sampling import CORRECTIONS, beyond_reach, plain_correction, ratio, with_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table, words
from attunebench.analyses.tag_pairs import TagPairs, tag_pairs
from attunebench.analyses.verdicts import claims_sentence, counted, range_text, reach_text
from attunebench.analyses.within import View
from attunebench.constants import PANAS_ITEMS

_NAME = "emotion-confusion"
_SIZE = len(PANAS_ITEMS)


def analyse(subject: Subject) -> Analysis:
    """Rates per item, the matrix of felt and predicted items, and pairs that are more frequent than chance."""
    view = View.of_models(subject)
    pairs = tag_pairs(view.study, view.settings.rng(_NAME))
    if not pairs.felt.any() and not pairs.predicted.any():
        no_tags = "No turn has an emotion tag, reported or predicted."
        raise Missing(no_tags if view.study.ground_truth else within.NO_LABELS)
    items, f1 = _items(view, pairs)
    substitutions, excess = _substitutions(view, pairs)
    span = range_text([one for one in zip(PANAS_ITEMS, f1, strict=True) if not one[1].small])
    tests = sum(cell.p is not None for _, cell in excess)
    return Analysis(
        tables=(items, _matrix(view, pairs), *substitutions, *_by_model(view, pairs), *_of_models(view, pairs)),
        shows=(f"F1 is {span}. " if span else "")
        + claims_sentence(excess, view.settings, noun="substitution", of="compared with chance"),
        warnings=reach_text(np.full(tests, view.least), view.settings, together=False),
        notes=(f"Excludes {counted(pairs.unanswered, 'unanswered turn')}.",) if pairs.unanswered else (),
    )


def _items(view: View, pairs: TagPairs) -> tuple[Table, list[Cell]]:
    """What becomes of felt and of predicted tags over all models, best F1 first; and F1 by item."""
    felt, predicted, right = pairs.felt.sum(axis=2), pairs.predicted.sum(axis=2), pairs.right.sum(axis=2)
    taken = pairs.matched.sum(axis=3).sum(axis=2) - right
    recall, another, missed = (view.rates(part, felt) for part in (right, taken, pairs.missed.sum(axis=2)))
    precision, invented = (view.rates(part, predicted) for part in (right, pairs.invented.sum(axis=2)))
    f1 = view.rates(2 * right, felt + predicted, [Drill(metric="emotion_f1")] * _SIZE)
    made = table(
        "items",
        "Emotions, over all models",
        words("item", PANAS_ITEMS),
        counts("n", (felt > 0).sum(axis=0), "conversations", "Conversations in which it was felt."),
        view.totals("felt", felt, "Tags of people, counted once per model."),
        view.totals("predicted", predicted, "Tags of models."),
        column("recall", recall, "found (recall)", "share", "Share of felt tags that were predicted.", better=True),
        column("taken", another, "confused", "share", "Share of felt tags matched with another emotion.", better=False),
        column("missed", missed, "missed", "share", "Share of felt tags without a match.", better=False),
        column(
            "precision",
            precision,
            "correct (precision)",
            "share",
            "Share of predicted tags that were felt.",
            better=True,
        ),
        column("invented", invented, "", "share", "Share of predicted tags without a match.", better=False),
        column("f1", f1, "F1", "share", "2 × found / (felt + predicted).", better=True),
        order=best_first(f1),
        caption=f"{view.turns_sample}; tags summed over models, without unanswered turns.",
        chart=Chart("intervals", "item", ("recall", "taken", "missed"), "Outcomes of felt tags", "share of felt tags"),
    )
    return made, f1


def _matrix(view: View, pairs: TagPairs) -> Table:
    """Felt items × predicted items, in shares of the felt tags; the last row has the tags that nobody felt."""
    matched, invented, missed = (part.sum(axis=-1) for part in (pairs.matched, pairs.invented, pairs.missed))
    of = np.column_stack([pairs.felt.sum(axis=2), invented.sum(axis=1)])
    tags = np.vstack([np.column_stack([matched.sum(axis=0), missed.sum(axis=0)]), [*invented.sum(axis=0), np.nan]])
    n, small = (of > 0).sum(axis=0), view.small(np.where(of > 0, 0.0, np.nan))
    shares = ratio(tags, of.sum(axis=0)[:, None])
    cells = []
    for (i, j), share in np.ndenumerate(shares):
        drill = _drill(view, pairs, i, j) if tags[i, j] else None
        cells.append(Cell(known(share), n=int(n[i]), small=bool(small[i] and n[i]), drill=drill))
    cells[-1] = Cell(None)
    ids, width = (*(f"as_{item}" for item in PANAS_ITEMS), "missed"), _SIZE + 1
    return table(
        "matrix",
        "Felt and predicted emotions, all models",
        words("felt", (*PANAS_ITEMS, "(not felt)")),
        counts("n", n, "conversations"),
        view.totals("tags", of),
        *(
            column(id, cells[j::width], id.removeprefix("as_"), "share", better=None if j < _SIZE else False, digits=2)
            for j, id in enumerate(ids)
        ),
        caption=f"{view.turns_sample}. Rows add up to 1. Each row shows shares of the felt tags of one emotion; the "
        "last row, of all predicted tags without a match. Intervals are in the other tables.",
        chart=Chart("matrix", "felt", ids, "Felt (rows) against predicted (columns)", "share of felt tags"),
    )


def _drill(view: View, pairs: TagPairs, i: int, j: int, model: int | None = None) -> Drill | None:
    """The turns of a pair; nothing for what was matched with nothing."""
    if max(i, j) >= _SIZE:
        return None
    models = range(view.width) if model is None else (model,)
    rows = sorted({row for m in models for row in pairs.turns.get((m, i, j), ())})
    key = None if model is None else view.study.groups[model].key
    return Drill(key, metric="emotion_va", turns=within.turns_of(view.study, rows))


def _substitutions(view: View, pairs: TagPairs) -> tuple[list[Table], list[tuple[str, Cell]]]:
    """Pairs that occur, frequent first, with their excess over chance; nothing where there is none."""
    settings, matched = view.settings, pairs.matched.sum(axis=3)
    tags = matched.sum(axis=0)
    found = [(int(i), int(j)) for i, j in np.argwhere(tags > 0) if i != j]
    if not found:
        return [], []
    found.sort(key=lambda pair: (-tags[pair], pair))
    i, j = np.array(found).T
    observed, dealt, felt = matched[:, i, j], pairs.dealt.sum(axis=3)[:, i, j], pairs.felt.sum(axis=2)[:, i]
    shares = view.rates(observed, felt, [_drill(view, pairs, *pair) for pair in found])
    excess = view.rates(observed - dealt, felt)
    tests = view.tests(_NAME, *(np.where(felt > 0, side, np.nan) for side in (observed, dealt)))
    # A pair on too few conversations is not tested, and costs the others nothing.
    few = np.array([cell.small for cell in excess]) | beyond_reach(tests.least, settings, together=False)
    p = np.where(few, np.nan, tests.p)
    untested = [replace(cell, small=bool(few[k]), p=known(p[k])) for k, cell in enumerate(excess)]
    tested = with_correction(untested, settings)
    names = [(PANAS_ITEMS[i], PANAS_ITEMS[j]) for i, j in found]
    made = table(
        "pairs",
        "Confused pairs",
        words("felt", [felt for felt, _ in names]),
        words("predicted", [predicted for _, predicted in names]),
        counts("n", [cell.n for cell in shares], "conversations", "Conversations in which the first emotion was felt."),
        view.totals("tags", observed, "Tags with this match, over models."),
        column("share", shares, "of felt tags", "share", "Share of the felt tags with this match.", better=False),
        column("excess", tested, "beyond chance", "share", "Share minus the share expected by chance."),
        caption=f"{view.turns_sample}; most frequent first. Chance: the predicted emotions that were not felt, "
        f"assigned to turns at random and matched again. p by sign-flip permutation, corrected "
        f"({CORRECTIONS[plain_correction(settings)]}) over {counted(int((~np.isnan(p)).sum()), 'pair')}.",
        chart=Chart(
            *("bars", "predicted", ("share", "excess"), "Emotions felt and what models predicted instead"),
            axis="share of felt tags",
            lines={"chance": {"excess": 0.0}},
            first=15,
            lead=True,
        ),
    )
    return [made], [(" → ".join(pair), cell) for pair, cell in zip(names, tested, strict=True)]


def _by_model(view: View, pairs: TagPairs) -> tuple[Table, Table]:
    """Of each item and model F1, then precision and recall, as far as it was felt or predicted."""
    parts = (pairs.felt, pairs.predicted, pairs.right, pairs.missed, pairs.invented)
    felt, predicted, right, missed, invented = (part.reshape(len(part), -1) for part in parts)
    cells = view.rates(2 * right, felt + predicted, view.drills("emotion_f1") * _SIZE)
    return table(
        "f1",
        "F1 by emotion and model",
        words("item", PANAS_ITEMS),
        *view.columns(cells, "F1 of the emotion."),
        caption=f"{view.turns_sample}; n counts conversations in which the emotion was felt or predicted.",
        chart=view.heatmap("item", "F1 by emotion and model", "F1"),
    ), table(
        "by-model",
        "Emotions by model",
        words("item", np.repeat(PANAS_ITEMS, view.width)),
        words("model", view.labels * _SIZE),
        view.totals("felt", felt, "Tags of people."),
        view.totals("predicted", predicted, "Tags of the model."),
        view.totals("right", right, "Felt and predicted."),
        view.totals("missed", missed, "Felt, without a match."),
        view.totals("invented", invented, "Predicted, without a match."),
        column("recall", view.rates(right, felt), "found (recall)", "share", "Share of felt tags.", better=True),
        column(
            "precision",
            view.rates(right, predicted),
            "correct (precision)",
            "share",
            "Share of predicted tags.",
            better=True,
        ),
        order=np.flatnonzero((felt + predicted).any(axis=0)).tolist(),
        caption=f"{view.turns_sample}; the n of a rate counts conversations with such a tag.",
    )


def _of_models(view: View, pairs: TagPairs) -> list[Table]:
    """The substitutions of each model, frequent first; nothing where none occurs in two conversations."""
    conversations, tags = (pairs.matched > 0).sum(axis=0), pairs.matched.sum(axis=0)
    places = [(int(i), int(j), int(m)) for i, j, m in np.argwhere(conversations > 1) if i != j]
    if not places:
        return []
    places.sort(key=lambda place: (place[2], -tags[place], place))
    i, j, m = np.array(places).T
    matched, drills = pairs.matched[:, i, j, m], [_drill(view, pairs, *place) for place in places]
    return [
        table(
            "model-pairs",
            "Confused pairs, by model",
            words("model", [view.labels[model] for model in m]),
            words("felt", [PANAS_ITEMS[item] for item in i]),
            words("predicted", [PANAS_ITEMS[item] for item in j]),
            counts("n", conversations[i, j, m], "conversations", "Conversations in which this happens."),
            view.totals("tags", matched, "Tags with this match."),
            column("share", view.rates(matched, pairs.felt[:, i, m], drills), "of felt tags", "share", better=False),
            caption=f"{view.turns_sample}; pairs that occur in at least two conversations. Counts of single models are "
            f"small, so compare them with the table over all models.",
        )
    ]
