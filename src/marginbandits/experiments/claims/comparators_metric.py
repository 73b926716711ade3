"""The systems that the paper compares with, on metric spaces and on labels: each under its own bound.

    contextual zooming     two actions whose means are 0.1-Lipschitz in x and 0.92 or more apart; to the best of each x
    hierarchical weights   contexts at both ends of a line and in its middle, where the other action is right: both are
                           in either half, so that a tree must go down to quarters; to the best 4-Lipschitz policy,
                           exactly, by the linear program over the twenty contexts there are
    weights on a cover     contexts at the ends of a line, or in the corners of a square, right action by end, or by
                           diagonal, the other one for 3√T rounds; to the best function of the cover by its policy
                           π_ramp; by its ramp, which a change costs more than it costs the learner, without one; and
                           without one to the best 1-Lipschitz policy there is, which loses nothing
    improper logistic      labels by a line through 0; mistakes, over the log loss of the best of the cover
    SOBA                   labels by a plane with a margin; mistakes over the η-hinge of one U; its second-order
                           bound, with the Σ gᵀA⁻¹g that was met, which is below the worst case

A bound is judged where it is below the regret of uniform play: in expectation, and in 95% of single runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from marginbandits.environments import Oblivious
from marginbandits.experiments.claims.claim import Claim, Finding, Line, Parameters, Results
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import bounded
from marginbandits.experiments.claims.measuring import NOTHING, OPPOSITE, control, limits, played
from marginbandits.experiments.simulate import Trace
from marginbandits.features import Identity
from marginbandits.learners import (
    ContextualZooming,
    ExponentialWeights,
    FullSOBA,
    HierExp4,
    ImproperLogistic,
    Learner,
)
from marginbandits.oracles.lipschitz_erm import LipschitzERM
from marginbandits.scores import Cells, Cube, lipschitz_cover
from marginbandits.theory import (
    Bound,
    Game,
    contextual_zooming,
    eta_hinge,
    hier_exp4,
    improper_logistic_finite,
    lipschitz_cover_bound,
    soba,
)
from marginbandits.types import Array

__all__ = ["CLAIM", "HALVES", "SYSTEMS", "System"]

Played = tuple[float, float, Callable[[int], Bound]]
"""Regret, that of uniform play, and the bound for any T."""


def _played(agent: Learner, contexts: Array, losses: Array, broken: str) -> Trace:
    return played(agent, Oblivious.of(contexts, losses), broken)


def _lost(trace: Trace, losses: Array) -> float:
    """In expectation by the laws, free of the noise of the actions."""
    return float((trace.laws * losses).sum())


def _zooming(rng: np.random.Generator, T: int, seed: int, broken: str) -> Played:
    x = rng.random((T, 1))
    means = np.hstack([0.02 + 0.02 * x, 0.98 - 0.02 * x])
    agent = ContextualZooming(2, space=Cube([0.0], [1.0], lipschitz=0.1), horizon=T, seed=seed)
    trace = _played(agent, x, (rng.random(means.shape) < means).astype(float), broken)

    def bound(T: int) -> Bound:
        """Balls of the worse action: one of each radius, as contexts are within 0.1 of each other; none below 1/14."""
        return contextual_zooming([1.0, 1.0, 1.0, 1.0], T, gap=0.96, least_gap=0.92)

    best = float(means[:, 0].sum())
    return _lost(trace, means) - best, float(means.mean(1).sum()) - best, bound


PLACES = np.concatenate([np.linspace(0.0, 0.02, 5), np.linspace(0.49, 0.51, 10), np.linspace(0.98, 1.0, 5)])
HALVES = "a tree that knows halves alone"


def _hierarchical(rng: np.random.Generator, T: int, seed: int, broken: str) -> Played:
    at = rng.integers(20, size=T)
    losses = np.where(np.abs(at[:, None] - 9.5) > 5.0, [0.0, 1.0], [1.0, 0.0])
    space, depth = Cube([0.0], [1.0], lipschitz=4.0), 1 if broken == HALVES else None
    agent = HierExp4(2, space=space, horizon=T, depth=depth, seed=seed)
    trace = _played(agent, PLACES[at, None], losses, broken)
    costs = np.zeros((20, 2))
    np.add.at(costs, at, losses)
    pairs = np.stack(np.triu_indices(20, 1), 1)
    best = LipschitzERM().minimise(costs, pairs, 4.0 * np.abs(np.diff(PLACES[pairs]))[:, 0]).value
    return _lost(trace, losses) - best, float(losses.mean(1).sum()) - best, partial(hier_exp4, 2, p=1, radius=2.0)


SIDE, CORNER = 2.25, 0.125
"""Of a box, and of its corners, where contexts are: they are 2 apart, so that scores -1 and 1 there are 1-Lipschitz."""


def _cover(
    rng: np.random.Generator,
    T: int,
    seed: int,
    broken: str,
    p: int,
    surrogate: str,
    early: float = 0.0,
    of_all: bool = False,
) -> Played:
    """Neighbouring corners have different right actions; `of_all` is regret over all functions, which is for no change.

    Over those of the cover the bound is without the cover's own term.
    """
    epsilon, space = (0.25, 0.75)[p - 1], Cube([0.0] * p, [SIDE] * p)
    far = rng.integers(2, size=(T, p))
    x = (SIDE - CORNER) * far + CORNER * rng.random((T, p))
    right = (far.sum(1) + (np.arange(T) < early * T**0.5)) % 2
    losses = (np.arange(2) != right[:, None]).astype(float)
    agent = ExponentialWeights.on_lipschitz_cover(
        space=space, epsilon=epsilon, horizon=T, surrogate=surrogate, seed=seed
    )
    trace = _played(agent, x, losses, broken)
    values = np.minimum(1.0 + lipschitz_cover(space, epsilon=epsilon), 1.0)
    if surrogate == "advice":
        values /= values.sum(1, keepdims=True)
    each = Cells(space, 0.5 * epsilon).start(p, rng).transform(x).T @ losses
    best = 0.0 if of_all else float(np.einsum("nac,ca->n", values, each).min())

    def bound(T: int) -> Bound:
        whole = lipschitz_cover_bound(len(values), epsilon, Game(2, T, 1.0), surrogate=surrogate)
        kept = {name: value for name, value in whole.terms.items() if of_all or name != "cover"}
        return replace(whole, terms=kept)

    return _lost(trace, losses) - best, 0.5 * T - best, bound


def _logistic(rng: np.random.Generator, T: int, seed: int, broken: str) -> Played:
    x = rng.standard_normal((T, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    labels = x[:, 0] > 0.0
    losses = (np.arange(2) != labels[:, None]).astype(float)
    agent = ImproperLogistic.from_theory(n_features=2, n_actions=2, horizon=T, radius=8.0, epsilon=0.5, seed=seed)
    trace = _played(agent, x, losses, broken)
    said = np.einsum("nad,td->tna", np.asarray(agent.predictors), x)
    each = np.logaddexp(said[:, :, 0], said[:, :, 1]) - np.take_along_axis(said, labels[:, None, None] * 1, 2)[:, :, 0]
    best = float(each.sum(0).min())
    return _lost(trace, losses) - best, 0.5 * T - best, partial(improper_logistic_finite, len(agent.predictors), 2)


def _soba(rng: np.random.Generator, T: int, seed: int, broken: str) -> Played:
    x = rng.standard_normal((4 * T, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x = x[np.abs(x[:, 0]) > 0.4][:T]  # about 0.6 of them
    labels = x[:, 0] > 0.0
    losses = (np.arange(2) != labels[:, None]).astype(float)
    U = np.array([[-1.25, 0.0, 0.0], [1.25, 0.0, 0.0]])
    norm, eta = float(np.linalg.norm(U)), 0.5
    worst = partial(soba, 6, 2, eta=eta, norm=norm)
    agent = FullSOBA(2, gamma=worst(T).parameters["gamma"], features=Identity(), seed=seed)
    trace = _played(agent, x, losses, broken)
    margins = (2.0 * labels - 1.0) * (x @ (U[1] - U[0]))
    best = float(eta_hinge(margins, eta).sum())

    def met(T: int) -> Bound:
        """At other T as if as much were met there."""
        return worst(T, gamma=worst(T).parameters["gamma"], quadratic=agent.quadratic)

    return _lost(trace, losses) - best, 0.5 * T - best, met


@dataclass(frozen=True, slots=True)
class System:
    """One of them: what is stated, how it is played, and at which horizons.

    The first has a hundred seeds; growth, over all three, is for a full run.
    """

    stated: str
    play: Callable[[np.random.Generator, int, int, str], Played]
    horizons: tuple[int, int, int]
    grows: bool = True  # whether its growth says anything: a cover's own term is linear in T


SYSTEMS: Mapping[str, System] = {
    "contextual zooming": System("Σ_r N_r (c² ln T/r² + 1) min(14 r, Δ)", _zooming, (30_000, 60_000, 240_000)),
    "hierarchical weights": System(
        "μKT + ½(β_M + e_M)T + Σ 2√(v_m ln n_m 2^{p(m+1)} T)", _hierarchical, (72_000, 80_000, 320_000)
    ),
    "ramp weights on a cover, p = 1": System(
        "K √(2T ln N)", partial(_cover, p=1, surrogate="ramp"), (1000, 8000, 32_000)
    ),
    "policy weights on a cover, p = 1": System(
        "√(2KT ln N)", partial(_cover, p=1, surrogate="advice", early=3.0), (1000, 8000, 32_000)
    ),
    "policy weights on a cover, p = 1, over all 1-Lipschitz policies": System(
        "√(2KT ln N) + εT", partial(_cover, p=1, surrogate="advice", of_all=True), (1000, 8000, 32_000), False
    ),
    "policy weights on a cover, p = 2": System(
        "√(2KT ln N)", partial(_cover, p=2, surrogate="advice", early=3.0), (1000, 8000, 64_000)
    ),
    "improper logistic": System("2 √(2KT ln N)", _logistic, (1000, 16_000, 64_000)),
    "SOBA": System("aη‖U‖²/(2-η) + Σ gᵀA⁻¹g/(η(2-η)) + γT", _soba, (2500, 10_000, 40_000)),
}


def measure(system: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """One run: its regret, and what its bound is compared with."""
    regret, uniform, bound = SYSTEMS[system].play(np.random.default_rng([seed, T]), T, seed, broken)
    return {"regret": regret, "at least 1": max(regret, 1.0), **limits(bound, T, uniform)}


def units(quick: bool) -> list[Parameters]:
    """A hundred seeds at the first horizon, five at the others; for a quick look three at the first."""
    return _planned(3 if quick else 100, 5, 1 if quick else 3)


def _few(quick: bool) -> list[Parameters]:
    return _planned(2, 2, 1 if quick else 2)


def _short(quick: bool) -> list[Parameters]:
    return [one for one in _few(quick) if one["T"] < 20_000]


def _halves(quick: bool) -> list[Parameters]:
    return [one for one in _few(quick) if one["system"] == "hierarchical weights"]


def _planned(first: int, others: int, horizons: int) -> list[Parameters]:
    return [
        {"system": system, "T": T, "seed": seed}
        for system, one in SYSTEMS.items()
        for at, T in enumerate(one.horizons[:horizons])
        for seed in range(others if at else first)
    ]


def judge(results: Results) -> Finding:
    """Of each system: regret under its bound, and its growth beside that of the bound."""
    systems = dict(results.split("system"))
    notes = [
        "Growth is compared with that of the bound at the same T, which for zooming on a problem with gaps is a "
        "logarithm and for a fixed cover a root: not with the exponent of the worst case over all problems. Regret "
        "below 1 counts as 1.",
        "Weights on a cover are measured against the best function of the cover, where no word is of others; against "
        "all Lipschitz functions the bound has KεT/γ (εT/γ for policies) more. That bites where ε is less than half of "
        "what there is to learn, which takes tens of thousands of functions on a line; in the plane they cannot be "
        "listed.",
    ]
    chart = growth("Regret over T, and bounds", systems, over="T", floor=1.0)
    return Finding([line for name, mine in systems.items() for line in _lines(name, mine)], [chart], notes)


def _lines(system: str, runs: Results) -> list[Line]:
    stated = f"at most {SYSTEMS[system].stated}, in expectation and in 95% of runs"
    held = bounded(f"Regret of {system}", stated, {"": runs}, share=0.95)
    if not SYSTEMS[system].grows or len(runs.each("T")) < 2:
        return [held]
    return [
        held,
        grows(f"Regret of {system}: growth with T", "no faster than its bound", {"": runs}, rival=1.0, of="at least 1"),
    ]


CLAIM = Claim(
    "comparators-metric",
    "The systems it compares with: metric spaces, and labels",
    "Section 1, related work; example 'lipschitz_cb', section 2; figure 1's square-loss curve",
    "Contextual zooming, hierarchical exponential weights, exponential weights on a Lipschitz cover, improper logistic "
    "regression and the second-order Banditron, each as its own paper has it, each under its own bound.",
    measure,
    units,
    judge,
    controls=tuple(
        control(broken, units, more_in_full=True)
        for broken, units in {NOTHING: _few, OPPOSITE: _short, HALVES: _halves}.items()
    ),
)
