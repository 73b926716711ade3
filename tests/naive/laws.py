"""Twins of what turns scores and losses into laws, and laws into actions."""

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from marginbandits import laws, policies
from marginbandits.learners.baselines import squarecb
from marginbandits.types import Array, Mask
from tests.naive.twin import Places, law_of, layout, mask_of, pick, some, spans, twin


def _spoilt(rng: np.random.Generator, values: Array, *bad: float) -> Array:
    """One time in four, one of them is bad."""
    if values.size and rng.random() < 0.25:
        values.flat[rng.integers(values.size)] = pick(rng, *bad)
    return values


def _batch_scores(rng: np.random.Generator) -> tuple[Array, Places, Mask, Array]:
    starts, mask = layout(rng, shared=True)
    return _spoilt(rng, some(rng, len(mask)), np.nan, np.inf, -np.inf), starts, mask, np.empty(len(mask))


@twin(laws.greedy_each, _batch_scores)
def greedy_each(scores: Array, starts: Places, mask: Mask, law: Array) -> bool:
    for span in spans(starts):
        best = mask[span] & (scores[span] == scores[span][mask[span]].max())
        law[span] = best / max(best.sum(), 1)
    return not np.isnan(scores).any()


def _batch_floors(rng: np.random.Generator) -> tuple[Array, Places, Mask, float, Array]:
    scores, starts, mask, law = _batch_scores(rng)
    return scores, starts, mask, pick(rng, 0.0, 0.1, 0.9), law


@twin(laws.greedy_over_floor, _batch_floors)
def greedy_over_floor(scores: Array, starts: Places, mask: Mask, mu: float, law: Array) -> bool:
    good = greedy_each(scores, starts, mask, law)
    explored(law, starts, mask, -1.0, mu)
    return bool(good)


def _batch_lines(rng: np.random.Generator) -> tuple[Array, Array, Places, Mask, Array]:
    scores, starts, mask, law = _batch_scores(rng)
    return np.clip(scores, -9, 9), np.abs(some(rng, len(mask))), starts, mask, law


@twin(laws.move_together, _batch_lines)
def moved_together(means: Array, deviations: Array, starts: Places, mask: Mask, law: Array) -> bool:
    """Each line is the highest between its last crossing with a flatter one and its first with a steeper one."""
    if np.isnan(means).any():
        return False
    for span in spans(starts):
        lines = {k: (deviations[k], means[k]) for k in range(span.start, span.stop) if mask[k]}
        law[span] = 0.0
        for k, (slope, height) in lines.items():
            others = list(lines.values())
            if any(s == slope and h > height for s, h in others):
                continue
            low = max([(h - height) / (slope - s) for s, h in others if s < slope], default=-np.inf)
            high = min([(height - h) / (s - slope) for s, h in others if s > slope], default=np.inf)
            law[k] = max(ndtr(high) - ndtr(low), 0.0) / others.count((slope, height))
    return True


def _batch_values(rng: np.random.Generator) -> tuple[Array, Places, Mask, Array]:
    starts, mask = layout(rng, shared=True)
    return np.abs(some(rng, len(mask))), starts, mask, np.empty(len(mask))


@twin(laws._proportional, _batch_values)
def proportional(values: Array, starts: Places, mask: Mask, law: Array) -> None:
    for span in spans(starts):
        weights = values[span] * mask[span]
        law[span] = weights / weights.sum() if weights.any() else mask[span] / mask[span].sum()


def _batch_laws(rng: np.random.Generator) -> tuple[Array, Places, Mask, float, float]:
    starts, mask = layout(rng, shared=True)
    law = np.concatenate([np.empty(0), *[law_of(rng, mask[span]) for span in spans(starts)]])
    return law, starts, mask, *pick(rng, (0.0, -1.0), (0.3, -1.0), (1.0, -1.0), (-1.0, 0.0), (-1.0, 0.1), (-1.0, 0.9))


@twin(laws.explore_each, _batch_laws)
def explored(law: Array, starts: Places, mask: Mask, share: float, mu: float) -> None:
    for span in spans(starts):
        n = mask[span].sum()
        floor = share / n if share >= 0 else min(mu, 1 / n)
        law[span] = mask[span] * ((1 - n * floor) * law[span] + floor)


def _masks(rng: np.random.Generator) -> tuple[Mask]:
    return (rng.random((pick(rng, 0, 1, 3), pick(rng, 1, 2, 4))) < pick(rng, 0.3, 0.9),)


@twin(policies._leaves_some, _masks)
def leaves_some(mask: Mask) -> bool:
    return bool(mask.any(1).all())


def _row_masks(rng: np.random.Generator, n: int, k: int) -> Mask:
    """One for all rows, or one for each."""
    return np.stack([mask_of(rng, k) for _ in range(pick(rng, 1, max(n, 1)))])


def _maybe_laws(rng: np.random.Generator) -> tuple[Array, Mask]:
    n, k = pick(rng, 1, 2, 3), pick(rng, 1, 2, 4)
    mask = _row_masks(rng, n, k)
    law = np.stack([law_of(rng, one) for one in np.broadcast_to(mask, (n, k))])
    if rng.random() < 0.5:
        law[rng.integers(n), rng.integers(k)] += pick(rng, 1e-9, 1e-3, -1e-3, -2.0, np.nan)
    if rng.random() < 0.3:
        law[rng.integers(n)] = rng.dirichlet(np.ones(k))  # in spite of its mask
    return law, mask


@twin(policies._is_law, _maybe_laws)
def is_law(distribution: Array, mask: Mask) -> bool:
    forbidden = np.where(mask, 0.0, distribution)
    whole = np.abs(distribution.sum(1) - 1) < 1e-6
    return bool((distribution >= 0).all() and not forbidden.any() and whole.all())


def _rows(rng: np.random.Generator) -> tuple[Array, Mask, Array]:
    n, k = pick(rng, 0, 1, 2, 3), pick(rng, 1, 2, 4)
    return some(rng, n, k), _row_masks(rng, n, k), np.empty((n, k))


def _positive_rows(rng: np.random.Generator) -> tuple[Array, float, Mask, Array]:
    values, mask, out = _rows(rng)
    return _spoilt(rng, np.abs(values), -1.0, np.nan, np.inf), pick(rng, 0.5, 1.0, 3.0, 80.0), mask, out


@twin(policies._sharpened, _positive_rows)
def sharpened(values: Array, q: float, mask: Mask, out: Array) -> bool:
    if not (np.isfinite(values).all() and (values >= 0).all()):
        return False
    for row, allowed, law in zip(values, np.broadcast_to(mask, values.shape), out, strict=True):
        kept = np.where(allowed, row, 0.0)
        weights = allowed * ((kept / kept.max()) ** q if kept.any() else 1.0)
        law[:] = weights / weights.sum()
    return True


def _laws_to_floor(rng: np.random.Generator) -> tuple[Array, float, Mask, Array]:
    scores, mask, out = _rows(rng)
    law = np.array([law_of(rng, one) for one in np.broadcast_to(mask, scores.shape)]).reshape(scores.shape)
    return law, pick(rng, 0.0, 0.1, 0.25, 0.26, -0.1, np.nan), mask, out


@twin(policies._explore, _laws_to_floor)
def explore(distribution: Array, mu: float, mask: Mask, out: Array) -> bool:
    allowed = np.broadcast_to(mask, distribution.shape)
    n = allowed.sum(1, keepdims=True)
    out[:] = (1 - n * mu) * distribution + mu * allowed
    return bool(((mu >= 0) & (n * mu <= 1 + 1e-12)).all())


def _law_and_draw(rng: np.random.Generator) -> tuple[Array, float]:
    law = law_of(rng, mask_of(rng, pick(rng, 1, 2, 5)))
    return pick(rng, law, 3 * law, np.array([0.25, 0.0, 0.5, 0.25])), pick(rng, 0.0, 0.25, 0.75, float(rng.random()))


@twin(laws.drawn, _law_and_draw)
@twin(policies._sample, _law_and_draw)
def drawn(law: Array, draw: float) -> int:
    reached = [a for a in range(len(law)) if law[a] > 0 and law[: a + 1].sum() > draw * law.sum()]
    return int([*reached, np.flatnonzero(law)[-1]][0])


def _many_laws(rng: np.random.Generator) -> tuple[Array, Places, Array, Places]:
    starts, mask = layout(rng, shared=True)
    law = np.concatenate([np.empty(0), *[law_of(rng, mask[span]) for span in spans(starts)]])
    n = len(starts) - 1
    return law, starts, rng.random(n), np.empty(n, np.int64)


@twin(laws.certain, lambda rng: _law_and_draw(rng)[:1])
def certain(law: Array) -> int:
    positive = np.flatnonzero(law > 0)
    return int(positive[0]) if len(positive) and law[positive[0]] == 1.0 else -1


@twin(laws.uncertain, lambda rng: _many_laws(rng)[:2])
def uncertain(laws: Array, starts: Places) -> int:
    return sum(certain(laws[span]) < 0 for span in spans(starts))


@twin(laws.drawn_each, _many_laws)
def drawn_each(laws: Array, starts: Places, draws: Array, actions: Places) -> None:
    left = iter(draws)
    for i, span in enumerate(spans(starts)):
        actions[i] = certain(laws[span]) if certain(laws[span]) >= 0 else drawn(laws[span], next(left))


def _normals(rng: np.random.Generator) -> tuple[Array, Array, Mask, Array, Array]:
    k = pick(rng, 1, 2, 5)
    deviation = pick(rng, np.ones(k), rng.uniform(0.3, 2.0, k), 10.0 ** rng.uniform(-2.0, 0.0, k))
    return some(rng, k), deviation, mask_of(rng, k), np.empty(k), np.empty(k)


@twin(policies.race_of_normals, _normals, tolerance=1e-6, scratch=["work"])
def race_of_normals(mean: Array, deviation: Array, available: Mask, work: Array, law: Array) -> bool:
    def largest_at(u: float, a: int) -> float:
        others = available & (np.arange(len(mean)) != a)
        return float(np.exp(-u * u / 2) * ndtr((mean[a] + deviation[a] * u - mean[others]) / deviation[others]).prod())

    def chance(a: int) -> float:
        kinks = np.unique(np.clip((mean - mean[a]) / deviation[a], -9, 9))
        return float(quad(largest_at, -9, 9, (a,), limit=500, points=kinks)[0]) if available[a] else 0.0

    law[:] = [chance(a) for a in range(len(mean))]
    law /= law.sum()
    return True


@twin(policies.below, lambda rng: (float(8 * rng.standard_normal()), float(some(rng, 1)[0]), rng.uniform(0.1, 2.0)))
def below(score: float, mean: float, deviation: float) -> float:
    return float(ndtr((score - mean) / deviation))


def _losses(rng: np.random.Generator) -> tuple[Array, Places, Mask, float, bool]:
    starts, mask = layout(rng, shared=True)
    return some(rng, len(mask)), starts, mask, pick(rng, 0.0, 1.0, 300.0), pick(rng, True, False)


@twin(squarecb._weigh, _losses)
def weigh(losses: Array, starts: Places, mask: Mask, gamma: float, clip: bool) -> bool:
    for span in spans(starts):
        n, allowed = mask[span].sum(), mask[span]
        within = np.clip(losses[span], 0, 1)
        predicted = within + 0.3 * (losses[span] - within) if clip else losses[span]
        gap = predicted - predicted[allowed].min()
        best = allowed & (gap == 0)
        law = np.where(allowed & ~best, 1 / (n + gamma * np.maximum(gap, 0)), 0.0)
        losses[span] = np.where(best, (1 - law.sum()) / best.sum(), law)
    return True
