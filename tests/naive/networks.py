"""Twins of what networks learn by."""

from typing import Any

import numpy as np

from marginbandits.contexts import Sparse
from marginbandits.oracles import steps
from marginbandits.scores import bags
from tests.naive.twin import pick, some, twin


def _to_step(rng: np.random.Generator) -> tuple[Any, ...]:
    n = int(pick(rng, 1, 3, 40))
    parameters, gradient = rng.standard_normal((2, n)).astype(np.float32)
    adam = np.abs(rng.standard_normal((2, n))).astype(np.float32)
    out, kept = np.zeros(n, np.float32), np.zeros((2, n), np.float32)
    pace = steps.paced(float(pick(rng, 1e-3, 0.1)), 0.01, int(pick(rng, 1, 7, 10_000)))
    return parameters, adam, gradient, *pace, out, kept


@twin(steps.adamw, _to_step, tolerance=1e-5)
def adamw(
    parameters: Any, adam: Any, gradient: Any, h: float, wide: float, lost: float, out: Any, out_adam: Any
) -> None:
    """Algorithm 2 of Loshchilov & Hutter (2019): h = α/(1 - β₁^t), wide = 1/(1 - β₂^t), lost = αλ."""
    out_adam[0] = 0.9 * adam[0] + 0.1 * gradient
    out_adam[1] = 0.999 * adam[1] + 0.001 * gradient**2
    out[...] = parameters - h * out_adam[0] / (np.sqrt(wide * out_adam[1]) + 1e-8) - lost * parameters


def _to_step_apart(rng: np.random.Generator) -> tuple[Any, ...]:
    parameters, adam, gradient, h, wide, lost, out, kept = _to_step(rng)
    return parameters, adam[0], adam[1], gradient, h, wide, lost, out, kept[0], kept[1]


@twin(steps._moved, _to_step_apart, tolerance=1e-5)
def moved(
    now: Any, m: Any, v: Any, gradient: Any, h: float, wide: float, lost: float, out: Any, p: Any, q: Any
) -> None:
    """With both averages by themselves."""
    kept = np.stack([p, q])
    adamw(now, np.stack([m, v]), gradient, h, wide, lost, out, kept)
    p[...], q[...] = kept


def _to_step_each(rng: np.random.Generator) -> tuple[Any, ...]:
    given = _to_step(rng)
    n = len(given[0])
    middle = int(rng.integers(n + 1))
    paces = steps.paced(rng.random(2), np.full(2, 0.01), int(pick(rng, 1, 7)))
    return *given[:3], *paces, np.array([(1, 0, middle), (0, middle, n)]), *given[6:]


@twin(steps.adamw_of_each, _to_step_each, tolerance=1e-5)
def adamw_of_each(
    parameters: Any, adam: Any, gradient: Any, h: Any, wide: float, lost: Any, stretches: Any, out: Any, out_adam: Any
) -> None:
    """One after the other."""
    for s, i, j in stretches.tolist():
        own = slice(i, j)
        adamw(parameters[own], adam[:, own], gradient[own], h[s], wide, lost[s], out[own], out_adam[:, own])


def _filled(rng: np.random.Generator) -> tuple[Any, ...]:
    """Rows that fill some of seven columns, and a table of two or three numbers for each."""
    lengths = rng.integers(0, 6, int(pick(rng, 0, 1, 4)))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.concatenate([np.empty(0, np.int64), *(np.sort(rng.permutation(7)[:n]) for n in lengths)])
    values = some(rng, int(starts[-1])).astype(np.float32)
    return values, columns, starts, some(rng, 7, int(pick(rng, 2, 3))).astype(np.float32)


@twin(bags.pooled, _filled, tolerance=1e-5)
def pooled(values: Any, columns: Any, starts: Any, table: Any) -> Any:
    """The dense product."""
    return Sparse(values, columns, starts, len(table)).dense() @ table


def _to_scatter(rng: np.random.Generator) -> tuple[Any, ...]:
    values, columns, starts, table = _filled(rng)
    return values, columns, starts, some(rng, len(starts) - 1, table.shape[1]).astype(np.float32), 7


@twin(bags.scattered, _to_scatter, tolerance=1e-5)
def scattered(values: Any, places: Any, starts: Any, slopes: Any, n: int) -> Any:
    """The dense product with the transpose."""
    return Sparse(values, places, starts, n).dense().T @ slopes


def _to_move(rng: np.random.Generator) -> tuple[Any, ...]:
    columns = np.sort(rng.permutation(7)[: int(rng.integers(5))])
    table = some(rng, 7, 3).astype(np.float32)
    gradient = (some(rng, len(columns), 3) * pick(rng, 1.0, 1e30)).astype(np.float32)
    return table, rng.random(7).astype(np.float32), columns, gradient, float(pick(rng, 0.1, 1.0))


@twin(bags.adagrad, _to_move, tolerance=1e-5)
def adagrad(table: Any, squares: Any, columns: Any, gradient: Any, rate: float) -> bool:
    """Each row by its gradient over the root of all mean squares of it so far; nothing, where that is 0."""
    finite = True
    for j, g in zip(columns, gradient, strict=True):
        squares[j] += np.sum(g * g, dtype=np.float32) / np.float32(len(g))
        if g.any():
            table[j] -= rate / np.sqrt(squares[j]) * g
        finite &= bool(np.isfinite(squares[j]) and np.isfinite(table[j]).all())
    return finite


def cost(kind: str, s: Any, loss: Any, margin: float) -> Any:
    """What a score costs under a surrogate, as its formula says."""
    lost, earned = np.maximum(margin + s, 0.0), np.maximum(margin - s, 0.0)
    if kind == "squared_hinge":
        return loss * lost**2 / 2 + (1 - loss) * earned**2 / 2
    if kind == "hinge":
        return loss * lost + (1 - loss) * earned + s**2 / 2
    return (s - margin * (1 - 2 * loss)) ** 2 / 2
