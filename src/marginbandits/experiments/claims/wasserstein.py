"""Algorithm 2's law against its target, in Wasserstein distance, where the target is known: in one to three dimensions.

The target is P ∝ exp(-F) on the unit ball, F the potential of T random rounds. The chain starts at 0 and makes n steps
of size 1/n, with λ and u from τ and the history's own G, and the smoothing in closed form (m = ∞): the theorem's N, its
α = R²/N and its m draws a step are not run. Both laws are seen through points; in one dimension W₁ is a difference of
quantiles, in more the least assignment. Points of one law are at a distance, too, so that on average that of points is
the larger:

    W₁(law, P) <= E W₁(points of the law, points of P),  which is judged as it is    <= τ = 1/(L√T)

with so many that points of the target itself are well within τ of each other. The theorem asks for N of 10^80 and more;
here it is seen how many steps do. T is such that one step is not enough: it ends further than τ from the target, and so
does whoever makes no more. The target itself, moved by τ, does not hold, and moved by 2τ it fails.
"""

import math
from collections.abc import Mapping

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results, shown
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.judging import under
from marginbandits.experiments.claims.measuring import OPPOSITE, control
from marginbandits.projections import ball
from marginbandits.samplers import HingePotential, projected_langevin
from marginbandits.theory import Setting, hinge_lmc_tuning
from marginbandits.types import Array

__all__ = ["CLAIM"]

K, T, MARGIN = 2, 100, 0.5
POINTS = {1: 1000, 2: 600, 3: 1600}  # by d; sorting is cheaper than the least assignment
ONE_STEP = "one step, whatever N"
MOVED = {"the target itself, moved by τ": 1.0, "the target itself, moved by 2τ": 2.0}
L = math.sqrt(0.5)


def measure(d: int, steps: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """W₁ of chains to the target, by points; told the opposite, they go up where F does."""
    steps = 1 if broken == ONE_STEP else steps
    rng = np.random.default_rng([seed, d])
    setting = Setting(d, K, T, MARGIN, lipschitz=L)
    tuned = hinge_lmc_tuning(setting)
    rows = L * ball(rng.standard_normal((T // 4, d)) + 0.7, 1.0)
    F = HingePotential(rows, tuned.eta * rng.uniform(1.0, 2.0 * K, len(rows)), MARGIN)
    tau, G = tuned.accuracy, F.lipschitz
    target, other = _target(F, d, rng), _target(F, d, rng)
    found = {"tau": tau, "N": tuned.log10_steps}
    if steps == 1 and not broken:  # the same for any number of steps, and as dear as the distance itself
        found["floor"] = wasserstein(target, other)
    if broken in MOVED:
        other[:, 0] += MOVED[broken] * tau
        return {**found, "distance": wasserstein(target, other)}
    gradient = F.smoothed_gradient(tau / (8.0 * G * math.sqrt(d)))
    draws = projected_langevin(
        lambda points: -gradient(points) if broken == OPPOSITE else gradient(points),
        np.zeros((POINTS[d], d)),
        lambda points: ball(points, 1.0),
        rng,
        step=1.0 / steps,
        n_steps=steps,
        ridge=tau / 8.0,
    )
    return {**found, "distance": wasserstein(draws, target)}


def _target(F: HingePotential, d: int, rng: np.random.Generator) -> Array:
    """Independent draws from the target, by rejection from the uniform law: F is least on a grid, up to its slope."""
    least = float(F(ball(rng.uniform(-1.0, 1.0, (20_000, d)), 1.0)).min()) - 0.02 * F.lipschitz
    found = np.empty((0, d))
    while len(found) < POINTS[d]:
        points = rng.uniform(-1.0, 1.0, (20_000, d))
        points = points[(points**2).sum(1) <= 1.0]
        found = np.concatenate([found, points[rng.random(len(points)) < np.exp(least - F(points))]])
    return found[: POINTS[d]]


def wasserstein(one: Array, other: Array) -> float:
    """W₁ between as many points with equal weights."""
    if one.shape[1] == 1:
        return float(np.abs(np.sort(one[:, 0]) - np.sort(other[:, 0])).mean())
    distances = cdist(one, other)
    return float(distances[linear_sum_assignment(distances)].mean())


def units(quick: bool) -> list[Parameters]:
    """Steps by factors of ten."""
    each, seeds = ((1, 10, 100), 4) if quick else ((1, 10, 100, 1000), 16)
    return [{"d": d, "steps": steps, "seed": seed} for d in (1, 2, 3) for steps in each for seed in range(seeds)]


def _few(quick: bool) -> list[Parameters]:
    """As many steps as are judged; the least assignment of many points is dear."""
    most = max(one["steps"] for one in units(quick))
    return [one for one in units(quick) if one["steps"] == most and one["seed"] < (4, 4, 2)[one["d"] - 1]]


def judge(results: Results) -> Finding:
    """The distance at the most steps against τ."""
    lines = []
    for d, mine in results.split("d"):
        most = max(mine.each("steps"))
        far, near = mine.where(steps=min(mine.each("steps"))).interval("distance"), mine.where(steps=most)
        found, tau, needed = near.interval("distance"), *(float(near.values(one)[0]) for one in ("tau", "N"))
        lines.append(
            Line(
                f"Algorithm 2's law is within τ of its target after few steps, d = {d}",
                f"W₁ <= τ = {tau:.3f} after {most:,} steps; the theorem's N = 10^{needed:.0f} not run",
                f"{shown(found, 3)} after {most:,} steps of 1/{most:,} with the smoothing's exact mean (the theorem's "
                f"m draws of it not run), {shown(far, 3)} after {min(mine.each('steps'))}, of {POINTS[d]} points each"
                f"{_floor(mine)}",
                under(found, tau),
                1,
            )
        )
    chart = growth(
        "W₁ of points (dashed: τ)",
        {f"d = {d}": mine for d, mine in results.split("d")},
        over="steps",
        of="distance",
        bound="tau",
        label="W₁",
        floor=1e-3,
    )
    note = (
        f"The theorem's N is for the worst potential, with unnamed constants set to 1; that of {T // 4} costly rounds "
        f"of T = {T} asks for far fewer."
    )
    return Finding(lines, [chart], [note])


def _floor(runs: Results) -> str:
    """How far points of the target are from each other, where that was measured."""
    each = [one.values["floor"] for one in runs if "floor" in one.values]
    return f"; two such samples of the target {float(np.mean(each)):.3f}" if each else ""


CLAIM = Claim(
    "wasserstein",
    "How near Algorithm 2 comes to its target",
    "Theorem 'lmc', appendix on Hinge-LMC",
    "Smoothed projected Langevin Monte Carlo from θ = 0 is within τ of exp(-F) in Wasserstein distance.",
    measure,
    units,
    judge,
    errata=(7,),
    controls=(control(ONE_STEP, _few), control(OPPOSITE, _few), *(control(moved, _few) for moved in MOVED)),
)
