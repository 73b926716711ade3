"""Every kernel that is measured: inputs, arithmetic and bytes by formula, and what else it waits for."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from limited.loops import (
    averaged,
    bells,
    chase,
    cosined,
    gather,
    learnt,
    observed,
    predicted,
    raced,
    rectangle,
    roots,
    scan,
    scored,
    sizes,
    stepped,
    triangle,
    walked,
    weighed,
    widths,
)
from marginbandits.lanes import across
from marginbandits.oracles.extra_trees import grow, joined
from marginbandits.oracles.two_sided import two_sided_leader
from marginbandits.samplers import HingePotential
from marginbandits.state import aligned
from marginbandits.types import Array

Run = Callable[[int], object]
"""Does something so many times."""


class Wait(NamedTuple):
    """What a kernel does so `often` that neither rate tells of, and a loop that does only that."""

    what: str
    often: float
    run: Run


class Kernel(NamedTuple):
    """What is measured: once is so much arithmetic, so many bytes, on so many bytes of memory."""

    name: str
    size: str
    run: Run
    flops: float
    moved: float
    room: float
    precision: type[np.floating[Any]]
    waits: tuple[Wait, ...] = ()


def ridge(d: int, precision: type[np.floating[Any]]) -> Kernel:
    """C is read once, for f = Cz (2 a number) and the update (5 a number), and kept as it was."""
    rng, half, size = np.random.default_rng(0), d * (d + 1) / 2, np.dtype(precision).itemsize
    model, rows = aligned((d + 1, across(d, precision)), precision), rng.standard_normal((64, d)).astype(precision)
    model[range(d), range(d)] = 1.0
    room, kept = aligned(2 * across(d, precision) + 1, precision), aligned((d + 1, across(d, precision)), precision)
    f, out = 0.1 * rows[0], np.empty(d, precision)
    return Kernel(
        "ridge update",
        f"d = {d}",
        lambda times: observed(times, model, rows, room, kept),
        flops=7 * half + 10 * d,
        moved=3 * half * size,
        room=2 * half * size,
        precision=precision,
        waits=(
            Wait("square roots and divisions", 1, lambda times: scan(times, f, out)),
            Wait("twice row by row", 2, lambda times: triangle(times, model, out)),
        ),
    )


def width(d: int, precision: type[np.floating[Any]]) -> Kernel:
    """C is gone through once, 2 a number."""
    rng, half, size = np.random.default_rng(0), d * (d + 1) / 2, np.dtype(precision).itemsize
    factor, rows = aligned((d, across(d, precision)), precision), rng.standard_normal((64, d))
    factor[:, :d] = np.tril(rng.standard_normal((d, d)))
    given, out, sums = rows.astype(precision), np.zeros(2), np.empty(d, precision)
    return Kernel(
        "LinUCB's width",
        f"d = {d}",
        lambda times: widths(times, factor, given, out),
        flops=2 * half,
        moved=half * size,
        room=half * size,
        precision=precision,
        waits=(Wait("row by row", 1, lambda times: triangle(times, factor, sums)),),
    )


def regression(d: int, K: int = 10) -> list[Kernel]:
    """Weights once to predict, 2 a number; to learn, weights, squares and largest inputs of one action once each."""
    rng = np.random.default_rng(0)
    states, rows = aligned((K, 3, across(d))), rng.standard_normal((64, d))
    none, out, work, values = np.empty((1, 0), np.int64), np.zeros(K), aligned(2 * across(d)), 1.0 + rng.random(d)
    totals, span = np.zeros(2), np.array([0.0, 1.0])
    result, state = np.empty(d), np.ones(2)
    learn = Kernel(
        "online regression learns",
        f"d = {d}",
        lambda times: learnt(times, states, totals, span, none[[0] * 64], rows, work),
        flops=20 * d,
        moved=8 * 9 * d,
        room=8 * 5 * d,
        precision=np.float64,
        waits=(
            Wait("square roots and divisions", 3, lambda times: roots(times, values, result)),
            Wait("size of the step", 1, lambda times: sizes(times, state)),
        ),
    )
    predict = Kernel(
        "online regression predicts",
        f"d = {d}, K = {K}",
        lambda times: predicted(times, states, none[[0] * 64], rows, out),
        flops=2 * K * d,
        moved=8 * K * d,
        room=8 * K * d,
        precision=np.float64,
        waits=(Wait("row by row", 1, lambda times: rectangle(times, states[:, 0], out)),),
    )
    return [predict, learn]


def sparse(filled: int = 50, wide: int = 2**18, K: int = 20) -> list[Kernel]:
    """Of each filled column the weights of all actions, or all that one action knows of it: memory comes in lines."""
    rng = np.random.default_rng(0)
    states = np.ones((wide, 3, 1, K)).transpose(2, 3, 1, 0)[0]
    columns = np.sort(rng.integers(wide, size=(4_096, filled)))
    values, out, work = rng.random((4_096, filled)) + 0.5, np.zeros(K), np.empty(wide)
    totals, span, flat = np.zeros(2), np.array([0.0, 1.0]), np.ones(wide * 3 * K)
    sums, f, ratios = np.zeros(2), 0.1 * values[0], np.empty(filled)

    def lines(of_column: list[int], action: int) -> Wait:
        """Of each column the lines that these places of it are in."""
        places = columns * 3 * K + action * np.arange(len(columns))[:, None] % K
        every = (places[:, :, None] + np.array(of_column)).reshape(len(columns), -1)
        return Wait("lines at random places", 1, lambda times: gather(times, flat, every, sums))

    size = f"{filled} of 2^{int(math.log2(wide))}"
    predict = Kernel(
        "sparse regression predicts",
        f"{size}, K = {K}",
        lambda times: predicted(times, states, columns, values, out),
        flops=2 * K * filled,
        moved=8 * K * filled,
        room=states.nbytes,
        precision=np.float64,
        waits=(lines([0, 8, 16], 0),),
    )
    learn = Kernel(
        "sparse regression learns",
        size,
        lambda times: learnt(times, states, totals, span, columns, values, work),
        flops=20 * filled,
        moved=8 * 5 * filled,
        room=states.nbytes,
        precision=np.float64,
        waits=(
            lines([0, K, 2 * K], 1),
            Wait("square roots and divisions", 2.5, lambda times: scan(times, f, ratios)),
        ),
    )
    return [predict, learn]


def langevin(n: int = 16, d: int = 365, K: int = 10) -> list[Kernel]:
    """Each particle goes twice through C, 2 a number; two of them read it once. Scores read each particle once."""
    rng, half = np.random.default_rng(0), d * (d + 1) / 2
    single: list[Any] = [
        rng.standard_normal(shape).astype(np.float32) for shape in ((n, d), (d,), (n, d), (n, d), (K, n, d))
    ]
    particles, mean, pull, normals, several = single
    factor: Any = np.tril(0.01 * rng.standard_normal((d, d))).astype(np.float32)
    rows, out = rng.standard_normal((1, d)), np.empty((K, n))
    room: Any = np.empty(d, np.float32)
    step = Kernel(
        "Langevin step",
        f"{n} chains, d = {d}",
        lambda times: stepped(times, particles, mean, factor, pull, normals),
        flops=n * 4 * half,
        moved=n / 2 * 4 * half,
        room=4 * half,
        precision=np.float32,
    )
    score = Kernel(
        "scores of particles",
        f"{K} x {n} chains, d = {d}",
        lambda times: scored(times, several, rows, room, out),
        flops=2 * K * n * d,
        moved=4 * K * n * d,
        room=4 * K * n * d,
        precision=np.float32,
    )
    return [step, score]


def gradient(n: int = 2_000, d: int = 50, chains: int = 64) -> Iterator[Kernel]:
    """Two matrix products, of all rows with two lines of points; scores between stay in the first cache."""
    rng = np.random.default_rng(0)
    potential = HingePotential(rng.standard_normal((n, d)) / d**0.5, rng.random(n), 0.5)
    points = rng.standard_normal((chains, d))
    for precision, call in ((np.float64, potential.gradient), (np.float32, potential.single_gradient())):
        at, size = points.astype(precision), np.dtype(precision).itemsize
        yield Kernel(
            "hinge potential's gradient",
            f"{chains} chains, {n:,} x {d}",
            repeated(call, at),
            flops=4 * chains * n * d,
            moved=size * n * d * chains // (2 * across(1, precision)),
            room=size * n * d,
            precision=precision,
        )


def refit(n: int = 1_000, d: int = 320, draws: int = 16) -> Kernel:
    """Cholesky, d³/3; a triangular solve of the draws, d² each; two of the leader; scores of all rows. ZᵀZ is known."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, d)) / d**0.5
    losses, gram = rng.integers(2, size=n).astype(float), rows.T @ rows
    normals = np.zeros((0, draws)), rng.standard_normal((d, draws))

    def call(gram: Array) -> object:
        return two_sided_leader(rows, losses, margin=1.2, regularisation=0.1, normals=normals, gram=gram)

    return Kernel(
        "SmoothFTL's refit",
        f"{n:,} x {d}, {draws} draws",
        repeated(call, gram),
        flops=d**3 / 3 + draws * d**2 + 2 * d**2 + 6 * n * d,
        moved=8 * (5 * d**2 + 3 * n * d),
        room=8 * (2 * d**2 + n * d),
        precision=np.float64,
        waits=(Wait("Cholesky's own", 1, repeated(np.linalg.cholesky, gram + 0.1 * np.eye(d))),),
    )


def race(K: int) -> Kernel:
    """At every node of every panel a distribution and a density of each action, of about 8 operations each."""
    rng = np.random.default_rng(0)
    mean, deviation = 0.1 * rng.standard_normal(K), 0.1 + 0.1 * rng.random(K)
    work, law, mask = np.empty(K), np.empty(K), np.ones(K, bool)
    reach = 8.0 * deviation
    best = (mean - reach).argmax()
    panels = np.ceil(((mean + reach).max() - (mean - reach)[best]) / (4.0 * deviation.min()))
    evaluations = 16 * panels * K
    angles, out = rng.standard_normal(64), np.empty(64)
    return Kernel(
        "race of normals",
        f"K = {K:,}, {evaluations:,.0f} evaluations",
        lambda times: raced(times, mean, deviation, mask, work, law),
        flops=16 * evaluations,
        moved=8 * 5 * evaluations,
        room=8 * 4 * K,
        precision=np.float64,
        waits=(Wait("erfc and exp", evaluations / 64, lambda times: bells(times, angles, out)),),
    )


def fourier(m: int = 300) -> Kernel:
    """A cosine is 24 operations here: a reduction, a polynomial and the doubling of the angle."""
    rng = np.random.default_rng(0)
    angles, out = 3.0 * rng.standard_normal((16, m)), np.empty(m)
    return Kernel(
        "cosines of Fourier features",
        f"{m} features",
        lambda times: cosined(times, angles, out),
        flops=24 * m,
        moved=8 * 4 * m,
        room=8 * 2 * m,
        precision=np.float64,
    )


def experts(N: int = 1_000, K: int = 10, d: int = 20) -> list[Kernel]:
    """Scores read the table once, 2 a number; the average makes surrogates, 3 a number, sums and weighs them, 3."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((K, d, N)).astype(np.float32)
    rows, scores = rng.standard_normal((1, d)).astype(np.float32), np.zeros((K, N), np.float32)
    q, margins, mask = np.full((1, N), 1.0 / N), np.array([0.1], np.float32), np.ones(K, bool)
    room, law = np.zeros((K + 2, N), np.float32), np.zeros(K)
    score = Kernel(
        "scores of experts",
        f"{N:,} experts, K = {K}, d = {d}",
        lambda times: weighed(times, table, rows, scores),
        flops=2 * K * N * d,
        moved=4 * (K * N * d + K * N),
        room=table.nbytes,
        precision=np.float32,
    )
    average = Kernel(
        "average of experts",
        f"{N:,} experts, K = {K}",
        lambda times: averaged(times, scores, q, margins, mask, room, law),
        flops=7 * K * N,
        moved=4 * 5 * K * N,
        room=2 * scores.nbytes,
        precision=np.float32,
    )
    return [score, average]


def trees(n: int, d: int = 20, K: int = 10, n_trees: int = 60) -> Kernel:
    """Of every node on the way down: column, threshold, child and the row's value; one comparison and one addition."""
    rng = np.random.default_rng(0)
    rows, targets = rng.standard_normal((K, n, d)).astype(np.float32), rng.random((K, n)).astype(np.float32)
    forest = joined([grow(rows[a], targets[a], n_trees=n_trees, n_columns=d, seed=a) for a in range(K)])
    starts, out, asked = np.array([0, K]), np.empty(K), rng.standard_normal((64, d)).astype(np.float32)
    visits = sum(depth(forest, row) for row in asked[:4]) / 4.0
    after = np.empty(len(forest.columns), np.int64)
    order = rng.permutation(len(after))
    after[order] = np.roll(order, 1)
    at = np.zeros(1, np.int64)
    return Kernel(
        "trees predict",
        f"K = {K}, {n_trees} trees of {n:,} rounds, {visits:,.0f} nodes",
        lambda times: walked(times, asked, starts, *forest, out),
        flops=2 * visits,
        moved=4 * 4 * visits,
        room=float(sum(one.nbytes for one in forest)),
        precision=np.float32,
        waits=(Wait("reads that wait for each other", visits, lambda times: chase(times, after, at)),),
    )


def depth(forest: Any, row: Any) -> int:
    """Nodes on the way down all trees."""
    count = 0
    for node in forest.roots.ravel():
        while forest.columns[node] >= 0:
            node = forest.children[node] + (row[forest.columns[node]] > forest.thresholds[node])
            count += 1
    return count


def repeated(call: Callable[..., object], *arguments: Any) -> Run:
    def run(times: int) -> None:
        for _ in range(times):
            call(*arguments)

    return run


def kernels() -> Iterator[Kernel]:
    both: tuple[type[np.floating[Any]], ...] = (np.float64, np.float32)
    yield from (ridge(d, precision) for d in (21, 101, 365) for precision in both)
    yield from (width(d, precision) for d in (21, 101, 365) for precision in both)
    yield from (*regression(21), *regression(101), *sparse(), *langevin(), *gradient())
    yield from (refit(), race(10), race(1_000), fourier(), *experts(), trees(50), trees(1_000))
