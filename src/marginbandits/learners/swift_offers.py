"""Rounds of actions with features of their own, in compiled code: from names and values to a law or a lesson at once.

What is offered is read as codes and values, a row for each action (`features.entries`). The rest of a round is one
call: codes find their columns (`features.table`), values their scales (`features.scaling`), and a learner plays or
learns rows of features in two kernels of its own,

    law_rows(columns, values, ends, starts, mask, state, law)
    learn_row(columns, values, n, loss, probability, state)

of which the first has the rows of all actions, row i from `ends[i]` to `ends[i + 1]`, and the second that of the action
that was played, of n. Nothing can interrupt a call: all its rounds are learnt, or none, and there is nothing to be kept
in a journal meanwhile. As in `swift`, laws of one round and of many are the same function, and so are lessons.
"""

from typing import Any

import numpy as np

from marginbandits.compiled import entry, kernel
from marginbandits.contexts import CODES, Batch, Shape, Sparse, stacked
from marginbandits.features import FeatureMap, Table
from marginbandits.features.scaling import learn_filled, scale_filled
from marginbandits.features.table import claim, known, sort
from marginbandits.learners.swift import _changed
from marginbandits.state import COUNT
from marginbandits.types import Array

__all__ = ["SwiftOffers", "compiled_offers", "swift_offers"]


def compiled_offers(law_rows: Any, learn_row: Any) -> tuple[Any, Any]:
    """The two kernels of all of a round: laws of rounds, and lessons of rounds."""

    @kernel
    def laws(codes, values, rows, starts, mask, names, scaling, state, law):  # type: ignore[no-untyped-def]
        owners, most, moments, _ = names
        scales, _, clip, bias = scaling
        n, m = codes.shape[0], rows.shape[0]
        x, columns, ends = np.empty(n), np.empty(n, np.int64), np.empty(m, np.int64)
        n = known(codes, values, rows, owners, most, moments, x, columns, ends)
        more = n + (m - 1 if bias >= 0 else 0)
        z, filled, last = np.empty(more), np.empty(more, np.int64), np.empty(m, np.int64)
        scale_filled(x[:n], columns[:n], ends, scales, clip, bias, z, filled, last)
        law_rows(filled, z, last, starts, mask, state, law)

    @kernel
    def learn(codes, values, rows, starts, actions, results, names, scaling, state):  # type: ignore[no-untyped-def]
        owners, most, moments, collisions = names
        scales, limit, clip, bias = scaling
        for t in range(starts.shape[0] - 1):
            first, last = rows[starts[t]], rows[starts[t + 1]]
            own, own_values, own_rows = (
                codes[first:last],
                values[first:last],
                rows[starts[t] : starts[t + 1] + 1] - first,
            )
            n, m = last - first, own_rows.shape[0]
            places, signs, before = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
            without = claim(own, own_values, owners, most, moments, places, signs, before, np.empty((4, n)))
            collisions[0] = min(collisions[0] + without, COUNT)
            x, columns, ends = np.empty(n), np.empty(n, np.int64), np.empty(m, np.int64)
            n = sort(own, own_values, own_rows, places, signs, moments, x, columns, ends)
            learn_filled(x[:n], columns[:n], scales, limit, clip)
            row = ends[actions[t] : actions[t] + 2]
            more = row[1] - row[0] + (bias >= 0)
            z, filled, around = np.empty(more), np.empty(more, np.int64), np.empty(2, np.int64)
            scale_filled(x, columns, row, scales, clip, bias, z, filled, around)
            learn_row(filled, z, m - 1, results[t, 0], results[t, 1], state)

    return laws, learn


def swift_offers(learner: Any, shape: Shape | None, names: Table | None, features: FeatureMap | None) -> Any:
    """What plays and learns rounds of offers in compiled code, where the learner has it and they allow; else None."""
    made = None if features is None else features.compiled()
    kind = next((one for one in type(learner).__mro__ if "_compiled_offers" in vars(one)), None)
    if shape is None or names is None or made is None or kind is None or learner.window is not None:
        return None
    if not (shape.shared and names.sparse and features is not None and features.sparse):
        return None
    return None if _changed(type(learner), kind) else SwiftOffers(learner, names, made)


class SwiftOffers:
    """The two kernels on the live arrays of a learner."""

    reads_names = True

    def __init__(self, learner: Any, names: Table, scaling: tuple[Any, ...]) -> None:
        self.count = np.zeros(1, np.int64)
        self._arrays = names.compiled(), scaling, learner._arrays()
        nothing, two = np.empty(0, np.int64), np.zeros(2, np.int64)
        given = nothing, np.empty(0), two, two
        laws, learn = learner._compiled_offers
        self._laws = entry(laws, (*given, np.empty(0, np.bool_), *self._arrays, np.empty(0)))
        self._learn = entry(learn, (*given, nothing, np.empty((1, 2)), *self._arrays))

    def laws(self, batch: Batch) -> Array:
        """Of all contexts, laid out like the mask."""
        law = np.empty(len(batch.mask))
        self._laws(*_codes(batch.rows), batch.starts, batch.mask, *self._arrays, law)
        return law

    def learn_all(self, rounds: list[tuple[Batch, int, float, float]]) -> None:
        """All of these rounds, whose contexts have been checked."""
        if len(rounds) == 1:
            batch = rounds[0][0]
        else:
            starts = np.concatenate([[0], np.cumsum([len(one.mask) for one, _, _, _ in rounds])])
            batch = Batch(stacked([one.rows for one, _, _, _ in rounds]), True, starts, np.empty(0, bool))
        self.learn_offers(batch, [one[1::2] for one in rounds], [one[2] for one in rounds])

    def learn_offers(self, batch: Batch, played: list[tuple[int, float]], losses: list[float]) -> None:
        """The same of rounds that are one batch: of each the action and its probability, and the loss."""
        actions = np.array([action for action, _ in played])
        results = np.array([(loss, p) for (_, p), loss in zip(played, losses, strict=True)])
        self._learn(*_codes(batch.rows), batch.starts, actions, results, *self._arrays)


def _codes(rows: Any) -> tuple[Any, ...]:
    assert isinstance(rows, Sparse)
    assert rows.width == CODES
    return rows.columns, rows.values, rows.starts
