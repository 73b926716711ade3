"""Twins of one round of the learners that have compiled rounds: how a row is played, and how it is learnt."""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import poisson

from marginbandits.learners import regression, swift
from marginbandits.learners.baselines import (
    bag,
    cover,
    epsilon_greedy,
    lints,
    linucb,
    logistic_ts,
    regcb,
    squarecb,
    uniform,
)
from marginbandits.learners.hinge_lmc import wide
from marginbandits.types import Array, Mask
from tests.naive import diagonal, features
from tests.naive import online_regression as steps
from tests.naive import regression as slow
from tests.naive.diagonal import logistic
from tests.naive.laws import explored, greedy_each, moved_together, race_of_normals, weigh
from tests.naive.twin import Places, mask_of, pick, some, spans, twin

K = 4
STARTS = np.array([0, K])
NOWHERE = np.empty(0, np.int64)


def _ridges(rng: np.random.Generator) -> tuple[Any, ...]:
    """K models, room to work in, and what a loss of 0 is worth."""
    d = pick(rng, 1, 3, 5)
    factor = np.stack([np.tril(some(rng, d, d), -1) + np.diag(rng.uniform(0.5, 2.0, d)) for _ in range(K)])
    models = np.concatenate([factor, some(rng, K, 1, d)], axis=1)
    return models, np.zeros(2 * d + 1), np.zeros((0, 0)), pick(rng, 0.0, 1.0)


def _oracles(rng: np.random.Generator) -> tuple[Any, ...]:
    """Of some policies K regressions each; totals, span, rounds, rate, room to work in, and whether weighted."""
    d, n = pick(rng, 1, 3, 5), 3
    states = np.stack([np.stack([steps._states(rng, 3, d) for _ in range(K)]) for _ in range(n)])
    totals, span, rounds = rng.uniform(1.0, 9.0, (n, 2)), np.array([0.0, 1.0]), np.array([pick(rng, 1.0, 500.0)])
    return states, totals, span, rounds, 0.5, np.zeros(2 * states.shape[-1]), pick(rng, True, False)


def _row_of(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Places, Array]:
    """Regressions take dense rows and sparse ones, models of ridge regression dense ones."""
    d = state[0].shape[-1]
    return steps._row(rng, d) if state[0].ndim == 4 else (NOWHERE, some(rng, d))


def _to_play(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return *_row_of(state, rng), STARTS, mask_of(rng, K), state, np.empty(K)


def _to_learn(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return (
        *_row_of(state, rng),
        int(rng.integers(K)),
        pick(rng, 0.0, 0.3, 1.0),
        0.5,
        mask_of(rng, K),
        np.empty(0),
        state,
    )


@twin(regression.learn_ridge, lambda rng: _to_learn(_ridges(rng), rng), tolerance=1e-7)
def learn_ridge(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    models, room, unkept, best = state
    slow.observe_row(models[action], values, 1.0, best - loss - float(models[action, -1] @ values), room, unkept)


@twin(regression.learn_oracle, lambda rng: _to_learn(_oracles(rng), rng))
def learn_oracle(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    states, totals, span, rounds, rate, work, weighted = state
    rounds += 1.0
    steps.learn_row(states[0, action], totals[0], span, columns, values, loss, 1 / K if weighted else 1.0, rate, work)


def _of_offer(rng: np.random.Generator) -> tuple[Any, ...]:
    """Rows of actions that share one regression, and what it is."""
    state = _oracles(rng)
    return _offered((state[0][:, :1].copy(), *state[1:], pick(rng, 1.0, 30.0)), rng)


def _offered(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    rows = [steps._sparse_row(rng, state[0].shape[-1]) for _ in range(K)]
    ends = np.cumsum([0, *(len(values) for _, values in rows)])
    flat = np.concatenate([columns for columns, _ in rows]), np.concatenate([values for _, values in rows])
    return *flat, ends, STARTS, mask_of(rng, K), state, np.empty(K)


@twin(squarecb._law_rows, _of_offer)
def law_rows(columns: Places, values: Array, ends: Places, starts: Places, mask: Mask, state: Any, law: Array) -> None:
    steps.predict_all(state[0][0], columns, values, ends, True, starts, law)
    weigh(law, starts, mask, state[7] * math.sqrt(state[3][0]), not state[6])


def _lesson(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, ends, _, _, state, _ = _of_offer(rng)
    return columns[: ends[1]], values[: ends[1]], K, pick(rng, 0.0, 0.3, 1.0), 0.5, state


@twin(regression.learn_offer, _lesson)
def learn_offer(columns: Places, values: Array, n: int, loss: float, probability: float, state: Any) -> None:
    states, totals, span, rounds, rate, work, weighted = state[:7]
    rounds += 1.0
    steps.learn_row(states[0, 0], totals[0], span, columns, values, loss, 1 / n if weighted else 1.0, rate, work)


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


def _bounded(rng: np.random.Generator) -> tuple[Any, ...]:
    """Variances as they are, or as they were some rounds ago."""
    models, *rest = _ridges(rng)
    variances = (models[:, :-1] ** 2).sum(1) * pick(rng, 1.0, 3.0) + 1e-9
    return models, *rest, pick(rng, 0.0, 0.7), 1e-9, variances, np.sqrt(variances)


@twin(linucb._law_one, lambda rng: _to_play(_bounded(rng), rng))
def linucb_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    return bool(slow.play(state[0], values[None], False, starts, state[4], mask, law))


@twin(linucb._learn_one, lambda rng: _to_learn(_bounded(rng), rng), tolerance=1e-7)
def linucb_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    models, room, unkept, best, _, least, variances, roots = state
    before = (models[action, :-1] ** 2).sum(0)
    learn_ridge(columns, values, action, loss, probability, mask, noise, (models, room, unkept, best))
    variances[action] -= before - (models[action, :-1] ** 2).sum(0)
    roots[action] = np.sqrt(np.maximum(variances[action], least, out=variances[action]))


@twin(epsilon_greedy._law_one, lambda rng: _to_play((*_ridges(rng), pick(rng, 0.0, 0.1, 1.0)), rng))
def epsilon_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    slow.predict(state[0], values[None], False, starts, law)
    greedy_each(np.round(law, 9), starts, mask, law)
    explored(law, starts, mask, state[4], -1.0)
    return True


@twin(squarecb._law_one, lambda rng: _to_play((*_oracles(rng), 30.0), rng), tolerance=1e-6)
def squarecb_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    steps.predict_one(state[0][0], columns, values, law)
    weigh(np.round(law, 9, out=law), starts, mask, state[7] * math.sqrt(state[3][0]), not state[6])
    return True


def _bounds(rng: np.random.Generator) -> tuple[Array, Array, Places, Mask, bool]:
    low, mask = np.round(rng.random(K), 1), mask_of(rng, K)
    return low, np.minimum(low + rng.random(K), 1.0), STARTS, mask, pick(rng, True, False)


@twin(regcb._play, _bounds)
def regcb_play(least: Array, most: Array, starts: Places, mask: Mask, optimistic: bool) -> bool:
    for span in spans(starts):
        low, some_of = least[span], mask[span]
        own = -low if optimistic else (low <= most[span][some_of].min()).astype(float)
        greedy_each(own, np.array([0, len(own)]), some_of, least[span])
    return True


def _regcb(rng: np.random.Generator) -> tuple[Any, ...]:
    state, optimistic = _oracles(rng), pick(rng, True, False)
    return _to_play((*state, 0.01, optimistic, np.empty(0 if optimistic else K)), rng)


@twin(regcb._law_one, _regcb, scratch=["state"])
def regcb_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    states, totals, _, rounds, rate, _, _, mellowness, optimistic, _ = state
    high, delta = np.empty(K), mellowness * math.log(K * max(rounds[0], 1.0))
    steps.range_one(states[0], totals[0], columns, values, delta, rate, law, high)
    return bool(regcb_play(np.round(law, 9, out=law), np.round(high, 9), starts, mask, optimistic))


def _rising(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, *rest = _to_play((*_ridges(rng), 0.3, *np.empty((3, K))), rng)
    return columns, values + 0.1, *rest


@twin(lints._law_one, lambda rng: _rising(rng), tolerance=1e-6, scratch=["state"])
def lints_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    models, _, _, _, scale, mean, width, work = state
    slow.predict(models, values[None], False, starts, mean)
    slow.variance(models, values[None], False, starts, width)
    return bool(race_of_normals(mean, np.maximum(scale * np.sqrt(width), 1e-9), mask, work, law))


def _beliefs(rng: np.random.Generator) -> tuple[Any, ...]:
    d = pick(rng, 1, 3, 5)
    return some(rng, K, d), rng.uniform(0.1, 3.0, (K, 1, d))[:, 0].copy(), 0.3, *np.empty((3, K))


def _believed(rng: np.random.Generator) -> tuple[Any, ...]:
    state = _beliefs(rng)
    return NOWHERE, rng.uniform(0.2, 1.0, state[0].shape[1]), STARTS, mask_of(rng, K), state, np.empty(K)


@twin(logistic_ts._law_one, _believed, tolerance=1e-6, scratch=["state"])
def logistic_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, scale, *_ = state
    deviation = scale * np.sqrt((values**2 / precisions).sum(1))
    return bool(race_of_normals((means * values).sum(1), deviation, mask, np.empty(K), law))


def _believed_loss(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, _, _, state, _ = _believed(rng)
    return columns, values, int(rng.integers(K)), pick(rng, 0.0, 0.3, 1.0), 0.5, mask_of(rng, K), np.empty(0), state[:2]


@twin(logistic_ts._learn_one, _believed_loss, tolerance=1e-7)
def logistic_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    logistic(state[0][action], state[1][action], values, 1.0 - loss, 0.0, False)


def _wide(rng: np.random.Generator) -> tuple[Any, ...]:
    means, precisions, *_ = diagonal._filled(rng, K)
    return means, precisions, 0.7, 0.1, *np.empty((2, K))


def _filled_row(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Places, Array]:
    return steps._sparse_row(rng, state[0].shape[-1])


def _to_play_wide(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    return *_filled_row(state, rng), STARTS, mask_of(rng, K), state, np.empty(K)


def _to_learn_wide(state: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    row, action, loss = _filled_row(state, rng), int(rng.integers(K)), pick(rng, 0.0, 0.3, 1.0)
    return *row, action, loss, 0.5, mask_of(rng, K), np.empty(0), state


@twin(logistic_ts._law_wide, lambda rng: _to_play_wide(_wide(rng), rng), tolerance=1e-7, scratch=["state"])
def logistic_law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, scale, share, *_ = state
    mean, deviation = np.empty((2, K))
    diagonal.score_one(means, precisions, share, columns, values, mean, deviation)
    return bool(moved_together(np.round(mean, 9), np.round(scale * deviation, 9), starts, mask, law))


@twin(logistic_ts._learn_wide, lambda rng: _to_learn_wide(_wide(rng), rng), tolerance=1e-7, scratch=["noise"])
def logistic_learn_wide(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    diagonal.logistic_filled(state[0][action], state[1][action], columns, values, 1.0 - loss, state[3])


def _logistic_offer(rng: np.random.Generator) -> tuple[Any, ...]:
    state = _wide(rng)
    return _offered((state[0][:1].copy(), state[1][:1].copy(), *state[2:]), rng)


@twin(logistic_ts._law_rows, _logistic_offer, tolerance=1e-7, scratch=["state"])
def logistic_law_rows(
    columns: Places, values: Array, ends: Places, starts: Places, mask: Mask, state: Any, law: Array
) -> None:
    mean, deviation = np.empty((2, len(law)))
    diagonal.diagonal_scores(state[0], state[1], state[3], values, columns, ends, True, starts, mean, deviation)
    moved_together(np.round(mean, 9), np.round(state[2] * deviation, 9), starts, mask, law)


def _logistic_lesson(rng: np.random.Generator) -> tuple[Any, ...]:
    columns, values, ends, _, _, state, _ = _logistic_offer(rng)
    return columns[: ends[1]], values[: ends[1]], K, pick(rng, 0.0, 0.3, 1.0), 0.5, state


@twin(logistic_ts._learn_offer, _logistic_lesson, tolerance=1e-7)
def logistic_learn_offer(columns: Places, values: Array, n: int, loss: float, probability: float, state: Any) -> None:
    diagonal.logistic_filled(state[0][0], state[1][0], columns, values, 1.0 - loss, state[3])


def _hinges(rng: np.random.Generator) -> tuple[Any, ...]:
    means, precisions, *_ = diagonal._filled(rng, K)
    margin = pick(rng, (0.6, True), (50.0, False))
    return means, precisions, np.array([pick(rng, 0.0, 9.0)]), *margin, 0.1, 0.02, *np.empty((2, K))


@twin(wide._law_one, lambda rng: _to_play_wide(_hinges(rng), rng), scratch=["state"])
def hinge_law_wide(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    means, precisions, rounds, _, _, hope, smoothing, _, _ = state
    mean, deviation = np.empty((2, K))
    diagonal.score_one(means, precisions, 0.0, columns, values, mean, deviation)
    greedy_each(np.round(mean + hope * wide.SPREAD * deviation, 9), starts, mask, law)
    explored(law, starts, mask, -1.0, smoothing / (K * math.sqrt(max(rounds[0], 1.0))))
    return True


@twin(wide._learn_one, lambda rng: _to_learn_wide(_hinges(rng), rng))
def hinge_learn_wide(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    means, precisions, rounds, margin, squared = state[:5]
    rounds += 1.0
    diagonal.absorb_filled(means[action], precisions[action], columns, values, loss, margin, squared)


def _dense_contexts(rng: np.random.Generator) -> tuple[Any, ...]:
    rows, moments, limit, clip, named = features._dense_rows(rng)
    waves = np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty(0)
    contexts = rows if len(rows) else np.zeros((1, rows.shape[1]))
    contexts[rng.integers(len(contexts)), 0] = pick(rng, 0.3, 0.3, np.nan, 1e101)
    made = moments, limit, clip, *waves, named, NOWHERE, np.zeros((1, rows.shape[1] + 1))
    return contexts.ravel(), int(rng.integers(len(contexts))), 0, pick(rng, True, False), made


@twin(swift._featured_dense, _dense_contexts)
def featured_dense(contexts: Array, t: int, mode: int, learning: bool, given: Any) -> tuple[bool, Places, Array]:
    moments, limit, clip, _, _, _, named, nowhere, rows = given
    one = contexts.reshape(-1, moments.shape[1])[t : t + 1]
    good = bool((np.abs(one) <= 1e100).all())
    if good:
        if learning:
            features.learn(one, moments, limit, clip, named)
        features.standardise(one, moments, clip, 1e100, named, rows)
    return good, nowhere, rows[0]


def _plain_contexts(rng: np.random.Generator) -> tuple[Any, ...]:
    contexts = some(rng, pick(rng, 1, 3), pick(rng, 1, 5))
    contexts[rng.integers(len(contexts)), 0] = pick(rng, 0.3, 0.3, np.nan, -1e101)
    return contexts.ravel(), int(rng.integers(len(contexts))), 0, False, (contexts.shape[1], NOWHERE)


@twin(swift._featured_plain, _plain_contexts)
def featured_plain(contexts: Array, t: int, mode: int, learning: bool, given: Any) -> tuple[bool, Places, Array]:
    width, nowhere = given
    one = contexts.reshape(-1, width)[t]
    return bool((np.abs(one) <= 1e100).all()), nowhere, one


@twin(
    uniform._law_one, lambda rng: (NOWHERE, some(rng, 2), STARTS, mask_of(rng, K), (), np.empty(K)), scratch=["state"]
)
def uniform_law(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    law[:] = mask / mask.sum()
    return True


@twin(
    uniform._learn_one,
    lambda rng: (NOWHERE, some(rng, 2), 1, 0.5, 0.5, mask_of(rng, K), np.empty(0), ()),
    scratch=["state"],
)
def uniform_learn(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    pass


def _sparse_contexts(rng: np.random.Generator) -> tuple[Any, ...]:
    values, columns, starts, moments, clip, bias, *_ = features._to_scale(rng)
    made = moments, pick(rng, math.inf, 0.5), clip, bias
    t, mode, learning = int(rng.integers(len(starts) - 1)), pick(rng, 0, swift.LOOK), pick(rng, True, False)
    if mode and len(columns):
        columns[rng.integers(len(columns))] += pick(rng, 0, 0, 100, -1)
    return (values, columns, starts), t, mode, learning, made


@twin(swift._featured_sparse, _sparse_contexts)
def featured_sparse(contexts: Any, t: int, mode: int, learning: bool, given: Any) -> tuple[bool, Places, Array]:
    values, columns, starts = contexts
    moments, limit, clip, bias = given
    if mode and not features.is_sound_row(values, columns, starts, t, moments.shape[1]):
        return False, columns, values
    at = slice(*starts[t : t + 2])
    own, where = values[at], columns[at]
    if learning:
        features.learn_sparse(own, where, moments, limit, clip)
    n = len(own) + (bias >= 0)
    out, filled, ends = np.zeros(n), np.zeros(n, np.int64), np.zeros(2, np.int64)
    features.scale_sparse(own, where, np.array([0, len(own)]), moments, clip, bias, out, filled, ends)
    return True, filled, out
