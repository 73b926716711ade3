"""Online linear regression in O(d) a round: the engine of the oracle-based baselines.

Squared loss by adaptive, normalised, importance-aware gradient steps, the update that made Vowpal Wabbit's linear
learners hard to beat. For feature i of a model with weight w_i, with G_i the sum of squared gradients and N_i the
largest |x_i| so far:

    rate        s_i = 1/(N_i √G_i),   q = c Σ x_i² s_i,   c = √(Σ weight/Σ weight·‖x/N‖²)
    step        δ = (y - ŷ)(1 - exp(-2 η h q))/q           the exact flow of η h importance-weighted infinitesimal steps
    update      w_i += c δ x_i s_i

so one learning rate η serves any scale of features, and an importance weight h counts like h repetitions. The error
y - ŷ is that of the prediction clipped to the range of the targets seen so far, [0, 1] to begin with.

Karampatziakis & Langford (2011), "Online importance weight aware updates"; Ross, Mineiro & Langford (2013),
"Normalized online learning"; Duchi, Hazan & Singer (2011), "Adaptive subgradient methods".

>>> import numpy as np
>>> oracle = OnlineRegression(n_policies=1, n_blocks=2, n_features=2, learning_rate=0.5)
>>> for _ in range(100):
...     oracle.learn(np.array([[1.0, 2.0]]), action=1, target=0.7)
>>> oracle.predict(np.array([[1.0, 2.0]])).round(3)
array([0. , 0.7])
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.types import Array

__all__ = ["OnlineRegression"]


class OnlineRegression:
    """For each of several policies, one regression per block: K blocks on one row, or one block on K rows.

    Memory is 24·n_policies·n_blocks·n_features bytes.
    """

    def __init__(self, n_policies: int, n_blocks: int, n_features: int, learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self.state = np.zeros((n_policies, n_blocks, 3, n_features))  # weights, squared gradients, largest inputs
        self.totals = np.zeros((n_policies, 2))  # importance, and importance times squared normalised length
        self.span = np.array([0.0, 1.0])  # range of the targets

    def predict(self, rows: Array, policy: int = 0) -> Array:
        """The predicted loss of every action, not clipped: what is beyond the range still tells them apart."""
        return _predict_all(self.state[policy], rows)

    def learn(self, rows: Array, action: int, target: float, importance: float = 1.0, policy: int = 0) -> None:
        """One step of one action's prediction towards a target."""
        state, totals = self.state[policy], self.totals[policy]
        _learn(state, totals, self.span, rows, action, target, importance, self.learning_rate)

    def learn_all(self, rows: Array, targets: Array, policy: int) -> None:
        """`learn` for every action in turn, each counted once."""
        _learn_all(self.state[policy], self.totals[policy], self.span, rows, targets, self.learning_rate)

    def ranges(self, rows: Array, delta: float) -> tuple[Array, Array]:
        """The least and the largest loss each action could be given without adding more than `delta` squared error.

        Foster, Agarwal, Dudík, Luo & Schapire (2018), "Practical contextual bandits with regression oracles": found by
        asking how far a large importance weight on an extreme label would move the prediction.
        """
        return _ranges(self.state[0], self.totals[0], rows, delta, self.learning_rate)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The live state."""
        return {"state": self.state, "totals": self.totals, "span": self.span}


@kernel
def _predict(state: Array, row: Array) -> float:
    total = 0.0
    for i in range(row.shape[0]):
        total += state[0, i] * row[i]
    return total


@kernel
def _predict_all(states: Array, rows: Array) -> Array:
    out = np.empty(max(states.shape[0], rows.shape[0]))
    for a in range(out.shape[0]):
        out[a] = _predict(states[min(a, states.shape[0] - 1)], rows[min(a, rows.shape[0] - 1)])
    return out


@kernel
def _learn(
    states: Array, totals: Array, span: Array, rows: Array, action: int, target: float, importance: float, rate: float
) -> None:
    state, row = states[min(action, states.shape[0] - 1)], rows[min(action, rows.shape[0] - 1)]
    span[0], span[1] = min(span[0], target), max(span[1], target)
    error = target - min(max(_predict(state, row), span[0]), span[1])
    if importance <= 0.0 or error == 0.0:
        return
    weights, squares, largest = state[0], state[1], state[2]
    gradient = 4.0 * error * error * importance
    length = 0.0
    moved = 0.0
    for i in range(row.shape[0]):
        x = abs(row[i])
        if x > 0.0:
            squares[i] += gradient * x * x
            if x > largest[i]:
                weights[i] *= largest[i] / x
                largest[i] = x
            length += (x / largest[i]) ** 2
            moved += x * x / (largest[i] * math.sqrt(squares[i]))
    totals[0] += importance
    totals[1] += importance * length
    if moved > 0.0:
        multiplier = math.sqrt(totals[0] / totals[1])
        q = multiplier * moved
        step = multiplier * error * -math.expm1(-2.0 * rate * importance * q) / q
        for i in range(row.shape[0]):
            if row[i] != 0.0:
                weights[i] += step * row[i] / (largest[i] * math.sqrt(squares[i]))


@kernel
def _learn_all(states: Array, totals: Array, span: Array, rows: Array, targets: Array, rate: float) -> None:
    for action in range(targets.shape[0]):
        _learn(states, totals, span, rows, action, targets[action], 1.0, rate)


@kernel
def _reach(state: Array, totals: Array, row: Array, gap: float, delta: float, rate: float) -> float:
    """How far importance on a target `gap` away moves the prediction before it costs more than `delta`."""
    length = 0.0
    moved = 0.0
    for i in range(row.shape[0]):
        x = abs(row[i])
        if x > 0.0:
            largest = max(state[2, i], x)
            length += (x / largest) ** 2
            moved += x * x / (largest * math.sqrt(state[1, i] + 4.0 * gap * gap * x * x))
    if moved <= 0.0:
        return 0.0
    sensitivity = rate * math.sqrt((totals[0] + 1.0) / (totals[1] + length)) * moved
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
def _ranges(states: Array, totals: Array, rows: Array, delta: float, rate: float) -> tuple[Array, Array]:
    n = max(states.shape[0], rows.shape[0])
    least, most = np.empty(n), np.empty(n)
    for a in range(n):
        state, row = states[min(a, states.shape[0] - 1)], rows[min(a, rows.shape[0] - 1)]
        predicted = _predict(state, row)
        down = _reach(state, totals, row, max(predicted, 0.0) + 1.0, delta, rate)
        up = _reach(state, totals, row, 2.0 - min(predicted, 1.0), delta, rate)
        least[a] = min(max(predicted - down, 0.0), 1.0)
        most[a] = max(min(predicted + up, 1.0), 0.0)
    return least, most
