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

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.contexts import Batch, Sparse
from marginbandits.state import HUGE, SQUARES, Field, Journal, Record, zeros
from marginbandits.types import Array

__all__ = ["OnlineRegression"]

Places = npt.NDArray[np.int64]
_ALL = np.empty(0, np.int64)  # the columns of a dense row


class OnlineRegression(Record):
    """For each of several policies, one regression per block: one for each action, or one shared by all.

    Memory is 24·n_policies·n_blocks·n_features bytes.
    """

    def __init__(self, n_policies: int, n_blocks: int, n_features: int, learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self.state = zeros((n_policies, n_blocks, 3, n_features))  # weights, squared gradients, largest inputs
        self.totals = zeros((n_policies, 2))  # importance, and importance times squared normalised length
        self.span = np.array([0.0, 1.0])  # range of the targets
        # The last step, of one policy: what the block was, totals and span; then the stamp and which block.
        self._last = zeros((3 * n_features + 6 if n_policies == 1 else 6,))
        self.attach(Journal())

    def undo(self, stamp: int) -> None:
        """Put back the block of the last step."""
        if self._last[-2] == stamp:
            n = len(self._last) - 6
            self.state[0, int(self._last[-1])] = self._last[:n].reshape(3, -1)
            self.totals[0], self.span[:] = self._last[n : n + 2], self._last[n + 2 : n + 4]

    def predict(self, batch: Batch, policy: int = 0) -> Array:
        """The predicted loss of every action, not clipped: what is beyond the range still tells them apart."""
        out = np.empty(len(batch.mask))
        if isinstance(batch.rows, Sparse):
            r = batch.rows
            _predict_sparse(self.state[policy], r.values, r.columns, r.starts, batch.shared, batch.starts, out)
        else:
            _predict_all(self.state[policy], batch.rows, batch.shared, batch.starts, out)
        return out

    def learn(self, batch: Batch, action: int, target: float, importance: float = 1.0, policy: int = 0) -> None:
        """One step of one action's prediction towards a target, for a batch of one."""
        rows, rate = batch.rows, self.learning_rate
        if len(self.state) == 1 and isinstance(rows, np.ndarray):  # one step a round: it keeps itself
            at, block = (action, 0) if batch.shared else (0, action)
            stamp = self.journal.stamp
            _learn_one(
                self.state[0], self.totals[0], self.span, rows, at, block, target, importance, rate, self._last, stamp
            )
            return
        columns, values = self._row(batch, action)
        block = batch.block(action)
        self._keep(columns, block, policy)
        _learn(
            self.state[policy, block],
            self.totals[policy],
            self.span,
            columns,
            values,
            target,
            importance,
            self.learning_rate,
        )

    def learn_all(self, batch: Batch, targets: Array, policy: int) -> None:
        """`learn` for every available action in turn, each counted once."""
        for action, target in enumerate(targets.tolist()):
            if batch.mask[action]:
                self.learn(batch, action, target, 1.0, policy)

    def ranges(self, batch: Batch, delta: float) -> tuple[Array, Array]:
        """The least and the largest loss each action could be given without adding more than `delta` squared error.

        Foster, Agarwal, Dudík, Luo & Schapire (2018), "Practical contextual bandits with regression oracles": found by
        asking how far a large importance weight on an extreme label would move the prediction.
        """
        least, most = np.empty((2, len(batch.mask)))
        if isinstance(batch.rows, Sparse):
            columns, values, ends = batch.rows.columns, batch.rows.values, batch.rows.starts
        else:
            columns, values = _ALL, batch.rows.ravel()
            ends = np.arange(len(batch.rows) + 1) * batch.rows.shape[1]
        state, totals, rate = self.state[0], self.totals[0], self.learning_rate
        _ranges(state, totals, columns, values, ends, batch.shared, batch.starts, delta, rate, least, most)
        return least, most

    def fields(self) -> Mapping[str, Field]:
        """The live state."""
        return {
            "state": Field(self.state.reshape(-1, *self.state.shape[2:]), -HUGE, SQUARES),  # block by block
            "totals": Field(self.totals, 0.0, 1e40),
            "span": Field(self.span, -1e50, 1e50),
        }

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
        if (self.totals[:, 0] > 1e300 * self.totals[:, 1]).any():
            raise ValueError("totals must be of rows that have a length")
        if not (self.span[0] <= 0.0 and self.span[1] >= 1.0):
            raise ValueError(f"span must hold [0, 1], got {self.span}")

    def _row(self, batch: Batch, action: int) -> tuple[Places, Array]:
        rows, at = batch.rows, batch.row(action)
        return rows.row(at) if isinstance(rows, Sparse) else (_ALL, rows[at])

    def _keep(self, columns: Places, block: int, policy: int) -> None:
        where = (policy, block) if columns is _ALL else (policy, block, slice(None), columns)
        self.journal.keep(self.state, where)
        self.journal.keep(self.totals, policy)
        self.journal.keep(self.span)


@kernel
def _predict(weights: Array, columns: Places, values: Array) -> float:
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
def _predict_all(states: Array, rows: Array, shared: bool, starts: Places, out: Array) -> None:
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            k = starts[i] + a
            weights, row = states[0 if shared else a, 0], rows[k if shared else i]
            total = 0.0
            for j in range(row.shape[0]):
                total += weights[j] * row[j]
            out[k] = total


@kernel
def _predict_sparse(
    states: Array, values: Array, columns: Places, ends: Places, shared: bool, starts: Places, out: Array
) -> None:
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            k = starts[i] + a
            block, row = (0, k) if shared else (a, i)
            total = 0.0
            for j in range(ends[row], ends[row + 1]):
                total += states[block, 0, columns[j]] * values[j]
            out[k] = total


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
    last: Array,
    stamp: int,
) -> None:
    """`_learn` for a dense row; what it changes is kept in `last` first."""
    state, n = states[block], last.shape[0] - 6
    last[:n] = state.reshape(-1)
    last[n], last[n + 1], last[n + 2], last[n + 3] = totals[0], totals[1], span[0], span[1]
    last[n + 4], last[n + 5] = stamp, block
    _learn(state, totals, span, np.empty(0, np.int64), rows[at], target, importance, rate)


@kernel
def _learn(
    state: Array,
    totals: Array,
    span: Array,
    columns: Places,
    values: Array,
    target: float,
    importance: float,
    rate: float,
) -> None:
    span[0], span[1] = min(span[0], target), max(span[1], target)
    weights, squares, largest = state[0], state[1], state[2]
    error = target - min(max(_predict(weights, columns, values), span[0]), span[1])
    gradient = 4.0 * error * error * importance
    if not gradient > 0.0:  # nothing to learn, or too little for a number
        return
    every = columns.shape[0] == 0
    length = 0.0
    moved = 0.0
    for k in range(values.shape[0]):
        x = abs(values[k])
        i = k if every else columns[k]
        if x > 0.0 and squares[i] + gradient * x * x > 0.0:
            squares[i] += gradient * x * x
            if x > largest[i]:
                weights[i] *= largest[i] / x
                largest[i] = x
            length += (x / largest[i]) ** 2
            moved += x * x / (largest[i] * math.sqrt(squares[i]))
    if moved > 0.0 and length > 0.0:
        totals[0] += importance
        totals[1] += importance * length
        multiplier = math.sqrt(totals[0] / totals[1])
        q = multiplier * moved
        step = multiplier * error * -math.expm1(-2.0 * rate * importance * q) / q
        for k in range(values.shape[0]):
            i = k if every else columns[k]
            if values[k] != 0.0 and squares[i] > 0.0:
                weights[i] += step * values[k] / (largest[i] * math.sqrt(squares[i]))


@kernel
def _reach(state: Array, totals: Array, columns: Places, values: Array, gap: float, delta: float, rate: float) -> float:
    """How far importance on a target `gap` away moves the prediction before it costs more than `delta`."""
    length = 0.0
    moved = 0.0
    for k in range(values.shape[0]):
        x = abs(values[k])
        if x > 0.0:
            i = columns[k] if columns.shape[0] else k
            largest = max(state[2, i], x)
            length += (x / largest) ** 2
            spread = state[1, i] + 4.0 * gap * gap * x * x
            moved += x * x / (largest * math.sqrt(spread)) if spread > 0.0 else 0.0
    if not (moved > 0.0 and length > 0.0):
        return 0.0
    sensitivity = rate * math.sqrt((totals[0] + 1.0) / (totals[1] + length)) * moved
    if not sensitivity > 1e-150:
        return 0.0
    low, high = 0.0, gap / sensitivity
    if high * gap * gap <= delta:
        return gap
    while high - low > 1e-6 * (1.0 + low):
        middle = 0.5 * (low + high)
        left = gap - sensitivity * middle
        if middle * (gap * gap - left * left) > delta:
            high = middle
        else:
            low = middle
    return sensitivity * low


@kernel
def _ranges(
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
    for i in range(starts.shape[0] - 1):
        for a in range(starts[i + 1] - starts[i]):
            k = starts[i] + a
            row = k if shared else i
            state, filled = states[0 if shared else a], values[ends[row] : ends[row + 1]]
            where = columns[ends[row] : ends[row + 1]] if columns.shape[0] else columns
            predicted = _predict(state[0], where, filled)
            down = _reach(state, totals, where, filled, max(predicted, 0.0) + 1.0, delta, rate)
            up = _reach(state, totals, where, filled, 2.0 - min(predicted, 1.0), delta, rate)
            least[k] = min(max(predicted - down, 0.0), 1.0)
            most[k] = max(min(predicted + up, 1.0), 0.0)
