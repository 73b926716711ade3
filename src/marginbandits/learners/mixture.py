"""Mixture: classes of predictions are learnt while it plays.

Nobody knows beforehand whether a line, a smooth curve or a tree fits, or whether exactly one action is right. Each
expert predicts the reward of every action; the one that is then played tells how wrong each was, and needs no
importance weight to do so: an expert is judged only where it was asked. With L_m the sum of its squared errors so far,

    v_m ∝ exp(-η L_m),   play argmax_a Σ_m v_m (p_m(a) + width_m(a)),   L_m += (p_m(a_t) - (1 - ℓ_t))².

An expert that cannot say how wide it is borrows the width of the most believed one that can. One that has seen too
little to say anything is asleep: it is not asked, and loses what the mixture loses (its share of all weight stays), so
when it wakes it is judged by what it says from then on.

Squared error on [0, 1] is ½-exp-concave. So at η = ½, whatever happens, the squared error of the mixture's predictions
Σ v_m p_m(a_t) is at most (ln N)/η = 2 ln N above that of the best of the N experts, over all rounds after the first
`EARLY`, which count as they were learnt last. That is a promise on predictions, not on regret: an action that is never
played teaches no expert, so widths have to see to it.

Kivinen & Warmuth (1999), "Averaging expert predictions"; Cesa-Bianchi & Lugosi (2006), "Prediction, learning, and
games", section 3.3.

>>> agent = Mixture(n_actions=2, seed=0)
>>> for x in [-1.0, 1.0, 3.0] * 30:  # the second action is right in the middle: no line tells
...     decision = agent.act([x])
...     agent.learn([x], decision, loss=float(decision.action != (x == 1.0)))
>>> [agent.act([x]).action for x in (-1.0, 1.0, 3.0)]
[0, 1, 0]
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Unpack, cast

import numpy as np

from marginbandits import laws
from marginbandits.contexts import Batch, Shape, dense
from marginbandits.experts import Expert, NetworksExpert, OneRightExpert, RidgeExpert, TreesExpert
from marginbandits.features import (
    Bias,
    Chain,
    Concatenate,
    FeatureMap,
    Fourier,
    Identity,
    Standardise,
    Table,
    feature_map,
)
from marginbandits.learners.base import Learner, Parts
from marginbandits.learners.early import Round
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.saving import describe
from marginbandits.scores import Networks
from marginbandits.state import COUNT, Field, Record
from marginbandits.types import Array, Mask
from marginbandits.validation import ActionCount, Instance, ListOf, OneOf, Real, validated

__all__ = ["Belief", "Mixture"]

MANY = 10
"""Actions up to which experts that know that one is right say themselves how wide they are."""
_LARGEST = 1e15
"""No feature that an expert sees is larger."""


class Belief(NamedTuple):
    """An expert, as it was given; its weight, and the mean of its squared errors: NaN while it is asleep."""

    expert: Expert
    weight: float
    error: float


class Mixture(Learner):
    """Plays what experts predict, each believed as far as it has been right; `eta` is how fast belief follows.

    `experts` are those of `Mixture.usual()` unless said otherwise. They have features of their own; `features` may be a
    `Table`, which says how names and values are read.
    Each costs O(Kd²) to act, and O(d²) to learn, or O(Kd²) where one action is right.
    """

    journals = True
    changes_actions = True
    exempt: ClassVar[Mapping[str, str]] = {
        "memory_does_not_grow": "forests take what their rounds call for, up to the `memory` of each action"
    }
    EARLY: ClassVar[int] = 256
    constants: ClassVar[Mapping[str, float]] = {"EARLY": 2.0**20, "LEAST": 1.0, "WIDE": 2.0**40}

    LEAST: ClassVar[float] = 1e-3
    """An expert believed less than this share of the most believed one is not asked, which saves its cost; it still
    learns, and may come back."""

    WIDE: ClassVar[int] = 2**22
    """Contexts of d columns for K actions are wide where K(d + 201)² is more than this."""

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        experts: Annotated[list[Expert] | None, OneOf(ListOf(Instance(Expert)), Instance(type(None)))] = None,
        eta: Annotated[float, Real(above=0, high=1e6)] = 0.5,
        features: Annotated[Identity | Table, Instance(Identity, Table)] = Identity(),  # noqa: B008  # never changed
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, features=features, **options)
        self.experts = experts
        self.eta = eta

    @staticmethod
    @validated
    def usual(
        n_actions: ActionCount = 2, *, wide: bool = False, background: bool = False, networks: bool = True
    ) -> list[Expert]:
        """A line and a smooth curve, by least squares and with one action right; trees; and, in long runs, `networks`.

        Without those that know that one is right where contexts are `wide`, for they move every action in every round.
        Where there are more than `MANY` actions these borrow their widths: what they would say themselves is near 0 for
        every action that is not likely yet. In the `background`, trees are fitted, and networks take their steps, while
        rounds go on: none waits, and the same seed is no longer the same run.
        """
        curve = Chain([Standardise(bias=False), Concatenate([Bias(), Fourier(200)])])  # "fourier", but for 100 columns
        by_squares = [RidgeExpert(), RidgeExpert(features=curve), TreesExpert(background=background)]
        alpha = 1.0 if n_actions <= MANY else None
        one_right = [OneRightExpert(features=features, alpha=alpha) for features in ("raw", curve)]
        joining = [NetworksExpert(networks=Networks(background=background))] if networks else []
        return [*by_squares, *([] if wide else one_right), *joining]

    def _begin(self, shape: Shape, n_features: int) -> Parts:
        blocks = 1 if shape.shared else self.n_actions
        wide = blocks * (n_features + 201) ** 2 > self.WIDE
        self._recipes = self.usual(self.n_actions, wide=wide) if self.experts is None else self.experts
        names = [_described(one.features) for one in self._recipes]  # experts of one kind of features share them
        distinct = list(dict.fromkeys(names))
        self._maps: list[FeatureMap] = [
            feature_map(self._recipes[names.index(name)].features).start(n_features, self._rng, named=shape.named)
            for name in distinct
        ]
        self._sees = [distinct.index(name) for name in names]
        together = zip(self._recipes, self._sees, strict=True)
        self._started = [one._start(blocks, self._maps[at].n_outputs) for one, at in together]
        self._errors, self._rounds = np.zeros(len(names)), np.zeros(1)
        parts: dict[str, Record | Field] = {f"features{i}": one for i, one in enumerate(self._maps)}
        parts |= {f"expert{m}": one for m, one in enumerate(self._started)}
        return {**parts, "errors": Field(self._errors, 0.0, COUNT), "rounds": Field(self._rounds, 0.0, COUNT)}

    def _recipe(self, sparse: bool) -> FeatureMap:
        return Identity()

    def _settle(self) -> None:
        if self._state is not None:
            vars(self)["experts"] = self._mixture()._recipes

    def _mixture(self) -> "Mixture":
        """Itself, or the copy that plays; refused before the first round."""
        if self._map is None:
            raise ValueError("there is nothing to believe before the first learn")
        return cast(Mixture, self._playing)

    def weights(self) -> Array:
        """How far each expert is believed; they sum to 1."""
        with self._lock:
            return self._mixture()._weights()

    def _weights(self) -> Array:
        weights = np.exp(-self.eta * (self._errors - self._errors.min()))
        awake = self._awake()
        if awake.any():
            weights *= awake
        return np.asarray(weights / weights.sum())

    def _awake(self) -> Mask:
        return np.array([not one._asleep() for one in self._started])

    def _carry(self, awake: Mask) -> None:
        """All others were asleep, and lose what the mixture does: of all weight they keep the share they began with."""
        if awake.any() and not awake.all():
            errors = self._errors[awake]
            least = float(errors.min())
            self._errors[~awake] = least - np.log(np.exp(-self.eta * (errors - least)).mean()) / self.eta

    def beliefs(self) -> list[Belief]:
        """Every expert with how far it is believed, and its mean squared error so far, the most believed first."""
        with self._lock:
            player = self._mixture()
            errors = np.where(player._awake(), player._errors / max(player._rounds[0], 1.0), math.nan)
            found = map(Belief, player._recipes, player._weights().tolist(), errors.tolist())
        return sorted(found, key=lambda one: -one.weight)

    def _laws(self, batch: Batch) -> Array:
        seen = self._seen(batch)
        hope, unsaid, lent = np.zeros(len(batch.mask)), 0.0, None
        weights = self._weights()
        least = self.LEAST * float(weights.max())
        for m in np.argsort(-weights, kind="stable").tolist():  # the most believed first
            weight, own = float(weights[m]), seen[self._sees[m]]
            if weight < least and (lent is not None or unsaid == 0.0):
                break
            width = self._started[m]._width(own)
            if width is None:
                unsaid += weight
            elif lent is None:
                lent = width
            if weight >= least:
                predicted = self._started[m]._predict(own)
                hope += weight * (predicted if width is None else predicted + width)
        return laws.greedy(hope if lent is None else hope + unsaid * lent, batch)

    def _seen(self, batch: Batch) -> list[Batch]:
        """What experts see of it, by each map: features in single precision, whose squares are numbers too."""
        rows = [np.clip(one.transform(dense(batch.rows)), -_LARGEST, _LARGEST) for one in self._maps]
        return [Batch(one.astype(np.float32), batch.shared, batch.starts, batch.mask) for one in rows]

    def _predicted(self, batch: Batch) -> Array:
        seen, weights = self._seen(batch), self._weights()
        predicted = [one._predict(seen[at]) for one, at in zip(self._started, self._sees, strict=True)]
        return 1.0 - weights @ np.array(predicted)

    def _widths(self, batch: Batch) -> Array:
        seen, weights, total, said = self._seen(batch), self._weights(), np.zeros(len(batch.mask)), 1e-300
        for weight, one, at in zip(weights.tolist(), self._started, self._sees, strict=True):
            width = one._width(seen[at])
            if width is not None:
                total += weight * width
                said += weight
        return np.asarray(total / said)

    def _mean_context(self) -> Array:
        return self._maps[0]._typical()

    def _observe(self, one: Batch) -> None:
        for each in self._maps:
            each.observe(dense(one.rows))

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        self._observe(one)
        self._journal.keep(self._errors)
        self._journal.keep(self._rounds)
        self._rounds += 1.0
        awake = self._awake()
        self._teach(range(len(self._started)), one, action, loss)
        self._carry(awake)

    def _teach(self, some: Iterable[int], one: Batch, action: int, loss: float) -> None:
        seen = self._seen(one)
        for m in some:
            predicted = self._started[m]._learn(seen[self._sees[m]], action, loss)
            if not 0.0 <= predicted <= 1.0:
                name = type(self._started[m]).__name__
                raise ValueError(f"experts[{m}], a {name}, must predict rewards within 0 and 1, got {predicted}")
            self._errors[m] += (predicted - (1.0 - loss)) ** 2

    def _anew(self, rounds: Iterable[Round], *newest: Any) -> None:
        self._observe(newest[0])
        self._rounds += 1.0
        awake = self._awake()
        scaled = [m for m, expert in enumerate(self._started) if expert.scaled]
        self._teach([m for m, expert in enumerate(self._started) if not expert.scaled], *newest[:3])
        for m in scaled:
            self._started[m]._forget()
            self._errors[m] = 0.0
        for one, action, loss, _ in rounds:
            self._teach(scaled, one, action, loss)
        self._carry(awake & self._awake())


def _described(features: str | FeatureMap) -> str:
    """All that a recipe is made of, arrays included."""

    def bits(array: Any) -> list[str]:
        return [str(array.dtype), str(array.shape), array.tobytes().hex()]

    return json.dumps(describe(features), default=bits)
