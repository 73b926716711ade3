"""One round of practical Hinge-LMC as two kernels of plain arrays: what is played, and all that is learnt from it.

    play_one     features -> scores of every particle -> mean + hope · deviation -> the law
    learn_one    features -> how the particles would have done (`diagnostics`) -> the Gaussian part (`oracles.ridge`)
                 -> particles absorb the round -> it is kept (`reservoir`) -> its pull, and that of a few others
                 (`samplers.stored_pull`) -> some particles step (`samplers.particles`)

What chance decides comes as standard normals, `n_normals` of them in every round, whatever it does with them: so the
draws of many rounds can be made at once. One for each particle, its nudge; one for the reservoir; then the noise of the
particles that step. What a round changes is kept as it was, by each part for itself and here in `LastRound`, unless it
is never to be taken back.

`VECTORS` are compiled rounds (`learners.swift`) of vectors. They call these two where they are, because they are long.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.held import chance
from marginbandits.laws import greedy_over_floor
from marginbandits.learners.hinge_lmc.diagnostics import count
from marginbandits.normals import fill
from marginbandits.oracles.ridge import learn_row
from marginbandits.pointed import Pointed, called
from marginbandits.reservoir import put, stretch
from marginbandits.samplers.particles import absorb, langevin_step, scores_of
from marginbandits.samplers.stored_pull import FARTHEST, StoredPull, forget, refresh
from marginbandits.state import Field, Journal, Record
from marginbandits.types import Array, Mask

__all__ = ["VECTORS", "LastRound", "learn_one", "n_normals", "play_one", "pointed", "stands_for"]

Places = npt.NDArray[np.int64]


def n_normals(n_particles: int, moves: int, n_features: int) -> int:
    """Draws of one round."""
    return n_particles + 1 + min(moves, n_particles) * n_features


class LastRound(Record):
    """What the last round changed of a block's particles and their pull, as it was."""

    def __init__(self, particles: Array, pull: StoredPull, moves: int, minibatch: int) -> None:
        _, n, d = particles.shape
        size = pull.slopes.shape[2]
        self._particles, self._pull = particles, pull
        self.particles, self.total = np.zeros((n, d), particles.dtype), np.zeros((n, d))
        self.slopes = np.zeros((n, 1 + min(minibatch, size)))  # of the round that gave way, then of those looked at
        self.places = np.zeros(7, np.int64)  # the stamp, the block, that round, particles and rounds looked at
        self.attach(Journal())

    def undo(self, stamp: int) -> None:
        """Put it back."""
        kept, block, slot, first, last, start, end = self.places.tolist()
        if kept == stamp:
            slopes = self._pull.slopes[block]
            slopes[first:last, start:end] = self.slopes[first:last, 1 : 1 + end - start]
            if slot >= 0:
                slopes[:, slot] = self.slopes[:, 0]
            self._particles[block], self._pull.total[block] = self.particles, self.total

    def fields(self) -> dict[str, Field]:
        """Nothing that is learnt."""
        return {}


@kernel
def hopes(scores: Array, hope: float, out: Array) -> None:
    """Mean + hope · deviation of each action's scores."""
    n = scores.shape[1]
    for a in range(scores.shape[0]):
        total = 0.0
        for j in range(n):
            total += scores[a, j]
        mean, square = total / n, 0.0
        for j in range(n):
            square += (scores[a, j] - mean) ** 2
        out[a] = mean + hope * math.sqrt(square / n)


@kernel
def play_one(
    rows: Array, shared: bool, starts: Places, mask: Mask, particles: Array, hope: float, floor: float, law: Array
) -> bool:
    """The law: the most hopeful action, over a floor under each that is available. False at a NaN."""
    scores = np.empty((law.shape[0], particles.shape[1]))
    scores_of(particles, rows, shared, np.empty(particles.shape[2], particles.dtype), scores)
    hopes(scores, hope, law)
    return greedy_over_floor(law, starts, mask, floor, law)


@kernel
def agreement(scores: Array, hope: float) -> float:
    """The share of particles that would themselves play what they hope most of together; of equals the first counts."""
    K, n = scores.shape
    hopeful, agreed, together = np.empty(K), 0.0, 0
    hopes(scores, hope, hopeful)
    for a in range(1, K):
        together = a if hopeful[a] > hopeful[together] else together
    for k in range(n):
        own = 0
        for a in range(1, K):
            own = a if scores[a, k] > scores[own, k] else own
        agreed += 1.0 if own == together else 0.0
    return float(agreed / n)


@kernel
def stands_for(seen: int, size: int, d: int) -> float:
    """For how many rounds each that is kept pulls: as many as leave the potential convex (`samplers.particles`)."""
    return max(1.0, seen / (math.sqrt(size) + math.sqrt(d) + 3.0) ** 2)


@kernel
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
    """All that a round changes, in the order of the module's first lines; `state` is what it is learnt by, and changes.

    What it changes is kept as it was, under the stamp; not where that is below 0.
    """
    margin, squared, hope, temperature, step, moves, minibatch = state[:7]
    models, model_before, model_changed, model_room = state[7:11]
    kept_rows, kept_losses, seen, following, row_gone, kept_before = state[11:17]
    particles, slopes, total, particles_before, total_before, slopes_before, places = state[17:24]
    bins, bin_now, weights, bins_before = state[24:]
    block, n, d = 0 if shared else action, particles.shape[1], particles.shape[2]
    row, scores, size = np.empty(d, particles.dtype), np.empty((n_actions, n)), kept_losses.shape[1]
    scores_of(particles, rows, shared, row, scores)
    mean = 0.0
    for k in range(n):
        mean += scores[action, k] / n
    mean /= margin
    hinge = loss * max(1.0 + mean, 0.0) + (1.0 - loss) * max(1.0 - mean, 0.0)
    count(bins, bin_now, weights, agreement(scores, hope), hinge, 1.0 / probability, bins_before, stamp)

    own, pull, own_slopes = particles[block], total[block], slopes[block]
    for k in range(n if stamp >= 0 else 0):
        for j in range(d):
            particles_before[k, j], total_before[k, j] = own[k, j], pull[k, j]
    for j in range(d):
        row[j] = rows[action if shared else 0, j]
    target = (margin if squared else 1.0) * (1.0 - 2.0 * loss)
    learn_row(models, row, block, target, model_before, model_changed, model_room, stamp)
    nudges = np.empty(n)
    for k in range(n):
        nudges[k] = temperature * normals[k]
    absorb(own, margin, squared, row, loss, nudges, model_room[:d], float(model_room[-1]))

    slot = put(
        kept_rows, kept_losses, seen, following, block, row, loss, float(normals[n]), row_gone, kept_before, stamp
    )
    held = min(seen[block], size)
    first = seen[block] % -(-n // moves) * moves
    last = min(first + moves, n)
    start, end = stretch(following, block, held, minibatch)
    places[0], places[1], places[2], places[3], places[4] = stamp, block, slot, first, last
    places[5], places[6] = start, end
    for k in range(first, last if stamp >= 0 else first):
        for i in range(start, end):
            slopes_before[k, 1 + i - start] = own_slopes[k, i]
    own_rows, own_losses = kept_rows[block], kept_losses[block]
    if slot >= 0:
        for k in range(n):
            slopes_before[k, 0] = own_slopes[k, slot]
        forget(own_slopes, pull, slot, row_gone)
        refresh(own_slopes, pull, own, own_rows, own_losses, 0, n, slot, slot + 1, margin, squared)
    refresh(own_slopes, pull, own, own_rows, own_losses, first, last, start, end, margin, squared)
    noise = normals[n + 1 :].reshape(-1, d)
    model, weight = models[block], stands_for(seen[block], size, d)
    most = FARTHEST * held * weight
    langevin_step(own[first:last], model[d], model, pull[first:last], weight, most, step, temperature, noise)


# For compiled rounds of vectors; their state is what `learn_one` has, how much is smoothed, and `pointed`.


def pointed(row: Array, n_actions: int, noise: Array, state: tuple[Any, ...]) -> tuple[Pointed, Pointed, Pointed]:
    """Where the machine code of `play_one`, `learn_one` and `fill` is, for such a row and such a state."""
    everyone, mask = np.array([0, n_actions]), np.ones(n_actions, bool)
    hope, particles = state[2], state[17]
    playing = row, False, everyone, mask, particles, hope, 0.0, np.empty(n_actions)
    return (
        Pointed(play_one, playing),
        Pointed(learn_one, (row, False, n_actions, 0, 0.0, 1.0, noise, state, -1)),
        Pointed(fill, (chance(np.random.default_rng()), noise)),
    )


@kernel
def _law_of_vector(columns: Places, values: Array, starts: Places, mask: Mask, state: Any, law: Array) -> bool:
    learnt, smoothing, play, _, _ = state
    hope, particles, weights = learnt[2], learnt[17], learnt[26]
    floor = smoothing / (mask.shape[0] * math.sqrt(max(weights[0], 1.0)))
    return bool(called(play, (values.reshape((1, -1)), False, starts, mask, particles, hope, floor, law)))


@kernel
def _learn_vector(
    columns: Places, values: Array, action: int, loss: float, probability: float, mask: Mask, noise: Array, state: Any
) -> None:
    learnt, _, _, learn, _ = state
    row = values.reshape((1, -1))
    called(learn, (row, False, mask.shape[0], action, loss, probability, noise, learnt, -1))


@kernel
def _draw(source: Any, noise: Array, state: Any) -> None:
    called(state[4], (source, noise))


VECTORS = _law_of_vector, _learn_vector, _draw
