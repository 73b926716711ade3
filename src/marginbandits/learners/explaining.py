"""How an `Explanation` is made: predictions of a context, and of what is left of it without each entry."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from marginbandits import frames
from marginbandits.contexts import Rows, Sparse
from marginbandits.learners.explanation import Effect, Explained, Explanation, without
from marginbandits.learners.inputs import Scale
from marginbandits.learners.loop import Loop
from marginbandits.learners.offers import Names
from marginbandits.types import Array

__all__ = ["explained", "predicted"]

MOST = 10_000
"""Entries that are explained."""


def predicted(learner: Loop, batch: Any) -> Array:
    """The loss that is predicted of every action of what was read, within [0, 1]; 1/2 where nothing was learnt."""
    if learner._map is None:
        return np.full(len(batch.mask), 0.5)
    learner._featured(batch)
    return np.asarray(np.clip(learner._playing._predicted(batch), 0.0, 1.0))


def explained(learner: Any, context: Any, available: Any, names: Names | None) -> Explanation:
    """Of a context that a learner takes; where it has a row for each action, entries of each row alone."""
    if learner._map is None:
        raise ValueError("there is nothing to explain before the first learn")
    context = dict(context.items()) if frames.is_row(context) else context
    law = learner._law_of(*learner._read(context, available))

    def loss(of: Any) -> Array:
        return predicted(learner, learner._read(of, None)[0])

    now, widths = loss(context), _widths(learner, context)
    effects: list[list[Effect]] = [[] for _ in now]
    for action, entry, less in _less(learner, context):
        change = now - loss(less)
        for at in range(len(now)) if action is None else [action]:
            effects[at].append(Effect(entry, float(change[at])))
    scale = learner._scale or Scale(rewards=False, low=0.0, high=1.0)
    called, found = range(len(now)) if names is None else names.names, []
    for at in np.argsort(now, kind="stable").tolist():
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


def _less(learner: Any, context: Any) -> Iterator[tuple[int | None, str, Any]]:
    """For whom (None: all actions), which entry, and the context without it."""
    table = learner._reader.table
    if isinstance(context, Mapping):
        each: Iterator[tuple[int | None, str, Any]] = ((None, *one) for one in without(context, table))
    elif isinstance(context, list | tuple) and context and isinstance(context[0], Mapping):
        each = (
            (i, label, [*context[:i], less, *context[i + 1 :]])
            for i, row in enumerate(context)
            for label, less in without(row, table)
        )
    else:
        rows, together = learner._reader.one(context, learner._shape)
        each = _columns(rows, together, learner._playing._mean_context())
    for n, one in enumerate(each):
        if n >= MOST:
            raise ValueError(f"context must have at most {MOST:,} entries to be explained, got more")
        yield one


def _columns(rows: Rows, together: bool, typical: Array) -> Iterator[tuple[int | None, str, Any]]:
    """Every number of a vector, or of the row of an action: not filled, or at its mean."""
    for i in range(len(rows)):
        filled = rows.row(i)[0] if isinstance(rows, Sparse) else range(rows.shape[1])
        for column in filled:
            less = rows.dense() if isinstance(rows, Sparse) else rows.copy()
            less[i, column] = 0.0 if isinstance(rows, Sparse) else typical[column]
            yield (i, f"column {column}", less) if together else (None, f"column {column}", less[0])
