"""Hinge-LMC in the ball of another norm: the regret is the same for every pair of dual norms.

Two actions with scores ±<θ, x>, ‖θ‖ <= 1 in one norm and ‖x‖_* <= 1 in its dual, so that B = 1 for every pair; losses
are realizable at margin γ. The volume argument shrinks Θ towards θ*, in whatever norm, so the bound has R = L = 1:

    regret <= (1/K)(1 + √(2 d V₁ T ln(2TK/γ)))          the same for ℓ_1/ℓ_∞, ℓ_2/ℓ_2 and ℓ_∞/ℓ_1

Ten particles are played as a mixture; after a mistake each moves along lines that are exact in the Euclidean ball
around Θ, and stays where it was if that leads out of Θ, which leaves the law on Θ invariant. The running time is what
the norm costs: lines that lead out are made for nothing, the more the larger max ‖θ‖_2/‖θ‖.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from marginbandits.experiments.claims.claim import Claim, Finding, Parameters, Results, shown
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import BANDITRON, grows
from marginbandits.experiments.claims.judging import bounded
from marginbandits.experiments.claims.measuring import NOTHING, OPPOSITE, control, limits
from marginbandits.policies import proportional
from marginbandits.samplers import HingePotential, hit_and_run, uniform_ball
from marginbandits.surrogates import Hinge
from marginbandits.theory import Setting, exponential_weights_rate, hinge_ew_ideal
from marginbandits.types import Array

__all__ = ["CLAIM"]

MARGIN, PARTICLES, LINES = 0.5, 10, 6
PAIRS = {"ℓ_1 and ℓ_∞": (1.0, math.inf), "ℓ_2 and ℓ_2": (2.0, 2.0), "ℓ_∞ and ℓ_1": (math.inf, 1.0)}


def measure(pair: str, d: int, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run, its bound, and which share of lines stayed in Θ."""
    own, dual = PAIRS[pair]
    rng = np.random.default_rng([seed, d, T])
    around = 1.0 if own <= 2.0 else math.sqrt(d)

    def inside(points: Array) -> Array:
        return np.asarray(np.linalg.norm(points, own, axis=1) <= 1.0)

    contexts, labels = _world(own, dual, d, T, rng)
    setting = Setting(d, 2, T, MARGIN)
    eta, hinge = exponential_weights_rate(setting), Hinge(MARGIN)
    theta = _uniform(PARTICLES, d, around, inside, rng)
    rows, weights, regret, tried, kept = [], [], 0.0, 0, 0
    for x, label in zip(contexts, labels, strict=True):
        scores = theta @ x
        law = proportional(hinge(np.stack([scores, -scores], 1))).mean(0)
        regret += float(law[1 - label])
        action = int(rng.random() >= law[0])
        if broken == NOTHING or (action == label) == (broken != OPPOSITE):
            continue
        rows.append(x if action == 0 else -x)
        weights.append(eta / law[action])
        potential = HingePotential(np.array(rows), np.array(weights), MARGIN)
        for _ in range(LINES):
            moved = hit_and_run(potential, theta, rng, radius=around * (1.0 + 1e-9), n_steps=1)
            stays = inside(moved)
            theta = np.where(stays[:, None], moved, theta)
            tried, kept = tried + PARTICLES, kept + int(stays.sum())
    found = limits(lambda rounds: hinge_ew_ideal(Setting(d, 2, rounds, MARGIN)), T, 0.5 * T)
    return {"regret": regret, "kept": kept / max(tried, 1), **found}


def _world(own: float, dual: float, d: int, T: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Contexts of the dual ball that some θ* of the ball separates with the margin, and the better action of each."""
    star = rng.standard_normal(d)
    star /= np.linalg.norm(star, own)
    found: list[Array] = []
    while sum(map(len, found)) < T:
        x = rng.uniform(-1.0, 1.0, (4 * T, d))
        x /= np.maximum(np.linalg.norm(x, dual, axis=1, keepdims=True), 1e-9)
        found.append(x[np.abs(x @ star) >= MARGIN])
    contexts = np.concatenate(found)[:T]
    return contexts, np.asarray((contexts @ star < 0.0).astype(int))


def _uniform(n: int, d: int, around: float, inside: Callable[[Array], Array], rng: np.random.Generator) -> Array:
    points = np.empty((0, d))
    while len(points) < n:
        more = uniform_ball(64 * n, d, around, rng)
        points = np.concatenate([points, more[inside(more)]])
    return points[:n]


def units(quick: bool) -> list[Parameters]:
    """T by factors of four, in two and four dimensions."""
    horizons, seeds = ((1000, 4000, 16_000), 3) if quick else ((1000, 4000, 16_000, 64_000), 6)
    return [
        {"pair": pair, "d": d, "T": T, "seed": seed}
        for pair in PAIRS
        for d in (2, 4)
        for T in horizons
        for seed in range(seeds)
    ]


def _few(quick: bool) -> list[Parameters]:
    return [one for one in units(quick) if one["T"] < 16_000]


def judge(results: Results) -> Finding:
    """Each pair's regret against the one bound, and how it grows."""
    lines, charts = [], []
    for pair, mine in results.split("pair"):
        cells = {f"d = {d}": one for d, one in mine.split("d")}
        stated = "at most the bound of d, K, T and B/γ alone, whatever the norms"
        lines.append(bounded(f"Hinge-LMC's regret in the balls of {pair}", stated, cells))
        claim = f"It grows no faster than the bound in the balls of {pair}"
        lines.append(grows(claim, "√T with logarithms", cells, rival=BANDITRON))
    kept = {d: {pair: one.interval("kept") for pair, one in mine.split("pair")} for d, mine in results.split("d")}
    for d, mine in results.split("d"):
        charts.append(growth(f"Regret, d = {d}", dict(mine.split("pair")), over="T", floor=1.0))
    words = "; ".join(
        f"d = {d}: " + ", ".join(f"{shown(one, 2)} ({pair})" for pair, one in each.items()) for d, each in kept.items()
    )
    return Finding(lines, charts, [f"The share of lines that stay in Θ, which is what another norm costs: {words}."])


CLAIM = Claim(
    "norm-balls",
    "Hinge-LMC in balls of other norms",
    "Footnote to the comments after corollary 'realizable', section 3.1",
    "For linear classes in the ball of some norm and contexts bounded in the dual norm, the running time degrades with "
    "the ratio of the norms, and the regret bound is the same.",
    measure,
    units,
    judge,
    controls=(control(NOTHING, _few), control(OPPOSITE, _few)),
)
