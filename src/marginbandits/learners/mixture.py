"""Mixture: classes of predictions are learnt while it plays.

Nobody knows beforehand whether a straight line, a smooth curve or a margin fits. Each expert predicts the reward of every
action; the one that is then played tells how wrong each was, and needs no importance weight to do so: an expert is
judged only where it was asked. With L_m the sum of its squared errors so far,

    v_m ∝ exp(-η L_m),   play argmax_a Σ_m v_m (p_m(a) + width_m(a)),   L_m += (p_m(a_t) - (1 - ℓ_t))².

The square of an error within [0, 1] is 2-mixable and ½-exp-concave, so for η = ½ the mixture's own squared error is,
whatever happens, at most (ln N)/η above the best expert's; η = 2 is the rate for which a substitution of the same size
exists, and the one that works best.

The first rounds of any run are seen in scales that are not known yet. So they are kept, and after rounds 8, 16, ...,
`EARLY` everything is learnt anew from all of them, in the scales of today.

Vovk (1998), "A game of prediction with expert advice"; Kivinen & Warmuth (1999), "Averaging expert predictions".

>>> agent = Mixture(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0, 3.0] * 30:  # the second action is right in the middle: no line tells
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x == 1.0)))
>>> [agent.act([x]).action for x in (-1.0, 1.0, 3.0)]
[0, 1, 0]
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.experts import Expert, MarginExpert, RidgeExpert, TreesExpert
from marginbandits.features import FeatureMap, Identity, feature_map
from marginbandits.learners.base import Learner, Parts
from marginbandits.saving import describe
from marginbandits.state import COUNT, Field, Journal, Record, zeros
from marginbandits.types import Array
from marginbandits.validation import ActionCount, Instance, ListOf, OneOf, Real, Seed, validated

__all__ = ["Mixture"]


class _Early(Record):
    """The first rounds, as they came: raw row, block and loss."""

    def __init__(self, size: int, n_features: int) -> None:
        self.rows, self.losses = zeros((size, n_features)), zeros((size,))
        self.blocks = np.zeros(size, np.int64)
        self.rounds = np.zeros(1, np.int64)
        self.attach(Journal())

    def put(self, row: Array, block: int, loss: float) -> int:
        """Count one more round, and keep it if it is among the first; returns how many there have been."""
        n = int(self.rounds[0])
        self.journal.keep(self.rounds)
        self.rounds[0] = min(n + 1, COUNT)
        if n < len(self.rows):
            for array in (self.rows, self.losses, self.blocks):
                self.journal.keep(array, n)
            self.rows[n], self.losses[n], self.blocks[n] = row, loss, block
        return n + 1

    def fields(self) -> Mapping[str, Field]:
        return {
            "rows": Field(self.rows),
            "losses": Field(self.losses, 0.0, 1.0),
            "blocks": Field(self.blocks, 0, COUNT),
            "rounds": Field(self.rounds, 0, COUNT),
        }


class Mixture(Learner):
    """Plays what experts predict, each believed as far as it has been right; `eta` is how fast belief follows."""

    journals = True
    constants = {"EARLY": 2.0**20}  # noqa: RUF012
    EARLY = 1024
    """Rounds within which all is learnt anew at every doubling."""

    @validated
    def __init__(
        self,
        n_actions: ActionCount,
        *,
        experts: Annotated[list[Expert] | None, OneOf(ListOf(Instance(Expert)), Instance(type(None)))] = None,
        eta: Annotated[float, Real(above=0, high=1e6)] = 2.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_actions, features=Identity(), seed=seed)
        self.experts = experts
        self.eta = eta

    @staticmethod
    def usual() -> list[Expert]:
        """A line and a smooth curve, each with a margin and without."""
        return [expert(features=features) for features in ("raw", "fourier") for expert in (RidgeExpert, MarginExpert)] + [TreesExpert()]

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        recipes = self.usual() if self.experts is None else self.experts
        names = [str(describe(one.features)) for one in recipes]  # experts of one kind of features share them
        distinct = list(dict.fromkeys(names))
        self._maps: list[FeatureMap] = [
            feature_map(recipes[names.index(name)].features).start(n_features, self._chance()) for name in distinct
        ]
        self._sees = [distinct.index(name) for name in names]
        blocks = 1 if shape.shared else self.n_actions
        self._started = [
            one.start(blocks, self._maps[at].n_outputs) for one, at in zip(recipes, self._sees, strict=True)
        ]
        self._errors = np.zeros(len(recipes))
        self._early = _Early(self.EARLY, n_features)
        parts: dict[str, Any] = {f"features{i}": one for i, one in enumerate(self._maps)}
        parts |= {f"expert{m}": one for m, one in enumerate(self._started)}
        return {**parts, "errors": Field(self._errors, 0.0, COUNT), "early": self._early}

    def weights(self) -> Array:
        """How far each expert is believed; they sum to 1."""
        weights = np.exp(-self.eta * (self._errors - self._errors.min()))
        return np.asarray(weights / weights.sum())

    def _laws(self, batch: Batch) -> Array:
        seen = [Batch(one.transform(dense(batch.rows)), batch.shared, batch.starts, batch.mask) for one in self._maps]
        weights = self.weights()
        hopes, widths, lent = (np.zeros(len(batch.mask)) for _ in range(3))
        known, unknown = 0, 0.0
        for weight, expert, at in zip(weights, self._started, self._sees, strict=True):
            hopes += weight * expert.predict(seen[at])
            width = expert.width(seen[at])
            if width is None:
                unknown += weight
            else:
                widths += weight * width
                lent += width
                known += 1
        return laws.greedy(hopes + widths + lent * (unknown / max(known, 1)), batch)

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        raw, at, block = dense(one.rows), one.row(action), one.block(action)
        n = int(self._early.rounds[0]) + 1
        again = 8 <= n <= self.EARLY and n & (n - 1) == 0
        if again:
            assert self._state is not None
            self._journal.keep_all(self._state)
        self._early.put(raw[at], block, loss)
        seen = [features.observe(raw) for features in self._maps]
        self._journal.keep(self._errors)
        for m, expert in enumerate(self._started):
            if expert.scaled and again:
                self._learn_anew(m, n)
            else:
                predicted = expert.learn(seen[self._sees[m]], at, block, loss)
                self._errors[m] += (predicted - (1.0 - loss)) ** 2

    def _learn_anew(self, m: int, n: int) -> None:
        """All rounds there were, in the scales of today."""
        kept, expert = self._early, self._started[m]
        rows = self._maps[self._sees[m]].transform(kept.rows[:n])
        expert.forget()
        self._errors[m] = 0.0
        for i in range(n):
            loss = float(kept.losses[i])
            self._errors[m] += (expert.learn(rows, i, int(kept.blocks[i]), loss) - (1.0 - loss)) ** 2
