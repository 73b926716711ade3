"""Lipschitz follow-the-leader: regret of order (KT)^{p/(p+1)}, where binning has T^{(p+1)/(p+2)}.

Two actions in the unit cube under the largest-coordinate metric times 4. Left of x_1 = 1/4 the first is better by 0.4,
right of 3/4 the second, and in between they are alike: there a 1-Lipschitz policy has room to turn, so the best of them
is the best of all, and binning is counted against the same. Every horizon has its own run with its own tuning.

    "leader"      the paper's, μ from the proof; for p < 2 that is erratum E17's correction
    "uncoupled"   independent cells, the best action of each, at their own radius: cells of radius β that are played by
                  μ = β lose μKT + βT, and T √(β^-p/(μT)) by following noise, which T^{-1/(p+3)} balances; the leader's
                  cells are smaller, as its constraints average neighbours
    "binning"     upper confidence in independent cells of radius T^{-1/(p+2)}, as its theory has it
    "practical"   `LipschitzFTL` with its defaults
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from marginbandits.evaluation import interval
from marginbandits.experiments.claims.claim import (
    Claim,
    Control,
    Finding,
    Line,
    Parameters,
    Results,
    shown,
    slopes,
)
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import apart
from marginbandits.experiments.claims.measuring import NOTHING, played, with_broken
from marginbandits.experiments.claims.rounds import on_the_cube, regret_of, two_sided
from marginbandits.learners import Learner, LipschitzFTL
from marginbandits.oracles.lipschitz_erm import LipschitzERM, LipschitzFit
from marginbandits.scores import Cube
from marginbandits.theory import Game, lipschitz_ftl, lipschitz_references

__all__ = ["CLAIM", "Uncoupled"]

GAP = 0.4
DEAF = "told nothing, but for binning"
NAMES = {
    "leader": "Lipschitz leader",
    "uncoupled": "leader of independent cells",
    "binning": "binning",
    "practical": "practical LipschitzFTL",
}


def measure(learner: str, p: int, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run."""
    env, means = two_sided(p, T, seed, GAP)
    agent = _uncoupled(p, T, seed) if learner == "uncoupled" else on_the_cube(learner, p, T, seed)
    laws = played(agent, env, NOTHING if broken == DEAF and learner != "binning" else "").laws
    return {"regret": regret_of(laws, means)}


class Uncoupled(LipschitzERM):
    """Every cell by itself."""

    def minimise(self, costs: Any, pairs: Any, distances: Any) -> LipschitzFit:
        """Without pairs."""
        return super().minimise(costs, np.zeros((0, 2), np.int64), np.zeros(0))


def _uncoupled(p: int, T: int, seed: int) -> Learner:
    """The net of dimension p + 2 has the radius (C/(KT))^{1/(p+3)}."""
    space = Cube([0.0] * p, [1.0] * p, lipschitz=4.0)
    return LipschitzFTL.from_theory(space=space, n_actions=2, horizon=T, p=p + 2.0, oracle=Uncoupled(), seed=seed)


def units(quick: bool) -> list[Parameters]:
    """T over a factor of 32, for p = 1, 2, 3; the grid of p = 3 makes its programs slow, so that it ends earlier."""
    far = {1: (256, 1024, 4096), 2: (256, 1024, 4096)} if quick else {1: _FAR, 2: _FAR, 3: _NEARER}
    return [
        {"learner": learner, "p": p, "T": T, "seed": seed}
        for p, horizons in far.items()
        for T in horizons
        for learner in NAMES
        for seed in range(3 if quick else 4 if p == 3 else 6)
    ]


def _untold(quick: bool) -> list[Parameters]:
    """In all dimensions of a full run."""
    runs = [
        {"learner": learner, "p": p, "T": T, "seed": seed}
        for p, most, seeds in ((1, 2048, 3), (2, 2048, 6), (3, 1024, 3))
        for T in (256, most)
        for learner in NAMES
        for seed in range(seeds)
    ]
    return with_broken(runs, DEAF)


_FAR, _NEARER = (1024, 4096, 16_384, 32_768), (512, 2048, 8192)


def judge(results: Results) -> Finding:
    """Slopes, each against its exponent, and the paper's against binning's."""
    lines, charts = [], []
    for p, mine in results.split("p"):
        each = {name: slopes(one, "T", "regret") for name, one in mine.split("learner")}
        exponents = {name: interval(one) for name, one in each.items()}
        exponent = lipschitz_ftl(float(p), Game(2, 100, 1.0)).parameters["exponent"]
        square, alone = lipschitz_references(float(p))["binning"], (p + 2.0) / (p + 3.0)
        lines.append(
            grows(
                f"Lipschitz follow-the-leader, p = {p}: growth with T",
                f"at most T^{exponent:.3f}, up to logarithms" + (" (E17: printed T^0.5)" if p == 1 else ""),
                {"": mine.where(learner="leader")},
                rival=1.0 if p == 1 else square,
                against=exponent,
                where="on a law without jumps and with a gap of 1 in claim `figure-1-learners`",
            )
        )
        others = {
            "binning": ("it grows slower than binning", f"T^{square:.3f}", square - exponent),
            "uncoupled": (
                "it needs the Lipschitz constraints",
                f"T^{alone:.3f} of independent cells at their own radius",
                alone - exponent,
            ),
        }
        for name, (claim, stated, by) in others.items():
            if name == "binning" and p < 2:
                continue  # both are T^{2/3}
            less = interval(each[name] - each["leader"])
            lines.append(
                Line(
                    f"{claim}, p = {p}",
                    f"T^{exponent:.3f} against {stated}",
                    f"exponent {exponents[name].mean:.2f}, larger by {shown(less, 2)} on the same data",
                    apart(less, by),
                    1,
                )
            )
        groups = {NAMES[name]: one for name, one in mine.split("learner")}
        charts.append(
            growth(
                f"Regret over T, p = {p}", groups, over="T", bound=None, label="regret to the best 1-Lipschitz policy"
            )
        )
    notes = [
        "On this problem independent cells can do well: the gap is wide, cells of binning's radius lie on one side of "
        "it, and upper confidence explores only as long as it must, where the paper's learner explores μ for ever. "
        "The theorem's advantage is for the worst law, and for T beyond these.",
        "The paper prints μ = (KT)^{-1/(p+1)} for every p; its proof needs p >= 2 (E17). It states an order without "
        "constants, so there is a rate to compare with and no bound. The rival is binning's exponent; at p = 1 both "
        "have T^{2/3}, and the rival is linear growth.",
    ]
    return Finding(lines, charts, notes)


CLAIM = Claim(
    "lipschitz",
    "Lipschitz policies, and binning",
    "Theorem of the appendix on Lipschitz contextual bandits",
    "Follow the leader over all 1-Lipschitz policies on a space of dimension p, in epochs that double, has regret "
    "(KT)^{p/(p+1)} if rounds are drawn independently from one law; independent cells have T^{(p+1)/(p+2)}.",
    measure,
    units,
    judge,
    errata=(17, 25),
    controls=(Control(DEAF, _untold),),
)
