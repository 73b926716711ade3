"""Twins of the samplers' kernels."""

import numpy as np

from marginbandits.learners.hinge_lmc import practical
from marginbandits.samplers import particles
from marginbandits.samplers.hit_and_run import _lines, _place, _sort
from marginbandits.types import Array
from tests.naive import references
from tests.naive.twin import Places, pick, some, twin


def _potential(rng: np.random.Generator) -> tuple[Array, Array]:
    """Slopes of n hinges, some of them flat, and their weights."""
    n = pick(rng, 0, 1, 2, 30)
    return some(rng, n), pick(rng, 1e-3, 1e-2, 1.0, 30.0) * rng.exponential(size=n)


def _line(rng: np.random.Generator) -> tuple[Array, Array, Array, float, float, Array, Array, Places]:
    k, weights = _potential(rng)
    n = len(k)
    a = rng.standard_normal(n)
    if rng.random() < 0.3:
        a[n // 2 :], k[n // 2 :] = a[:1], k[:1]  # the same context again and again
    low, high = -float(rng.random()) - 0.01, pick(rng, float(rng.random()) + 0.01, -5.0)
    draw = rng.random(2)
    if high > low and rng.random() < 0.5:  # just beside the border of two pieces, where their masses show
        mass = references.pieces(a, k, weights, low, high)[2]
        share = mass[: int(rng.integers(len(mass))) + 1].sum() / mass.sum()
        draw[0] = np.clip(share + pick(rng, 1e-7, -1e-7), 0.0, 1.0 - 1e-9)
    return a, k, weights, low, high, draw, np.empty((6, n + 2)), np.empty(n + 2, np.int64)


@twin(_place, _line, tolerance=1e-6, scratch=["room", "ends"])
def place(a: Array, k: Array, weights: Array, low: float, high: float, draw: Array, room: Array, ends: Places) -> float:
    return references.place(a, k, weights, low, high, draw) if high > low else 0.0


def _keys(rng: np.random.Generator) -> tuple[Array, Array, float, float, Array, Array, Places]:
    n = pick(rng, 0, 1, 2, 50, 200)
    keys = rng.uniform(-1.0, 2.0, n)
    kind = pick(rng, "spread", "crowded", "falling")
    if kind == "crowded":
        keys[: n // 2] = 0.5 + 1e-9 * keys[: n // 2]
    elif kind == "falling":
        keys = np.sort(keys)[::-1].copy()
    return keys, rng.random(n), -1.0 - 1e-9, 2.0 + 1e-9, np.empty(n), np.empty(n), np.empty(n + 2, np.int64)


@twin(_sort, _keys, scratch=["ends"])
def sort(keys: Array, values: Array, low: float, high: float, keys_out: Array, values_out: Array, ends: Places) -> None:
    order = np.argsort(keys)
    keys_out[:], values_out[:] = keys[order], values[order]


def _chains(rng: np.random.Generator) -> tuple[Array, Array, Array, float, float, Array, Array, Array]:
    d, chains, steps, radius = pick(rng, 1, 3), pick(rng, 0, 1, 2), pick(rng, 1, 3), pick(rng, 0.5, 2.0)
    weights = _potential(rng)[1]
    offsets = np.ones(len(weights))
    if rng.random() < 0.5:  # a ramp: as many hinges are taken away again, one margin further
        weights, offsets = np.r_[weights, -weights], np.r_[offsets, 0.0 * offsets]
    lines = rng.standard_normal((chains, steps, d))
    lines /= np.linalg.norm(lines, axis=-1, keepdims=True)
    theta = some(rng, chains, d)
    theta *= radius / np.maximum(np.linalg.norm(theta, axis=1, keepdims=True), radius)  # some on the border
    features = np.resize(rng.standard_normal((len(weights) // 2 + 1, d)), (len(weights), d))
    return features, weights, offsets, 0.7, radius, theta, lines, rng.random((chains, steps, 2))


@twin(_lines, _chains, tolerance=1e-5)
def lines(
    features: Array,
    weights: Array,
    offsets: Array,
    margin: float,
    radius: float,
    theta: Array,
    ways: Array,
    draws: Array,
) -> None:
    for point, own_lines, own_draws in zip(theta, ways, draws, strict=True):
        for line, draw in zip(own_lines, own_draws, strict=True):
            across = point @ line
            half = np.sqrt(max(across**2 + radius**2 - point @ point, 0.0))
            low, high = -across - half, half - across
            a, k = offsets + features @ point / margin, features @ line / margin
            if high - low > 1e-290:
                point += references.place(a, k, weights, low, high, draw) * line


def _looks(rng: np.random.Generator) -> tuple[Array, Array, float, bool, Array, Array]:
    n, rounds = pick(rng, 0, 1, 3), pick(rng, 0, 1, 8)
    scores, losses, squared = rng.standard_normal((n, rounds)), rng.random(rounds), pick(rng, True, False)
    now = np.empty((n, rounds))
    then = now.copy()
    slopes(scores, losses, 0.6, squared, then, then)
    return scores, losses, 0.6, squared, then if rng.random() < 0.5 else np.zeros((n, rounds)), now


@twin(particles.slopes, _looks)
def slopes(scores: Array, losses: Array, margin: float, squared: bool, then: Array, now: Array) -> bool:
    above, below = np.maximum(scores - margin, 0), np.maximum(-scores - margin, 0)
    if squared:
        now[:] = losses * below - (1 - losses) * above
    else:
        now[:] = (above > 0) * (1 - losses) - (below > 0) * losses
    return not np.allclose(now, then, rtol=0, atol=1e-15)


def _step(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, float, float, float, Array]:
    n, d = pick(rng, 0, 1, 3), pick(rng, 1, 2, 4, 5, 9)
    moved, pull, normals = some(rng, n, d), some(rng, n, d), some(rng, n, d)
    return moved, some(rng, d), np.tril(some(rng, d, d)), pull, pick(rng, 0.5, 1e9), pick(rng, 0.3, 1.0), 0.2, normals


@twin(particles.langevin_step, _step)
def langevin_step(
    particles: Array,
    mean: Array,
    factor: Array,
    pull: Array,
    most: float,
    step: float,
    temperature: float,
    normals: Array,
) -> None:
    noise = temperature * np.sqrt(step * (2 - step)) * normals
    drawn = np.clip(pull @ factor.T, -most, most)
    particles += step * (mean - particles) + (noise - step * drawn) @ factor


def _absorbed(rng: np.random.Generator) -> tuple[Array, float, bool, Array, float, Array, Array, float]:
    """The gain and the variance are those of some covariance S."""
    n, d = pick(rng, 0, 1, 4), pick(rng, 1, 3)
    root, row = rng.standard_normal((d, d)), some(rng, d)
    S, loss = root @ root.T + np.eye(d), pick(rng, 0.0, 0.3, 1.0)
    variance = float(row @ S @ row)
    margin, squared = pick(rng, 0.5, 1.7), pick(rng, True, False)
    return 2 * some(rng, n, d), margin, squared, row, loss, some(rng, n), S @ row / (1 + variance), variance


@twin(particles.absorb, _absorbed)
def absorb(
    particles: Array,
    margin: float,
    squared: bool,
    row: Array,
    loss: float,
    nudges: Array,
    gain: Array,
    variance: float,
) -> None:
    """(s - s₀)²/(2v) + the round's cost - nudge·s is a parabola on each side of ±γ: the least of their least points.

    For the squared hinge, a nudge counts as far as the round curves there; where that would lead back, it stays at ±γ.
    """
    if variance == 0:
        return
    for w, nudge in zip(particles, nudges, strict=True):
        start, points = w @ row, []
        sides = [  # within these limits (1 - ℓ)(γ - s)_+ and ℓ (γ + s)_+ are there, or not
            (-np.inf, -margin, 1 - loss, 0.0),
            (-margin, margin, 1 - loss, loss),
            (margin, np.inf, 0.0, loss),
        ]
        for low, high, down, up in sides:
            if squared:
                point = start + variance * (nudge * (down + up) ** 0.5 + margin * (down - up))
                point /= 1 + variance * (down + up)
            else:
                point = (start + variance * (nudge + down - up)) / (1 + variance)
            points.append(np.clip(point, low, high))
        if squared:
            inside = (start + variance * (nudge + margin * (1 - 2 * loss))) / (1 + variance)
            best = points[0] if inside < -margin else points[2] if inside > margin else points[1]
        else:
            costs = [
                (s - start) ** 2 / (2 * variance)
                - nudge * s
                + references.two_sided_cost(np.array([s]), np.eye(1), np.array([loss]), margin, squared)
                for s in points
            ]
            best = points[int(np.argmin(costs))]
        w += (best - start) * (1 + variance) / variance * gain


def _groups(rng: np.random.Generator) -> tuple[Array, float, Array]:
    K, n = pick(rng, 1, 3), pick(rng, 1, 4)
    return some(rng, K, n), pick(rng, 0.0, 0.5), np.empty(K)


@twin(practical._hope, _groups)
def hope(scores: Array, hope: float, out: Array) -> None:
    out[:] = scores.mean(1) + hope * scores.std(1)
