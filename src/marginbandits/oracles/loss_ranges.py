"""How low and how high a loss may be by what an online regression has seen: the question that RegCB asks.

The least and the largest loss that an action could be given without adding more than δ to the squared error of all
rounds so far. Nothing is fitted again: one asks how far a large importance weight on an extreme label would move the
prediction before it costs that much (`_reach`).

Foster, Agarwal, Dudík, Luo & Schapire (2018), "Practical contextual bandits with regression oracles".
"""

import math

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.oracles.online_regression import OnlineRegression, Places, flat, predict_row
from marginbandits.types import Array

__all__ = ["loss_ranges", "range_one"]


def loss_ranges(oracle: OnlineRegression, batch: Batch, delta: float) -> tuple[Array, Array]:
    """The least and the largest loss each action could be given without adding more than `delta` squared error."""
    least, most = np.empty((2, len(batch.mask)))
    state, totals, rate = oracle.state[0], oracle.totals[0], oracle.learning_rate
    ranges(state, totals, *flat(batch.rows), batch.shared, batch.starts, delta, rate, least, most)
    return least, most


@kernel
def _reach(state: Array, totals: Array, columns: Places, values: Array, gap: float, delta: float, rate: float) -> float:
    """How far importance on a target `gap` away moves the prediction before it costs more than `delta`.

    A move v costs v²(2 gap - v)/s, s being how far a little importance moves it.
    """
    length = 0.0
    moved = 0.0
    if columns.shape[0] == 0:
        for i in range(values.shape[0]):
            x = abs(values[i])
            largest, spread = max(state[2, i], x), state[1, i] + 4.0 * gap * gap * x * x
            seen = x > 0.0 and spread > 0.0
            moved += x * x / (largest * math.sqrt(spread)) if seen else 0.0
            length += (x / largest) * (x / largest) if x > 0.0 else 0.0
    else:
        for k in range(values.shape[0]):
            x, i = abs(values[k]), columns[k]
            if x > 0.0:
                largest, spread = max(state[2, i], x), state[1, i] + 4.0 * gap * gap * x * x
                length += (x / largest) ** 2
                moved += x * x / (largest * math.sqrt(spread)) if spread > 0.0 else 0.0
    if not (moved > 0.0 and length > 0.0):
        return 0.0
    sensitivity = rate * math.sqrt((totals[0] + 1.0) / (totals[1] + length)) * moved
    if not sensitivity > 1e-150:
        return 0.0
    cost = delta * sensitivity
    if gap * gap * gap <= cost:
        return gap
    v = math.sqrt(cost / (2.0 * gap))
    for _ in range(6):  # Newton's steps: from below, above, and down to it
        v -= (v * v * (2.0 * gap - v) - cost) / max(v * (4.0 * gap - 3.0 * v), 1e-300)
    return min(v, gap)


@kernel
def _range(
    state: Array, totals: Array, columns: Places, values: Array, delta: float, rate: float, both: bool
) -> tuple[float, float]:
    """The least loss of an action, and, if it is asked for, the largest; beyond [0, 1] where what is predicted is."""
    predicted = predict_row(state[0], columns, values)
    down = _reach(state, totals, columns, values, max(predicted, 0.0) + 1.0, delta, rate)
    up = _reach(state, totals, columns, values, 2.0 - min(predicted, 1.0), delta, rate) if both else 0.0
    return max(predicted - down, min(predicted, 0.0)), min(predicted + up, max(predicted, 1.0))


@kernel
def range_one(
    states: Array,
    totals: Array,
    columns: Places,
    values: Array,
    delta: float,
    rate: float,
    least: Array,
    most: Array,
) -> None:
    """The least loss of each action, for one row, and the largest, unless there is no room for it."""
    both = most.shape[0] > 0
    for a in range(least.shape[0]):
        least[a], high = _range(states[a], totals, columns, values, delta, rate, both)
        if both:
            most[a] = high


@kernel
def ranges(
    states: Array,
    totals: Array,
    columns: Places,
    values: Array,
    ends: Places,
    shared: bool,
    starts: Places,
    delta: float,
    rate: float,
    least: Array,
    most: Array,
) -> None:
    """The least loss of each action of each context, and the largest."""
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            block, row = (0, k) if shared else (k - starts[i], i)
            first, last = ends[row], ends[row + 1]
            where = columns[first:last] if columns.shape[0] else columns
            least[k], most[k] = _range(states[block], totals, where, values[first:last], delta, rate, True)
