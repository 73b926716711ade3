"""How an `Explanation` is made: predictions of a context, and of what is left of it without each entry."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from marginbandits import frames
from marginbandits.contexts import Batch, Rows, Sparse
from marginbandits.learners.explanation import Effect, Explained, Explanation, without
from marginbandits.learners.inputs import Scale
from marginbandits.learners.loop import Loop
from marginbandits.learners.offers import Names
from marginbandits.types import Array

__all__ = ["explained", "predicted"]

MOST, OTHERS = 10_000, 32
"""Entries that are explained, and others of a name that one is compared with."""


def predicted(learner: Loop, batch: Any) -> Array:
    """The loss that is predicted of every action of what was read; 1/2 where nothing was learnt."""
    if type(learner)._predicted is Loop._predicted:
        raise ValueError(f"{type(learner).__name__} predicts no losses")
    if learner._map is None:
        return np.full(len(batch.mask), 0.5)
    learner._featured(batch)
    return np.asarray(learner._playing._predicted(batch))


def explained(learner: Any, context: Any, available: Any, names: Names | None) -> Explanation:
    """Of a context that a learner takes; where it has a row for each action, entries of each row alone."""
    if learner._map is None:
        raise ValueError("there is nothing to explain before the first learn")
    context = dict(context.items()) if frames.is_row(context) else context
    law = learner._law_of(*learner._read(context, available))
    now, widths = predicted(learner, learner._read(context, None)[0]), _widths(learner, context)
    effects: list[list[Effect]] = [[] for _ in now]
    for action, entry, usual in _usual(learner, context):
        change = now - sum(weight * predicted(learner, batch) for weight, batch in usual)
        for at in range(len(now)) if action is None else [action]:
            effects[at].append(Effect(entry, float(change[at])))
    scale = learner._scale or Scale(rewards=False, low=0.0, high=1.0)
    called, found = range(len(now)) if names is None else names.names, []
    for at in np.lexsort((now, -law)).tolist():
        moved = [Effect(entry, scale.slope * effect) for entry, effect in effects[at]]
        moved.sort(key=lambda one: -abs(one.effect))
        width = abs(scale.slope) * float(widths[at])
        found.append(Explained(called[at], float(law[at]), scale.given(float(now[at])), width, moved))
    return Explanation("reward" if scale.rewards else "loss", found)


def _widths(learner: Any, context: Any) -> Array:
    batch, _ = learner._read(context, None)
    learner._featured(batch)
    widths = learner._playing._widths(batch)
    return np.full(len(batch.mask), np.nan) if widths is None else widths


def _usual(learner: Any, context: Any) -> Iterator[tuple[int | None, str, list[tuple[float, Batch]]]]:
    """For whom (None: all actions), which entry, and what is usual in its place, with weights."""
    rows = [context] if isinstance(context, Mapping) else context
    if isinstance(rows, list | tuple) and rows and isinstance(rows[0], Mapping):
        entries = ((i, *one) for i, row in enumerate(rows) for one in without(row, learner._reader.table))
        each = ((i, label, _in_place(learner, rows, i, less, own)) for i, label, less, own in entries)
    else:
        read, together = learner._reader.one(context, learner._shape)
        numbers = _columns(read, learner._playing._mean_context())
        each = ((i, label, [(1.0, learner._one(less, together, None)[0])]) for i, label, less in numbers)
    for n, (i, label, usual) in enumerate(each):
        if n >= MOST:
            raise ValueError(f"context must have at most {MOST:,} entries to be explained, got more")
        yield i if learner._shape.shared else None, label, usual


def _in_place(learner: Any, rows: Any, i: int, less: Any, own: Any) -> list[tuple[float, Batch]]:
    """Row i without an entry or, if that is all that it was, a category (`own`), with each of its name in turn."""
    table, together = learner._reader.table, learner._shape.shared
    code = None if own is None else table._codes([own]).columns
    if code is not None and len(code) == 1 and code[0] & 1 == 0:
        others, counts = learner._names._others(int(code[0]))
        if len(others):
            first = np.argsort(-counts, kind="stable")[:OTHERS]
            weights = counts[first] / counts[first].sum()
            batches = [table._codes(rows, {int(code[0]): int(other)}, i) for other in others[first]]
            return [(float(w), learner._one(one, together, None)[0]) for w, one in zip(weights, batches, strict=True)]
    without_it = table._codes([*rows[:i], less, *rows[i + 1 :]])
    return [(1.0, learner._one(without_it, together, None)[0])]


def _columns(rows: Rows, typical: Array) -> Iterator[tuple[int, str, Rows]]:
    """Every number of a vector, or of the row of an action: not filled, or at its mean."""
    for i in range(len(rows)):
        for column in rows.row(i)[0] if isinstance(rows, Sparse) else range(rows.shape[1]):
            less = rows.dense() if isinstance(rows, Sparse) else rows.copy()
            less[i, column] = 0.0 if isinstance(rows, Sparse) else typical[column]
            yield i, f"column {column}", less
