"""Twins of rounds in which policies vote: of `Bag` and `Cover`."""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import poisson

from marginbandits.learners import regression
from marginbandits.learners.baselines import (
    bag,
    cover,
)
from marginbandits.types import Array, Mask
from tests.naive import online_regression as steps
from tests.naive.laws import greedy_each
from tests.naive.swift import NOWHERE, STARTS, K, _oracles, _to_learn, _to_play
from tests.naive.twin import Places, mask_of, pick, some, twin


def _policies(rng: np.random.Generator) -> tuple[Array, Places, Array, Places, Mask, Array]:
    states = _oracles(rng)[0]
    return states, *steps._row(rng, states.shape[-1]), STARTS, mask_of(rng, K), np.empty((len(states) + 1, K))


@twin(regression.vote, _policies)
def vote(states: Array, columns: Places, values: Array, starts: Places, mask: Mask, votes: Array) -> bool:
    for policy, own in enumerate(votes[:-1]):
        steps.predict_one(states[policy], columns, values, own)
        votes[-1] = -own
        greedy_each(-np.round(own, 9), starts, mask, own)
    return True


def _deciding(rng: np.random.Generator) -> tuple[Array, Places, Mask, Array, Array]:
    return np.round(some(rng, K), 1), STARTS, mask_of(rng, K), np.empty(K), np.empty(K)


@twin(regression._choose, _deciding)
def choose(losses: Array, starts: Places, mask: Mask, scores: Array, law: Array) -> bool:
    scores[:] = -losses
    greedy_each(scores, starts, mask, law)
    return True


def _sparse(given: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    """The same with a row that is sparse."""
    state = next(one for one in given if isinstance(one, tuple))
    return *steps._sparse_row(rng, state[0].shape[-1]), *given[2:]


def _voting(rng: np.random.Generator) -> tuple[Any, ...]:
    states, *_, mask, votes = _policies(rng)
    by_column = steps.together(states)
    row = steps._sparse_row(rng, len(by_column))
    return by_column, *row, STARTS, mask, votes, np.empty(by_column.shape[2])


@twin(regression.vote_every, _voting)
def vote_every(
    by_column: Array, columns: Places, values: Array, starts: Places, mask: Mask, votes: Array, predicted: Array
) -> bool:
    steps.predict_every(by_column, columns, values, predicted)
    return bool(vote(steps.apart(by_column, len(votes) - 1, K), columns, values, starts, mask, votes))


def _bags(rng: np.random.Generator) -> tuple[Any, ...]:
    state = _oracles(rng)
    by_column = steps.together(state[0])
    return *state, np.zeros((len(state[0]) + 1, K)), by_column, np.zeros(by_column.shape[2])


@twin(bag.times, lambda rng: (float(rng.random()),))
def times(draw: float) -> float:
    return float(poisson.ppf(draw, 1.0))


@twin(bag._law_one, lambda rng: _to_play(_bags(rng), rng), scratch=["state"])
def bag_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    vote(state[0], columns, values, starts, mask, state[7])
    law[:] = state[7][:-1].mean(0)
    return True


@twin(bag._law_sparse, lambda rng: _sparse(_to_play(_bags(rng), rng), rng), scratch=["state"])
def bag_law_sparse(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states = steps.apart(state[8], len(state[7]) - 1, K)
    return bool(bag_law(columns, values, starts, mask, (states, *state[1:]), law))


@twin(bag._mean, lambda rng: (some(rng, pick(rng, 2, 4), K), np.empty(K)))
def mean_of(votes: Array, law: Array) -> None:
    law[:] = votes[:-1].mean(0)


def _bagged(rng: np.random.Generator) -> tuple[Any, ...]:
    *given, _, state = _to_learn(_bags(rng), rng)
    return *given, rng.random(len(state[0])), state


@twin(bag._learn_one, _bagged)
def bag_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states, totals, span, rounds, rate, work, weighted = state[:7]
    rounds += 1.0
    for policy, count in enumerate([1.0, *poisson.ppf(noise[1:], 1.0)]):
        weight = count / (K * probability) if weighted else count
        if count:
            steps.learn_row(states[policy, action], totals[policy], span, columns, values, loss, weight, rate, work)


def _covers(rng: np.random.Generator) -> tuple[Any, ...]:
    """The last of the policies is the spare one, where rounds are weighted."""
    *state, weighted = _oracles(rng)
    P, by_column = len(state[0]), steps.together(state[0])
    votes, lessons = np.zeros((P - weighted + 1, K)), np.zeros((2, P, K))
    return *state, weighted, 0.1, votes, STARTS, *np.zeros((2, K)), by_column, np.zeros(by_column.shape[2]), *lessons


def _raising(rng: np.random.Generator) -> tuple[Array, float]:
    law = rng.dirichlet(np.full(K, 0.4)) * mask_of(rng, K)
    return np.round(law / law.sum(), 2) + 0.01 * (law > 0), pick(rng, 0.0, 0.3, 1.0)


@twin(cover.raise_law, lambda rng: _whole_law(*_raising(rng)), tolerance=1e-7)
def raise_law(law: Array, mass: float) -> None:
    """By bisection of how much all above the floor are lowered."""
    support = law > 0
    floor = mass / support.sum()

    def lowered(shift: float) -> Array:
        return np.where(support, np.maximum(law - shift, floor), 0.0)

    law[:] = (
        lowered(brentq(lambda shift: lowered(shift).sum() - 1.0, -1.0, 1.0, xtol=1e-14))
        if mass < 1
        else support * floor
    )


def _whole_law(law: Array, mass: float) -> tuple[Array, float]:
    return law / law.sum(), mass


@twin(cover._law_one, lambda rng: _to_play(_covers(rng), rng), tolerance=1e-7, scratch=["state"])
def cover_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    vote(state[0], columns, values, starts, mask, state[8])
    law[:], n = state[8][:-1].mean(0), mask.sum()
    raise_law(law, float(n * min(1 / n, 1 / math.sqrt(n * state[3][0]))))
    return True


def _covered(rng: np.random.Generator) -> tuple[Any, ...]:
    """Of dense rows."""
    _, _, action, *given, mask, noise, state = _to_learn(_covers(rng), rng)
    mask[action] = True
    return NOWHERE, steps._dense_row(rng, state[0].shape[-1]), action, *given, mask, noise, state


@twin(cover._law_sparse, lambda rng: _sparse(_to_play(_covers(rng), rng), rng), tolerance=1e-7, scratch=["state"])
def cover_law_sparse(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states = steps.apart(state[12], len(state[0]), K)
    return bool(cover_law(columns, values, starts, mask, (states, *state[1:]), law))


def _mixing(rng: np.random.Generator) -> tuple[Any, ...]:
    mask = mask_of(rng, K)
    votes = np.array([law / law.sum() for law in rng.uniform(0.1, 1.0, (4, K)) * mask])
    return pick(rng, True, False), np.array([pick(rng, 0.0, 50.0)]), mask, votes, np.empty(K)


@twin(cover._mixed, _mixing, tolerance=1e-7)
def mixed(good: bool, rounds: Array, mask: Mask, votes: Array, law: Array) -> bool:
    law[:], n = votes[:-1].mean(0), int(mask.sum())
    if good:
        raise_law(law, n * min(1 / n, 1 / math.sqrt(n * max(rounds[0], 1.0))))
    return good


def _aiming(rng: np.random.Generator) -> tuple[Any, ...]:
    _, _, action, loss, probability, mask, _, state = _covered(rng)
    votes = rng.random(state[8].shape)
    given = *state[6:8], votes, some(rng, K), np.zeros(K), *np.zeros((2, len(state[0]), K))
    return action, loss, probability, mask, np.array([0.0, 1.0]), (state[3], *given)


@twin(cover._aim, _aiming)
def aim(action: int, loss: float, probability: float, mask: Mask, span: Array, state: Any) -> None:
    rounds, weighted, psi, votes, costs, share, targets, weights = state
    n_policies, n = len(votes) - 1, int(mask.sum())
    costs[:] = np.clip(costs, *span)
    costs[action] += (loss - costs[action]) / probability
    floor = min(1 / n, 1 / math.sqrt(n * max(rounds[0], 1.0)))
    for policy in range(len(targets)):
        m = np.maximum(votes[:policy].sum(0) / n_policies, floor)
        bonus = psi * floor * m[mask].sum() / m
        targets[policy] = costs - bonus if weighted else np.clip(costs - bonus, 0, 1)
        weights[policy] = mask
    for policy in {0, n_policies} & set(range(len(targets))):
        targets[policy], weights[policy] = loss, 0.0
        often = n if policy == 0 else 1
        weights[policy, action] = 1 / (often * probability) if weighted else 1.0
    share[:], rounds[:] = votes[:-1].sum(0) / n_policies, rounds + 1


@twin(cover._learn_one, _covered)
def cover_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states, totals, span, rounds, rate, work, weighted, psi, votes, starts, costs, share, _, _, targets, weights = state
    first = len(votes) - 1 if weighted else 0
    steps.predict_one(states[first], columns, values, costs)
    vote(states, columns, values, starts, mask, votes)
    aim(action, loss, probability, mask, span, (rounds, weighted, psi, votes, costs, share, targets, weights))
    for policy in np.roll(np.arange(len(states)), -first):
        for a in np.flatnonzero(weights[policy]):
            given = span, columns, values, float(targets[policy, a]), float(weights[policy, a]), rate, work
            steps.learn_row(states[policy, a], totals[policy], *given)


@twin(cover._learn_sparse, lambda rng: _sparse(_covered(rng), rng))
def cover_learn_sparse(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states = steps.apart(state[12], len(state[0]), K)
    steps.predict_every(state[12], columns, values, state[13])
    cover_learn(columns, values, action, loss, probability, mask, noise, (states, *state[1:]))
