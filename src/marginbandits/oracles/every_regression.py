"""Online regression of sparse rows, every regression of an ensemble at once: the same steps, eight at a time.

`OnlineRegression` keeps sparse rows' regressions column by column: what all policies know of one, of all actions, lies
together. So a line of memory holds the same number of eight regressions, and every operation is on eight of them. That
of policy p and action a is regression pK + a.

    predictions     Σ_k w_i[k] z_k of all i                                    one pass over what is filled
    steps           of all i with importance > 0, in turn                      two passes

Only what hangs together goes one by one: the range of the targets, which clips predictions, and a policy's totals.

>>> import numpy as np
>>> from marginbandits.oracles.online_regression import OnlineRegression
>>> oracle = OnlineRegression(2, n_blocks=2, n_features=9, learning_rate=0.5, sparse=True, together=True)
>>> row, found, targets = (np.array([2, 7]), np.array([1.0, 3.0])), np.zeros(8), np.array([[0.5, 0.0], [0.0, 1.0]])
>>> for _ in range(100):
...     predict_every(oracle.by_column, *row, found)
...     learn_every(oracle.by_column, oracle.totals, oracle.span, *row, found, targets, 2.0 * targets, 0, 0.5)
>>> found.round(3)
array([0.5, 0. , 0. , 1. , 0. , 0. , 0. , 0. ])
"""

from typing import Any

import numpy as np

from marginbandits.compiled import kernel
from marginbandits.lanes import each, line, put, roots, sizes, total, where, width
from marginbandits.oracles.online_regression import FAINT, Places, _step
from marginbandits.types import Array

__all__ = ["learn_every", "predict_every"]


@kernel
def predict_every(by_column: Array, columns: Places, values: Array, out: Array) -> None:
    """<w, z> of every regression; `out` is as long as what there is of a column."""
    for at in range(0, out.shape[0], width(values)):
        sums = each(0.0)
        for k in range(values.shape[0]):
            sums = sums + line(by_column[columns[k], 0], at) * each(values[k])
        put(out, at, sums)


@kernel
def _grow_every(by_column: Array, columns: Places, values: Array, gradients: Array) -> None:
    """Weights in units of the largest inputs, where these values are larger, and of any consequence."""
    many = width(values)
    for k in range(values.shape[0]):
        x, (weights, squares, largest) = abs(values[k]), _planes(by_column, columns[k])
        larger = each(0.0)
        for at in range(0, gradients.shape[0], many):
            larger = larger + where(each(x) - line(largest, at), line(gradients, at))
        for i in range(gradients.shape[0] if total(larger) > 0.0 else 0):
            if x > largest[i] and gradients[i] > 0.0 and squares[i] + gradients[i] * x * x > 0.0:
                weights[i] *= largest[i] / x
                largest[i] = x


@kernel
def _planes(by_column: Array, column: int) -> Any:
    """Weights, squared gradients and largest inputs of a column."""
    return by_column[column, 0], by_column[column, 1], by_column[column, 2]


@kernel
def _gradients(
    span: Array, predicted: Array, targets: Array, importances: Array, first: int, errors: Array, gradients: Array
) -> None:
    """How far each regression is off, one after another from a policy's on, and what that adds to its squares."""
    n_policies, K = targets.shape
    for turn in range(n_policies):
        policy = (turn + first) % n_policies
        for a in range(K):
            target, importance, i = targets[policy, a], importances[policy, a], policy * K + a
            if importance > 0.0:
                span[0], span[1] = min(span[0], target), max(span[1], target)
                errors[i] = target - min(max(predicted[i], span[0]), span[1])
                gradients[i] = max(4.0 * errors[i] * errors[i] * importance, 0.0)


@kernel
def learn_every(
    by_column: Array,
    totals: Array,
    span: Array,
    columns: Places,
    values: Array,
    predicted: Array,
    targets: Array,
    importances: Array,
    first: int,
    rate: float,
) -> None:
    """A step of each regression towards its target, policies x actions, if its importance is above 0.

    They come one after another, beginning with those of policy `first`.
    """
    many, n, lanes, K = width(values), values.shape[0], predicted.shape[0], targets.shape[1]
    errors, gradients, rates, steps = np.zeros(lanes), np.zeros(lanes), np.empty(n * many), np.empty(3 * many)
    _gradients(span, predicted, targets, importances, first, errors, gradients)
    _grow_every(by_column, columns, values, gradients)
    for at in range(0, lanes, many):
        gradient = line(gradients, at)
        if not total(gradient) > 0.0:
            continue
        length, moved = each(0.0), each(0.0)
        for k in range(n):
            x, (_, squares, largest) = each(values[k]), _planes(by_column, columns[k])
            square = line(squares, at) + gradient * x * x
            put(squares, at, square)
            root = roots(square)
            steep = where(
                where(gradient, where(sizes(x) - each(FAINT), square)), each(1.0) / (line(largest, at) * root)
            )
            put(rates, k * many, steep)
            share = sizes(x) * root * steep
            length = length + share * share
            moved = moved + x * x * steep
        put(steps, many, length)
        put(steps, 2 * many, moved)
        for i in range(many):
            steps[i], j = 0.0, at + i
            if steps[many + i] > 0.0 and steps[2 * many + i] > 0.0:
                own, size = totals[j // K], (steps[many + i], steps[2 * many + i])
                steps[i] = _step(own, errors[j], importances[j // K, j % K], size[0], size[1], rate)
        step = line(steps, 0)
        for k in range(n):
            weights = by_column[columns[k], 0]
            put(weights, at, line(weights, at) + step * each(values[k]) * line(rates, k * many))
