"""Twins of the samplers' kernels."""

import numpy as np

from marginbandits.samplers import particles, potential, stored_pull
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


def _particles(rng: np.random.Generator) -> tuple[Array, Array, bool, Array, Array]:
    shared, n, d, K = pick(rng, True, False), pick(rng, 1, 4, 7), pick(rng, 1, 3), pick(rng, 1, 3)
    rows = some(rng, K if shared else 1, d)
    return some(rng, 1 if shared else K, n, d), rows, shared, np.empty(d), np.empty((K, n))


@twin(particles.scores_of, _particles, scratch=["row"])
def scores_of(particles: Array, rows: Array, shared: bool, row: Array, out: Array) -> None:
    out[:] = rows @ particles[0].T if shared else particles @ rows[0]


def _scored(rng: np.random.Generator) -> tuple[float, float, float, bool]:
    return float(rng.standard_normal()), pick(rng, 0.0, 0.3, 1.0), 0.6, pick(rng, True, False)


@twin(particles.slope, _scored)
def slope(score: float, loss: float, margin: float, squared: bool) -> float:
    above, below = max(score - margin, 0.0), max(-score - margin, 0.0)
    if squared:
        return loss * below - (1 - loss) * above
    return (above > 0) * (1 - loss) - (below > 0) * loss


def _changes(rng: np.random.Generator) -> tuple[Array, Array, int, Array, float, float, float, bool]:
    n, d = 4, pick(rng, 1, 3)
    i, loss = int(rng.integers(n)), float(rng.random())
    return (
        some(rng, n),
        some(rng, d),
        i,
        some(rng, d),
        pick(rng, -2.0, 0.0, 3.0, 1e9),
        loss,
        0.6,
        pick(rng, True, False),
    )


@twin(stored_pull._change, _changes)
def change(
    slopes: Array, total: Array, i: int, row: Array, score: float, loss: float, margin: float, squared: bool
) -> None:
    now = np.clip(slope(score, loss, margin, squared), -1e6, 1e6)
    total += (now - slopes[i]) * row
    slopes[i] = now


def _stored(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, Array]:
    n, size, d = pick(rng, 1, 2, 5), pick(rng, 1, 6, 11), pick(rng, 1, 3, 8, 19)
    return some(rng, n, size), some(rng, n, d), 2 * some(rng, n, d), some(rng, size, d), rng.random(size)


def _looks(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, Array, int, int, int, int, float, bool]:
    slopes, total, moved, rows, losses = _stored(rng)
    first, last = sorted(rng.integers(len(slopes) + 1, size=2).tolist())
    start, end = sorted(rng.integers(len(rows) + 1, size=2).tolist())
    return slopes, total, moved, rows, losses, first, last, start, end, 0.6, pick(rng, True, False)


def _four_of_them(rng: np.random.Generator) -> tuple[Array, int, Array, Array]:
    n, d = pick(rng, 4, 9), pick(rng, 1, 3, 8, 19)
    return some(rng, n, d), int(rng.integers(n - 3)), some(rng, d), some(rng, d)


@twin(stored_pull._eight, _four_of_them)
def eight(rows: Array, i: int, p: Array, q: Array) -> tuple[Array, Array]:
    return rows[i : i + 4] @ p, rows[i : i + 4] @ q


@twin(stored_pull.refresh, _looks)
def refresh(
    slopes: Array,
    total: Array,
    particles: Array,
    rows: Array,
    losses: Array,
    first: int,
    last: int,
    start: int,
    end: int,
    margin: float,
    squared: bool,
) -> None:
    for k in range(first, last):
        for i in range(start, end):
            change(slopes[k], total[k], i, rows[i], float(particles[k] @ rows[i]), losses[i], margin, squared)


def _forgotten(rng: np.random.Generator) -> tuple[Array, Array, int, Array]:
    slopes, total, _, rows, _ = _stored(rng)
    return slopes, total, int(rng.integers(len(rows))), rows[0]


@twin(stored_pull.forget, _forgotten)
def forget(slopes: Array, total: Array, slot: int, row: Array) -> None:
    total -= np.outer(slopes[:, slot], row)
    slopes[:, slot] = 0.0


def _step(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, float, float, float, float, Array]:
    n, d = pick(rng, 0, 1, 3), pick(rng, 1, 2, 4, 5, 9)
    moved, pull, normals = some(rng, n, d), some(rng, n, d), some(rng, n, d)
    sizes = pick(rng, 1.0, 2.5), pick(rng, 0.5, 1e9), pick(rng, 0.3, 1.0)
    return moved, some(rng, d), np.tril(some(rng, d, d)), pull, *sizes, 0.2, normals


@twin(particles.langevin_step, _step)
def langevin_step(
    particles: Array,
    mean: Array,
    factor: Array,
    pull: Array,
    weight: float,
    most: float,
    step: float,
    temperature: float,
    normals: Array,
) -> None:
    noise = temperature * np.sqrt(step * (2 - step)) * normals
    drawn = np.clip(weight * pull @ factor.T, -most, most)
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


def _sloping(rng: np.random.Generator) -> tuple[Array, Array, float, float]:
    n = pick(rng, 0, 1, 5)
    return np.round(2 * some(rng, 3, n)) / 4, rng.random(n), 0.5, pick(rng, 0.0, np.inf)


@twin(potential._steep, _sloping)
def steep(scores: Array, weights: Array, margin: float, top: float) -> None:
    scores[:] = np.where((scores > -margin) & (scores < top), weights, 0.0)


def _tall(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Two lines of columns in `right` and `out`, which has a row for each of the next four."""
    n, d = pick(rng, 1, 3, 4, 9), pick(rng, 1, 2, 7)
    left = np.ascontiguousarray(some(rng, n, d))
    return pick(rng, left, left.T.copy().T), some(rng, d, 16), np.zeros((n + 3, 16))


@twin(potential._add_products, _tall)
def add_products(left: Array, right: Array, out: Array) -> None:
    rows = len(left) + -len(left) % 4  # the last row again, to fill its four
    out[:rows] += np.pad(left, ((0, rows - len(left)), (0, 0)), "edge") @ right


def _pulling(rng: np.random.Generator) -> tuple[Array, Array, Array, float, float, Array]:
    points, n, d = pick(rng, 1, 6, 16, 17, 40), pick(rng, 0, 1, 3, 64, 65, 130), pick(rng, 1, 2, 4, 5)
    at = np.round(2 * some(rng, points, d)) / 2  # on kinks, too
    return at, np.round(some(rng, n, d)), rng.random(n), 0.5, pick(rng, 0.0, np.inf), np.empty((points, d))


@twin(potential._slopes, _pulling)
def slopes_of(points: Array, features: Array, weights: Array, margin: float, top: float, out: Array) -> None:
    scores = points @ features.T
    out[:] = (np.where((scores > -margin) & (scores < top), weights, 0.0) @ features) / margin
