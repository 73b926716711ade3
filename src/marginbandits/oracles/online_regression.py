"""Online linear regression in O(d) a round: the engine of the oracle-based baselines.

Squared loss by adaptive, normalised, importance-aware gradient steps, the update that made Vowpal Wabbit's linear
learners hard to beat. For feature i of a model with weight w_i, with G_i the sum of squared gradients and N_i the
largest |x_i| so far:

    rate        s_i = 1/(N_i √G_i),   q = c Σ x_i² s_i,   c = √(Σ weight/Σ weight·‖x/N‖²)
    step        δ = (y - ŷ)(1 - exp(-2 η h q))/q           the exact flow of η h importance-weighted infinitesimal steps
    update      w_i += c δ x_i s_i

so one learning rate η serves any scale of features, and an importance weight h counts like h repetitions. The error
y - ŷ is that of the prediction clipped to the range of the targets seen so far, [0, 1] to begin with.

Sparse rows cost as much as they have filled columns: those alone are read and moved.

Karampatziakis & Langford (2011), "Online importance weight aware updates"; Ross, Mineiro & Langford (2013),
"Normalized online learning"; Duchi, Hazan & Singer (2011), "Adaptive subgradient methods".

>>> import numpy as np
>>> from marginbandits.contexts import per_action
>>> oracle = OnlineRegression(n_policies=1, n_blocks=2, n_features=2, learning_rate=0.5)
>>> for _ in range(100):
...     oracle.learn(per_action(np.array([[1.0, 2.0]]), n_actions=2), action=1, target=0.7)
>>> oracle.predict(per_action(np.array([[1.0, 2.0]]), n_actions=2)).round(3)
array([0. , 0.7])
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Rows, Sparse
from marginbandits.lanes import across, each, line, put, roots, sizes, total, where, width
from marginbandits.state import HUGE, SQUARES, Field, Journal, Record, aligned, zeros
from marginbandits.types import Array

__all__ = ["FAINT", "OnlineRegression", "flat", "learn_row", "predict_all", "predict_one", "predict_row"]

Places = npt.NDArray[np.int64]
_ALL = np.empty(0, np.int64)  # the columns of a dense row
FAINT = 1e-100
"""Values of no larger size teach nothing: their rates, and weights that make up for them, are no numbers."""


class OnlineRegression(Record):
    """For each of several policies, one regression per block: one for each action, or one shared by all.

    Memory is 24·n_policies·n_blocks·n_features bytes: regression by regression or, for `sparse` rows, column by column,
    so that what all actions know of one is found together; in whole lines, where they are asked and learn `together`
    (`every_regression`).
    """

    def __init__(
        self,
        n_policies: int,
        n_blocks: int,
        n_features: int,
        learning_rate: float,
        *,
        sparse: bool = False,
        together: bool = False,
    ) -> None:
        self.learning_rate, self.n_features, self._sparse = learning_rate, n_features, sparse
        self._n = n_policies, n_blocks
        wide = n_features if sparse else across(n_features)  # beyond n_features, all is 0
        n = n_policies * n_blocks
        # Weights, squared gradients, largest inputs: of each column, or else of each regression.
        self.by_column = zeros((n_features if sparse else 0, 3, across(n) if together else n))
        self._by_regression = zeros((0 if sparse else n_policies, n_blocks, 3, wide))
        self.totals = zeros((n_policies, 2))  # importance, and importance times squared normalised length
        self.span = np.array([0.0, 1.0])  # range of the targets
        # The last step, of one policy: what the block was, totals and span; then the stamp and which block.
        self._last = zeros((3 * wide + 6 if n_policies == 1 else 6,))
        self.work = aligned(2 * wide)
        self.attach(Journal())

    @property
    def state(self) -> Array:
        """Regression by regression, wherever it is kept: what is copied or pickled is one array, and no view of it."""
        if not self._sparse:
            return self._by_regression
        n_policies, n_blocks = self._n
        own = self.by_column[..., : n_policies * n_blocks]
        return own.reshape(self.n_features, 3, n_policies, n_blocks).transpose(2, 3, 1, 0)

    def undo(self, stamp: int) -> None:
        """Put back the block of the last step."""
        if self._last[-2] == stamp:
            n = len(self._last) - 6
            self.state[0, int(self._last[-1])] = self._last[:n].reshape(3, -1)
            self.totals[0], self.span[:] = self._last[n : n + 2], self._last[n + 2 : n + 4]

    def predict(self, batch: Batch, policy: int = 0) -> Array:
        """The predicted loss of every action, not clipped: what is beyond the range still tells them apart."""
        out = np.empty(len(batch.mask))
        predict_all(self.state[policy], *flat(batch.rows), batch.shared, batch.starts, out)
        return out

    def learn(self, batch: Batch, action: int, target: float, importance: float = 1.0, policy: int = 0) -> None:
        """One step of one action's prediction towards a target, for a batch of one."""
        rows, block, at, rate = batch.rows, batch.block(action), batch.row(action), self.learning_rate
        state, totals, span = self.state[policy], self.totals[policy], self.span
        if isinstance(rows, Sparse):
            columns, values = rows.row(at)
            self._keep((policy, block, slice(None), columns), policy)
            learn_row(state[block], totals, span, columns, values, target, importance, rate, self.work)
        elif len(self.state) == 1:  # one step a round: it keeps itself
            stamp = self.journal.stamp
            _learn_one(state, totals, span, rows, at, block, target, importance, rate, self.work, self._last, stamp)
        else:
            self._keep((policy, block), policy)
            learn_row(state[block], totals, span, _ALL, rows[at], target, importance, rate, self.work)

    def learn_all(self, batch: Batch, targets: Array, policy: int) -> None:
        """`learn` for every available action in turn, each counted once."""
        for action, target in enumerate(targets.tolist()):
            if batch.mask[action]:
                self.learn(batch, action, target, 1.0, policy)

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "state": Field(self._blocks(), -HUGE, SQUARES),
            "totals": Field(self.totals, 0.0, 1e40),
            "span": Field(self.span, -1e50, 1e50),
        }

    def _blocks(self) -> Array:
        """The state block by block."""
        return self.state.reshape(-1, *self.state.shape[2:])[..., : self.n_features]

    def _adopt(self, before: "OnlineRegression", places: Places) -> None:
        """Block by block, of every policy."""
        kept = np.flatnonzero(places >= 0)
        self.state[:, kept] = before.state[:, places[kept]]
        self.totals[...], self.span[...] = before.totals, before.span

    def check(self) -> None:
        """Squares and largest inputs are not negative; rows have some length; [0, 1] is in the range of targets."""
        if (self.state[:, :, 1:] < 0.0).any():
            raise ValueError("state must have squared gradients and largest inputs of at least 0")
        if self.state[:, :, 0].max() > HUGE or self.state[:, :, 2].max() > 1e101:
            raise ValueError("state must have weights and largest inputs that products with contexts can have")
        if (self.totals[:, 1] < 1e-300 * self.totals[:, 0]).any():
            raise ValueError("totals must be of rows that have a length")
        if not (self.span[0] <= 0.0 and self.span[1] >= 1.0):
            raise ValueError(f"span must hold [0, 1], got {self.span}")

    def _keep(self, where: tuple[Any, ...], policy: int) -> None:
        self.journal.keep(self.state, where)
        self.journal.keep(self.totals, policy)
        self.journal.keep(self.span)


def flat(rows: Rows) -> tuple[Places, Array, Places]:
    """Columns of all rows, none where they are dense; their values; and where each row begins."""
    if isinstance(rows, Sparse):
        return rows.columns, rows.values, rows.starts
    return _ALL, rows.ravel(), np.arange(len(rows) + 1) * rows.shape[1]


@kernel
def predict_row(weights: Array, columns: Places, values: Array) -> float:
    """<w, z> of a row: all columns in order where `columns` is empty."""
    total = 0.0
    if columns.shape[0] == 0:
        for i in range(values.shape[0]):
            total += weights[i] * values[i]
    else:
        for k in range(values.shape[0]):
            total += weights[columns[k]] * values[k]
    return total


@kernel
def predict_one(states: Array, columns: Places, values: Array, out: Array) -> None:
    """<w, z> of each action, for one row."""
    for a in range(out.shape[0]):
        out[a] = predict_row(states[a, 0], columns, values)


@kernel
def predict_all(
    states: Array, columns: Places, values: Array, ends: Places, shared: bool, starts: Places, out: Array
) -> None:
    """<w, z> of each action of each context, whose row i ends where row i + 1 begins, at `ends[i + 1]`."""
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            block, row = (0, k) if shared else (k - starts[i], i)
            first, last = ends[row], ends[row + 1]
            where = columns[first:last] if columns.shape[0] else columns
            out[k] = predict_row(states[block, 0], where, values[first:last])


@kernel
def _learn_one(
    states: Array,
    totals: Array,
    span: Array,
    rows: Array,
    at: int,
    block: int,
    target: float,
    importance: float,
    rate: float,
    work: Array,
    last: Array,
    stamp: int,
) -> None:
    """`learn_row`; what it changes is kept in `last` first."""
    state, n = states[block], last.shape[0] - 6
    for i in range(3):
        for j in range(state.shape[1]):
            last[i * state.shape[1] + j] = state[i, j]
    last[n], last[n + 1], last[n + 2], last[n + 3] = totals[0], totals[1], span[0], span[1]
    last[n + 4], last[n + 5] = stamp, block
    _learn_dense(state, totals, span, rows[at], target, importance, rate, work)


@kernel
def learn_row(
    state: Array,
    totals: Array,
    span: Array,
    columns: Places,
    values: Array,
    target: float,
    importance: float,
    rate: float,
    work: Array,
) -> None:
    """One step on a row: all columns in order where `columns` is empty; `work` is for as many numbers."""
    if columns.shape[0] == 0:
        _learn_dense(state, totals, span, values, target, importance, rate, work)
    else:
        _learn_sparse(state, totals, span, columns, values, target, importance, rate)


@kernel
def _step(totals: Array, error: float, importance: float, length: float, moved: float, rate: float) -> float:
    """C δ of a row that adds ‖x/N‖² = `length`, where Σ x² s = `moved`."""
    totals[0] += importance
    totals[1] += importance * length
    multiplier = math.sqrt(totals[0] / totals[1])
    q = multiplier * moved
    return multiplier * error * -math.expm1(-2.0 * rate * importance * q) / q


@kernel
def _grow(weights: Array, squares: Array, largest: Array, values: Array) -> None:
    """Weights in units of the largest inputs, where these values are larger, and of any consequence."""
    for i in range(values.shape[0]):
        x = abs(values[i])
        if x > largest[i] and squares[i] > 0.0:
            weights[i] *= largest[i] / x
            largest[i] = x


@kernel
def widened(values: Array, work: Array) -> Array:
    """A dense row with zeros up to a multiple of eight: itself if it is one, else as the beginning of `work`."""
    n, many = values.shape[0], width(values)
    if n % many == 0:
        return values
    wide = work[: n + many - n % many]
    for i in range(n):
        wide[i] = values[i]
    for i in range(n, wide.shape[0]):
        wide[i] = 0.0
    return wide


@kernel
def _learn_dense(
    state: Array, totals: Array, span: Array, values: Array, target: float, importance: float, rate: float, work: Array
) -> None:
    """Eight columns at once: the state has a multiple of them, and `work` is for two rows of it."""
    span[0], span[1] = min(span[0], target), max(span[1], target)
    z = widened(values, work)
    wide = z.shape[0]
    weights, squares, largest, rates = state[0], state[1], state[2], work[wide : 2 * wide]
    none = each(0.0)
    sums, grown, length, moved = none, none, none, none
    for i in range(0, wide, width(z)):
        x = line(z, i)
        sums = sums + line(weights, i) * x
        grown = grown + where(sizes(x) - line(largest, i), each(1.0))
    error = target - min(max(total(sums), span[0]), span[1])
    gradient = 4.0 * error * error * importance
    if not gradient > 0.0:  # nothing to learn, or too little for a number
        return
    if total(grown) > 0.0:
        for i in range(wide):
            squares[i] += gradient * z[i] * z[i]
        _grow(weights, squares, largest, z)
        gradient = 0.0
    for i in range(0, wide, width(z)):
        x = line(z, i)
        square = line(squares, i) + each(gradient) * x * x
        put(squares, i, square)
        seen = where(sizes(x) - each(FAINT), square)
        root, size = roots(square), line(largest, i)
        share = where(seen, sizes(x) / size)
        steep = where(seen, each(1.0) / (size * root))
        put(rates, i, steep)
        length = length + share * share
        moved = moved + x * x * steep
    if total(moved) > 0.0 and total(length) > 0.0:
        step = each(_step(totals, error, importance, total(length), total(moved), rate))
        for i in range(0, wide, width(z)):
            put(weights, i, line(weights, i) + step * line(z, i) * line(rates, i))


@kernel
def _learn_sparse(
    state: Array,
    totals: Array,
    span: Array,
    columns: Places,
    values: Array,
    target: float,
    importance: float,
    rate: float,
) -> None:
    """One step on what a row has filled."""
    span[0], span[1] = min(span[0], target), max(span[1], target)
    weights, squares, largest = state[0], state[1], state[2]
    total = 0.0
    for k in range(values.shape[0]):
        total += weights[columns[k]] * values[k]
    error = target - min(max(total, span[0]), span[1])
    gradient = 4.0 * error * error * importance
    if not gradient > 0.0:  # nothing to learn, or too little for a number
        return
    length = 0.0
    moved = 0.0
    for k in range(values.shape[0]):
        x = abs(values[k])
        i = columns[k]
        if x > FAINT and squares[i] + gradient * x * x > 0.0:
            squares[i] += gradient * x * x
            if x > largest[i]:
                weights[i] *= largest[i] / x
                largest[i] = x
            length += (x / largest[i]) ** 2
            moved += x * x / (largest[i] * math.sqrt(squares[i]))
    if moved > 0.0 and length > 0.0:
        step = _step(totals, error, importance, length, moved, rate)
        for k in range(values.shape[0]):
            i = columns[k]
            if abs(values[k]) > FAINT and squares[i] > 0.0:
                weights[i] += step * values[k] / (largest[i] * math.sqrt(squares[i]))
