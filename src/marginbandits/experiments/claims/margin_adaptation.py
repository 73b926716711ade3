"""Learning the margin: Hedge over pairs of a regressor and a margin, against the best fixed margin.

The paper remarks that its bound needs γ in advance and that learning it online appears challenging. For a finite class
and the ramp it is not: the variance bound K² does not depend on γ, so pairs cost only the logarithm of their number:

    K √(2T ln(NG)) - K √(2T ln N)      the price of G margins

For a finite class that is all there is to it, and little: the ramp falls with γ, so the smallest margin is the best.
The remark is about infinite classes, where a small margin costs complexity.
"""

from collections.abc import Mapping

import numpy as np

from marginbandits.evaluation import interval
from marginbandits.experiments.claims.claim import Claim, Dots, Finding, Line, Parameters, Results, Verdict, shown
from marginbandits.experiments.claims.finite import K, N, environment, linear_class, play
from marginbandits.experiments.claims.judging import bounded, under
from marginbandits.experiments.claims.measuring import NOTHING, control
from marginbandits.experiments.marks import Mark
from marginbandits.learners import ExponentialWeights
from marginbandits.theory import Game, exponential_weights

__all__ = ["CLAIM"]

MARGINS = [0.02, 0.1, 0.5, 2.0]


def measure(world: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Loss with each margin given, with the margin learnt, and the learnt one's regret against its bound."""
    weights, stage = linear_class(seed), environment(world, T, seed)
    found = {}
    for margin in MARGINS:
        alone = ExponentialWeights(K, regressors=weights, surrogate="ramp", margin=margin, horizon=T, seed=seed)
        found[f"γ = {margin}"] = play(alone, weights, stage, [margin])["loss"]
    agent = ExponentialWeights(K, regressors=weights, surrogate="ramp", margins=MARGINS, horizon=T, seed=seed)
    price = exponential_weights(N, Game(K, T, 1.0), n_margins=len(MARGINS)).value
    return {
        **found,
        **play(agent, weights, stage, MARGINS, broken),
        "price": price - exponential_weights(N, Game(K, T, 1.0)).value,
    }


def units(quick: bool) -> list[Parameters]:
    """Both oblivious worlds."""
    T, seeds = 2000, 12 if quick else 30
    return [{"world": w, "T": T, "seed": s} for w in ("stochastic", "switching") for s in range(seeds)]


def _few(quick: bool) -> list[Parameters]:
    return [one for one in units(quick) if one["seed"] < 3]


def judge(results: Results) -> Finding:
    """The gap to the fixed margin that is best on average, against the price."""
    lines, charts = [], []
    names = [f"γ = {margin}" for margin in MARGINS]
    for world, mine in results.split("world"):
        best = names[int(np.argmin([mine.values(name).mean() for name in names]))]
        gap, price = interval(mine.values("loss") - mine.values(best)), float(mine.values("price")[0])
        T = mine.each("T")[0]
        lines.append(
            Line(
                f"The margin can be learnt ({world})",
                f"within {price:.1f} of the best fixed margin, T = {T:,} (not in the paper)",
                f"loses {shown(gap, 1)} more than {best}, the best of {len(names)} in hindsight; price/T "
                f"{price / T:.3f}, where the worst of them loses {_worst(mine, names, best):.2f} T more",
                under(gap, price) if price < T * _worst(mine, names, best) else Verdict.IDLE,
                1,
            )
        )
        claim = f"Regret against the best pair of regressor and margin ({world})"
        lines.append(bounded(claim, "at most K √(2T ln(NG)) in expectation", {"": mine}, 1))
        rows = [(name, interval(mine.values(name)), Mark.of(0)) for name in names]
        rows.append(("learnt", interval(mine.values("loss")), Mark.of(1)))
        charts.append(Dots(f"Loss of {T:,} rounds, {world}", rows, "mean, with its 95% interval"))
    note = (
        "For a finite class the smallest margin has the least ramp loss, so that there is little to learn: what is "
        "tested is the price of not knowing it. The paper's remark concerns infinite classes."
    )
    return Finding(lines, charts, [note])


def _worst(mine: Results, names: list[str], best: str) -> float:
    """How much more the worst of the margins loses than the best, a round."""
    return max(float((mine.values(name) - mine.values(best)).mean()) for name in names) / float(mine.each("T")[0])


CLAIM = Claim(
    "margin-adaptation",
    "Learning the margin online",
    "Second remark after Proposition 'entropy_growth', section 2",
    "The paper remarks that 'learning the best value of γ online appears challenging'. For a finite class and the ramp "
    "surrogate it is not: Hedge over pairs of a regressor and a margin learns it for the price of a logarithm.",
    measure,
    units,
    judge,
    controls=(control(NOTHING, _few),),
)
