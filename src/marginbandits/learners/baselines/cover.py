"""Online cover: a small ensemble of policies, each rewarded for covering actions the earlier ones do not.

The first policy learns the losses seen. The others learn the doubly robust estimate ĉ of every action's loss, policy i
less a bonus where the policies before it play a rarely:

    ĉ_i(a) = ĉ(a) - ψ ε_t Σ_b m_i(b)/m_i(a),   m_i(a) = max(ε_t, votes for a before i/n_policies)

with ε_t = min(1/K, 1/√(Kt)). Played is the mean vote v, moved as little as gives every action with a vote its share of
the exploration, and the others none:

    p = argmin ‖p - v‖   such that   p(a) >= Kε_t/|S| on S = {v > 0},   p = 0 elsewhere

This is the online form of ILOVETOCONBANDITS, without its uniform exploration: "Cover-NU" of the bake-off.

Agarwal, Hsu, Kale, Langford, Li & Schapire (2014), "Taming the monster: a fast and simple algorithm for contextual
bandits"; Bietti, Agarwal & Langford (2021), "A contextual bandit bake-off".

>>> agent = Cover(n_actions=3, seed=0)
>>> agent.learn([1.0], agent.act([1.0]), loss=1.0)
>>> bool((agent.act([1.0]).distribution > 0).sum() > 1)
True
"""

import math
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from marginbandits import laws
from marginbandits.compiled import kernel
from marginbandits.contexts import Batch
from marginbandits.features import Features
from marginbandits.learners.options import MaybeActionCount, Options
from marginbandits.learners.regression import OracleLearner, vote, vote_every
from marginbandits.learners.swift import compiled_rounds
from marginbandits.oracles.every_regression import learn_every
from marginbandits.oracles.online_regression import learn_row, predict_one, widened
from marginbandits.types import Array, Mask
from marginbandits.validation import Instance, Integer, Real, validated

__all__ = ["Cover"]

Places = npt.NDArray[np.int64]


@kernel
def raise_law(law: Array, mass: float) -> None:
    """In place: the law nearest to this one, on the same support, of which `mass` is spread evenly there."""
    support = 0
    for a in range(law.shape[0]):
        support += law[a] > 0.0
    floor, shift, above = mass / support, 0.0, support + 1
    # All above the floor are lowered by as much; those that fall to it stay there, and the others are lowered more.
    while True:
        before, above, total = above, 0, 0.0
        for a in range(law.shape[0]):
            if law[a] > 0.0 and law[a] - shift > floor:
                above += 1
                total += law[a] - floor
        if above == 0 or above == before:
            break
        shift = (total - (1.0 - mass)) / above
    for a in range(law.shape[0]):
        law[a] = max(law[a] - shift, floor) if law[a] > 0.0 else 0.0


@kernel
def _mixed(good: bool, rounds: Array, mask: Mask, votes: Array, law: Array) -> bool:
    """The mean vote, with its share of exploration, if votes are good."""
    n_policies, n = votes.shape[0] - 1, 0
    for a in range(mask.shape[0]):
        n += mask[a]
        law[a] = 0.0
        for policy in range(n_policies):
            law[a] += votes[policy, a] / n_policies
    if good:
        raise_law(law, n * min(1.0 / n, 1.0 / math.sqrt(n * max(rounds[0], 1.0))))
    return good


@kernel
def _law_one(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states, rounds, votes = state[0], state[3], state[8]
    return _mixed(vote(states, columns, values, starts, mask, votes), rounds, mask, votes, law)


@kernel
def _law_sparse(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    rounds, votes, by_column, predicted = state[3], state[8], state[12], state[13]
    good = vote_every(by_column, columns, values, starts, mask, votes, predicted)
    return _mixed(good, rounds, mask, votes, law)


@kernel
def _aim(action: int, loss: float, probability: float, mask: Mask, span: Array, state: Any) -> None:
    """What every policy is to learn of every action, how often it counts, 0 for not at all; `costs` are predictions."""
    rounds, weighted, psi, votes, costs, share, targets, weights = state
    n_policies, K, n = votes.shape[0] - 1, mask.shape[0], 0
    for a in range(K):
        n += mask[a]
        costs[a] = min(max(costs[a], span[0]), span[1])
        share[a] = 0.0
    costs[action] += (loss - costs[action]) / probability
    floor, bonus = min(1.0 / n, 1.0 / math.sqrt(n * max(rounds[0], 1.0))), 0.0
    for policy in range(targets.shape[0]):
        seen = policy == 0 or policy == n_policies  # the first, and the spare one if there is any, learn what was seen
        weight = 1.0 / ((n if policy == 0 else 1) * probability) if seen and weighted else 1.0
        for a in range(K):
            target = costs[a] - bonus / max(share[a], floor)
            targets[policy, a] = loss if seen else target if weighted else min(max(target, 0.0), 1.0)
            weights[policy, a] = weight if mask[a] and (a == action or not seen) else 0.0
        bonus = 0.0
        for a in range(K):
            share[a] += votes[policy, a] / n_policies if policy < n_policies else 0.0
        for a in range(K):
            bonus += psi * floor * max(share[a], floor) if mask[a] else 0.0
    rounds[0] += 1.0


@kernel
def _learn_one(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states, totals, span, rounds, rate, work, weighted, psi, votes, starts, costs, share, _, _, targets, weights = state
    first = states.shape[0] - 1 if weighted else 0
    predict_one(states[first], columns, values, costs)
    vote(states, columns, values, starts, mask, votes)
    _aim(action, loss, probability, mask, span, (rounds, weighted, psi, votes, costs, share, targets, weights))
    row = widened(values, work)
    for turn in range(states.shape[0]):
        policy = (turn + first) % states.shape[0]
        for a in range(mask.shape[0]):
            if weights[policy, a] > 0.0:
                target, weight = targets[policy, a], weights[policy, a]
                learn_row(states[policy, a], totals[policy], span, columns, row, target, weight, rate, work)


@kernel
def _learn_sparse(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    _, totals, span, rounds, rate, _, weighted, psi, votes, starts, costs, share, by_column, found, targets, weights = (
        state
    )
    first = totals.shape[0] - 1 if weighted else 0
    vote_every(by_column, columns, values, starts, mask, votes, found)
    for a in range(mask.shape[0]):
        costs[a] = found[first * mask.shape[0] + a]
    _aim(action, loss, probability, mask, span, (rounds, weighted, psi, votes, costs, share, targets, weights))
    learn_every(by_column, totals, span, columns, values, found, targets, weights, first, rate)


class Cover(OracleLearner):
    """`n_policies` that cover each other's gaps; `psi` is the weight of covering.

    The costs of the policies after the first are clipped to [0, 1]; `weighted` leaves them as noisy as they are, as
    Vowpal Wabbit does.
    """

    together = True
    _compiled: ClassVar[Any] = compiled_rounds((_law_one, _learn_one), (_law_sparse, _learn_sparse))
    live = frozenset({"psi"})

    @validated
    def __init__(
        self,
        n_actions: MaybeActionCount = None,
        *,
        n_policies: Annotated[int, Integer(1)] = 8,
        psi: Annotated[float, Real(0)] = 0.1,
        learning_rate: Annotated[float, Real(above=0)] = 0.5,
        weighted: Annotated[bool, Instance(bool)] = False,
        features: Features = "raw",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_actions, learning_rate=learning_rate, weighted=weighted, features=features, **options)
        self.n_policies = n_policies
        self.psi = psi

    def _arrays(self) -> tuple[Any, ...]:
        K, by_column = self.n_actions, self._oracle.by_column
        votes, places, costs = np.empty((self.n_policies + 1, K)), np.array([0, K]), np.empty((2, K))
        lessons = np.empty((2, self._models(), K))
        return *super()._arrays(), self.psi, votes, places, *costs, by_column, np.empty(by_column.shape[2]), *lessons

    def _models(self) -> int:
        return self.n_policies + self.weighted

    def _floor(self, n_actions: int) -> float:
        return min(1.0 / n_actions, 1.0 / math.sqrt(n_actions * max(self._rounds[0], 1.0)))

    def _votes(self, one: Batch) -> Array:
        losses = (self._oracle.predict(one, policy) for policy in range(self.n_policies))
        return np.array([laws.greedy(-each, one) for each in losses])

    def _law(self, one: Batch) -> Array:
        n = int(one.mask.sum())
        law = np.asarray(self._votes(one).mean(0))
        raise_law(law, n * self._floor(n))
        return law

    def _estimate(self, one: Batch, action: int, loss: float, probability: float) -> Array:
        """ĉ: the first policy's predictions or, weighted, those of one more that counts rounds 1/p; corrected at a."""
        spare = self.n_policies if self.weighted else 0
        costs: Array = np.clip(self._oracle.predict(one, spare), *self._oracle.span)
        costs[action] += (loss - costs[action]) / probability
        if self.weighted:
            self._oracle.learn(one, action, loss, 1.0 / probability, spare)
        return costs

    def _update(self, one: Batch, action: int, loss: float, probability: float) -> None:
        n = int(one.mask.sum())
        costs = self._estimate(one, action, loss, probability)
        votes = self._votes(one) / self.n_policies
        self._oracle.learn(one, action, loss, self._importance(n, probability))
        floor, share = self._floor(n), votes[0]
        total = np.maximum(share, floor)[one.mask].sum()
        for policy in range(1, self.n_policies):
            targets = costs - self.psi * floor * total / np.maximum(share, floor)
            self._oracle.learn_all(one, targets if self.weighted else np.clip(targets, 0.0, 1.0), policy)
            wider = share + votes[policy]
            total += (np.maximum(wider, floor) - np.maximum(share, floor)).sum()
            share = wider
        self._count()
