"""Kernels, and what they wait for, each done so many times in compiled code."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.compiled import kernel
from marginbandits.factors import square_norm
from marginbandits.features.fourier import cosines
from marginbandits.learners.finite_class import linear_scores
from marginbandits.learners.hedge import average
from marginbandits.oracles.extra_trees import walk
from marginbandits.oracles.online_regression import learn_row, predict_one
from marginbandits.oracles.ridge import observe
from marginbandits.policies import race_of_normals
from marginbandits.samplers.particles import langevin_step, scores_of
from marginbandits.types import Array

Places = npt.NDArray[np.int64]


@kernel
def read(times: int, array: Array, out: Array) -> None:
    for k in range(times):
        total = array.dtype.type(0.0)
        for i in range(array.shape[0]):
            total += array[i]
        out[k % 2] = total  # which may be in the array, for all that is known: so it is read every time


@kernel
def copy(times: int, array: Array, out: Array) -> None:
    half = array.shape[0] // 2
    for k in range(times):
        first, second = (0, half) if k % 2 else (half, 0)
        for i in range(half):
            array[first + i] = array[second + i]
        out[k % 2] = array[0]


@kernel
def triangle(times: int, factor: Array, out: Array) -> None:
    """Every row of a triangle, added up: each is short, and ends in the midst of a vector."""
    for _ in range(times):
        for i in range(out.shape[0]):
            total = out.dtype.type(0.0)
            for j in range(i + 1):
                total += factor[i, j]
            out[i] = total


@kernel
def rectangle(times: int, rows: Array, out: Array) -> None:
    """Every row of a table, added up."""
    for _ in range(times):
        for i in range(rows.shape[0]):
            total = 0.0
            for j in range(rows.shape[1]):
                total += rows[i, j]
            out[i] = total


@kernel
def roots(times: int, values: Array, out: Array) -> None:
    """One square root and one division after another, of numbers that do not wait for each other."""
    for k in range(times):
        for i in range(values.shape[0]):
            out[i] = 1.0 / math.sqrt(values[i] + k)


@kernel
def scan(times: int, f: Array, out: Array) -> None:
    """A square root and a division for each row of a factor, as its update has them."""
    for _ in range(times):
        alpha, before = 1.0, 1.0
        for i in range(f.shape[0]):
            alpha += f[i] * f[i]
            after = math.sqrt(alpha)
            out[i], before = f[i] / (before * after), after


@kernel
def sizes(times: int, out: Array) -> None:
    """The size of a regression's step, each after the one before: a sum must be there before it, and steps after it."""
    for _ in range(times):
        multiplier = math.sqrt((out[0] + 1.0) / (out[1] + 1.0))
        out[0] = multiplier * -math.expm1(-multiplier * (out[0] + 1.0)) / multiplier


@kernel
def bells(times: int, values: Array, out: Array) -> None:
    for k in range(times):
        for i in range(values.shape[0]):
            u = values[i] + 1e-9 * k
            out[i] = math.erfc(u) + math.exp(-u * u)


@kernel
def chase(times: int, after: Places, out: Places) -> None:
    """One read after another, each of a place that the last one names."""
    at = out[0]
    for _ in range(times):
        at = after[at]
    out[0] = at


@kernel
def gather(times: int, array: Array, places: Places, out: Array) -> None:
    """Reads at places known beforehand."""
    for k in range(times):
        total = 0.0
        for i in range(places.shape[1]):
            total += array[places[k % places.shape[0], i]]
        out[k % 2] = total


@kernel
def observed(times: int, models: Array, rows: Array, room: Array, kept: Array) -> None:
    for k in range(times):
        observe(models, rows[k % rows.shape[0]], 1.0, 0.1, room, kept)


@kernel
def widths(times: int, factor: Array, rows: Array, out: Array) -> None:
    for k in range(times):
        out[k % 2] = square_norm(factor, rows[k % rows.shape[0]])


@kernel
def predicted(times: int, states: Array, columns: Places, values: Array, out: Array) -> None:
    for k in range(times):
        predict_one(states, columns[k % columns.shape[0]], values[k % values.shape[0]], out)


@kernel
def learnt(times: int, states: Array, totals: Array, span: Array, columns: Places, values: Array, work: Array) -> None:
    for k in range(times):
        at, target = k % values.shape[0], 0.1 + 0.8 * (k % 2)
        learn_row(states[k % states.shape[0]], totals, span, columns[at], values[at], target, 1.0, 0.5, work)


@kernel
def stepped(times: int, particles: Array, mean: Array, factor: Array, pull: Array, normals: Array) -> None:
    for _ in range(times):
        langevin_step(particles, mean, factor, pull, 1.0, 1e6, 0.5, 0.1, normals)


@kernel
def scored(times: int, particles: Array, rows: Array, room: Array, out: Array) -> None:
    for _ in range(times):
        scores_of(particles, rows, False, room, out)


@kernel
def cosined(times: int, angles: Array, out: Array) -> None:
    for k in range(times):
        for j in range(out.shape[0]):
            out[j] = angles[k % angles.shape[0], j]
        cosines(out)


@kernel
def weighed(times: int, table: Any, rows: Any, scores: Any) -> None:
    for _ in range(times):
        linear_scores(table, rows, False, scores)


@kernel
def averaged(times: int, scores: Any, q: Array, margins: Any, mask: Any, room: Any, law: Array) -> None:
    for _ in range(times):
        average(scores, q, margins, 2, mask, room, law)


@kernel
def raced(times: int, mean: Array, deviation: Array, mask: Any, work: Array, law: Array) -> None:
    for _ in range(times):
        race_of_normals(mean, deviation, mask, work, law)


@kernel
def walked(
    times: int,
    rows: Any,
    starts: Places,
    columns: Any,
    thresholds: Any,
    children: Any,
    means: Any,
    roots: Places,
    out: Array,
) -> None:
    for k in range(times):
        at = k % rows.shape[0]
        walk(rows[at : at + 1], False, starts, columns, thresholds, children, means, roots, out)
