"""Twins of whole rounds, of what keeps them, and of the ascent to a leader."""

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from marginbandits import reservoir
from marginbandits.learners.hinge_lmc import rounds
from marginbandits.learners.smooth_ftl import practical as smooth_ftl
from marginbandits.oracles import two_sided
from marginbandits.types import Array, Mask
from tests.naive import sampling
from tests.naive.laws import greedy_over_floor
from tests.naive.mixtures import monitored
from tests.naive.regression import observe
from tests.naive.twin import Places, mask_of, pick, some, twin


def _place(rng: np.random.Generator) -> tuple[int, int, float]:
    return pick(rng, 0, 1, 4, 5, 9, 2**53), pick(rng, 1, 5), float(rng.standard_normal() - pick(rng, 0.0, 8.0))


@twin(reservoir.chosen, _place)
def chosen(seen: int, size: int, normal: float) -> int:
    slot = seen if seen < size else math.floor(ndtr(normal) * (seen + 1))
    return slot if slot < size else -1


def _kept(rng: np.random.Generator, blocks: int, d: int) -> tuple[Array, Array, Places, Places]:
    """Rows, losses, how many were seen, and where the next stretch begins."""
    size = pick(rng, 1, 3, 9)
    seen, following = rng.integers(2 * size, size=blocks), rng.integers(2 * size, size=blocks)
    return some(rng, blocks, size, d), rng.random((blocks, size)), seen, following


def _to_keep(rng: np.random.Generator) -> tuple[Any, ...]:
    blocks, d = pick(rng, 1, 3), pick(rng, 1, 4)
    block, normal = int(rng.integers(blocks)), float(rng.standard_normal())
    return *_kept(rng, blocks, d), block, some(rng, d), 0.3, normal, np.zeros(d), np.zeros(6), 17


@twin(reservoir.put, _to_keep)
def put(
    rows: Array,
    losses: Array,
    seen: Places,
    following: Places,
    block: int,
    row: Array,
    loss: float,
    normal: float,
    gone: Array,
    before: Array,
    stamp: int,
) -> int:
    slot: int = chosen(int(seen[block]), losses.shape[1], normal)
    before[1:] = stamp, block, slot, seen[block], following[block]
    seen[block] += 1
    if slot >= 0:
        before[0], gone[:] = losses[block, slot], rows[block, slot]
        losses[block, slot], rows[block, slot] = loss, row
    return slot


def _groups(rng: np.random.Generator) -> tuple[Array, float, Array]:
    K, n = pick(rng, 1, 3), pick(rng, 1, 4)
    return some(rng, K, n), pick(rng, 0.0, 0.5), np.empty(K)


@twin(rounds.hopes, _groups)
def hopes(scores: Array, hope: float, out: Array) -> None:
    out[:] = scores.mean(1) + hope * scores.std(1)


@twin(rounds.agreement, lambda rng: _groups(rng)[:2])
def agreement(scores: Array, hope: float) -> float:
    hopeful = np.empty(len(scores))
    rounds.hopes(scores, hope, hopeful)  # of equals the first counts, so they must be equal to the last bit
    return float((scores.argmax(0) == hopeful.argmax()).mean())


def _to_play(rng: np.random.Generator) -> tuple[Array, bool, Places, Mask, Array, float, float, Array]:
    particles, rows, shared, _, scores = sampling._particles(rng)
    K, n, d = len(scores), pick(rng, 2, 5, 8), rows.shape[1]
    drawn = rng.standard_normal((len(particles), n, d))  # no ties: they would be broken by a rounding
    rows = rng.standard_normal(rows.shape)
    return rows, shared, np.array([0, K]), mask_of(rng, K), drawn, 0.5, pick(rng, 0.0, 0.1, 0.9), np.empty(K)


@twin(rounds.play_one, _to_play)
def play_hinge(
    rows: Array, shared: bool, starts: Places, mask: Mask, particles: Array, hope: float, floor: float, law: Array
) -> bool:
    scores = rows @ particles[0].T if shared else particles @ rows[0]
    return bool(greedy_over_floor(scores.mean(1) + hope * scores.std(1), starts, mask, floor, law))


@twin(smooth_ftl.play_one, _to_play)
def play_smooth(
    rows: Array, shared: bool, starts: Places, mask: Mask, fits: Array, alpha: float, floor: float, law: Array
) -> bool:
    scores = rows @ fits[0].T if shared else fits @ rows[0]
    widths = np.sqrt((scores[:, 1:] ** 2).mean(1))
    return bool(greedy_over_floor(scores[:, 0] + alpha * widths, starts, mask, floor, law))


def _all_of_it(rng: np.random.Generator) -> tuple[Any, ...]:
    shared, d, K, n = pick(rng, True, False), pick(rng, 1, 3, 5), pick(rng, 2, 3), pick(rng, 1, 2, 5)
    blocks, moves, minibatch = 1 if shared else K, pick(rng, 1, 2, 3), pick(rng, 1, 4, 20)
    factor = np.tril(0.3 * rng.standard_normal((blocks, d, d)), -1) + np.eye(d)
    models = np.concatenate([factor, rng.standard_normal((blocks, 1, d))], axis=1)
    kept = _kept(rng, blocks, d)
    size = kept[0].shape[1]
    bins, bin_now = np.zeros((128, 3)), np.array([0, 1])
    return (
        rng.standard_normal((K if shared else 1, d)),
        shared,
        K,
        int(rng.integers(K)),
        pick(rng, 0.0, 0.4, 1.0),
        0.3,
        rng.standard_normal(n + 1 + min(moves, n) * d),
        *pick(rng, (0.6, True), (50.0, False)),  # the hinge's slope leaps where a round is absorbed up to its kink
        1.0,
        0.2,
        0.3,
        moves,
        minibatch,
        models,
        np.zeros((1, d + 1, d)),
        np.zeros(3, np.int64),
        np.zeros(2 * d + 1),
        *kept,
        np.zeros(d),
        np.zeros(6),
        rng.standard_normal((blocks, n, d)),
        some(rng, blocks, n, size),
        some(rng, blocks, n, d),
        np.zeros((n, d)),
        np.zeros((n, d)),
        np.zeros((n, 1 + min(minibatch, size))),
        np.zeros(7, np.int64),
        bins,
        bin_now,
        np.zeros(5),
        np.zeros(3 * 128 + 8),
        pick(rng, 17, -1),
    )


def _to_learn(rng: np.random.Generator) -> tuple[Any, ...]:
    *given, stamp = _all_of_it(rng)
    return *given[:7], tuple(given[7:]), stamp


@twin(
    reservoir.stretch, lambda rng: (rng.integers(0, 9, 2), int(rng.integers(2)), int(rng.integers(9)), pick(rng, 1, 4))
)
def stretch(following: Places, block: int, held: int, n: int) -> tuple[int, int]:
    start = int(following[block]) if following[block] < held else 0
    following[block] = start + n
    return start, min(start + n, held)


@twin(rounds.stands_for, lambda rng: (int(rng.integers(1, 10**6)), int(rng.integers(1, 3000)), pick(rng, 1, 21, 365)))
def stands_for(seen: int, size: int, d: int) -> float:
    return max(1.0, seen / size / (1.0 + (math.sqrt(d) + 3.0) / math.sqrt(size)) ** 2)


@twin(rounds.learn_one, _to_learn, tolerance=1e-6)
def learn_one(
    rows: Array,
    shared: bool,
    n_actions: int,
    action: int,
    loss: float,
    probability: float,
    normals: Array,
    state: Any,
    stamp: int,
) -> None:
    """Part by part, by the twins of the parts."""
    margin, squared, hope, temperature, step, moves, minibatch = state[:7]
    models, model_before, model_changed, model_room = state[7:11]
    kept_rows, kept_losses, seen, following, row_gone, kept_before = state[11:17]
    particles, slopes, total, particles_before, total_before, slopes_before, places = state[17:24]
    bins, bin_now, weights, bins_before = state[24:]
    block, z = (0, rows[action]) if shared else (action, rows[0])
    own, pull, own_slopes = particles[block], total[block], slopes[block]
    n, d = own.shape
    scores = rows @ particles[0].T if shared else particles @ rows[0]
    hinge = sum(side * max(1 + sign * scores[action].mean() / margin, 0) for side, sign in ((loss, 1), (1 - loss, -1)))
    monitored(bins, bin_now, weights, agreement(scores, hope), hinge, 1 / probability, bins_before, stamp)
    if stamp >= 0:
        particles_before[:], total_before[:] = own, pull
    target = (margin if squared else 1.0) * (1 - 2 * loss)
    observe(models, z, block, target, model_before, model_changed, model_room, stamp)
    nudges = temperature * normals[:n]
    sampling.absorb(own, margin, squared, z, loss, nudges, model_room[:d], model_room[-1])
    slot = put(kept_rows, kept_losses, seen, following, block, z, loss, normals[n], row_gone, kept_before, stamp)
    held = min(int(seen[block]), kept_losses.shape[1])
    turns = math.ceil(n / moves)
    first = int(seen[block]) % turns * moves
    last = min(first + moves, n)
    start, end = stretch(following, block, held, minibatch)
    places[:] = stamp, block, slot, first, last, start, end
    if stamp >= 0:
        slopes_before[first:last, 1 : 1 + end - start] = own_slopes[first:last, start:end]
    looked = own, kept_rows[block], kept_losses[block]
    if slot >= 0:
        slopes_before[:, 0] = own_slopes[:, slot]
        sampling.forget(own_slopes, pull, slot, row_gone)
        sampling.refresh(own_slopes, pull, *looked, 0, n, slot, slot + 1, margin, squared)
    sampling.refresh(own_slopes, pull, *looked, first, last, start, end, margin, squared)
    noise = normals[n + 1 :].reshape(-1, d)[: last - first]
    theta, factor = models[block, -1], models[block, :-1]
    weight = stands_for(int(seen[block]), kept_losses.shape[1], d)
    given = pull[first:last], weight, 1e6 * held * weight, step, temperature, noise
    sampling.langevin_step(own[first:last], theta, factor, *given)


def _pulling(rng: np.random.Generator) -> tuple[Array, Array, Array, float, float, int, Array]:
    n = pick(rng, 1, 2, 6)
    Z = rng.standard_normal((n, 3))
    among = Z @ np.linalg.solve(np.eye(3) + Z.T @ Z, Z.T)
    tolerance, limit = pick(rng, (1e-2, 20), (1e-9, 3))
    return among, 2 * rng.standard_normal(n), rng.random(n), 0.6, tolerance, limit, np.zeros(n)


@twin(two_sided._ascend, _pulling)
def ascend(
    among: Array, scores: Array, losses: Array, margin: float, tolerance: float, n_iterations: int, pull: Array
) -> None:
    ahead, momentum = pull.copy(), 1.0
    for _ in range(n_iterations):
        u = ahead + scores - among @ ahead
        new = np.clip(u - margin, 0.0, 1.0 - losses) + np.clip(u + margin, -losses, 0.0)
        change = np.abs(new - pull).max()
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead, pull[:] = new + (momentum - 1) / following * (new - pull), new
        momentum = following
        if change < tolerance:
            break
