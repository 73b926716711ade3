"""Lemma "calibration": losses of the surrogates' policies are bounded by the surrogates, and nothing smaller would do.

    <π_ramp, ℓ> <= <φ, ℓ> <= Σ_a ℓ(a) 1{s_a >= -γ}        <π_hinge, ℓ> <= <ψ, ℓ>/K        ℓ(argmax s) <= <ℓ, θ>

for scores s that sum to zero and losses ℓ >= 0. Ratios of the left to the right side are maximised over random scores
and losses, and over scores at which they are known to be tight. Controls: signed losses, and scores that do not sum to
zero.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from marginbandits import policies
from marginbandits.experiments.claims.claim import Chart, Claim, Finding, Line, Parameters, Results, verdict
from marginbandits.experiments.claims.measuring import control
from marginbandits.experiments.marks import PALETTE
from marginbandits.experiments.svg import Axis
from marginbandits.experiments.svg import Line as Curve
from marginbandits.surrogates import Hinge, Ramp, RelativeMargin, centred, realizable_scores
from marginbandits.types import Array

__all__ = ["CLAIM"]

MARGIN = 0.5
MOST = 1e6
SIGNED, LOW = "losses between -1/2 and 1/2", "scores lowered by 3"
RATIOS = {
    "ramp": ("The ramp bounds its policy", "<π_ramp, ℓ> <= <φ, ℓ>"),
    "margin": ("The margin loss bounds the ramp", "<φ, ℓ> <= Σ ℓ(a) 1{s_a >= -γ}"),
    "hinge": ("The hinge bounds its policy, K times over", "<π_hinge, ℓ> <= <ψ, ℓ>/K"),
    "relative": ("The relative margin bounds the best-scored action", "ℓ(argmax s) <= <ℓ, θ>"),
    "order": ("θ <= φ <= ψ in every coordinate", "θ <= φ <= ψ"),
}


def measure(K: int, n: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """The largest left/right over n cases each of random and of extreme scores."""
    rng = np.random.default_rng([seed, K])
    losses = rng.random((n, K)) ** rng.choice([0.1, 1.0, 10.0], (n, 1))
    spread = MARGIN * 10.0 ** rng.uniform(-2, 2, (n, 1))
    scores = np.concatenate([centred(spread * rng.standard_normal((n, K))), realizable_scores(losses, MARGIN)])
    losses = np.concatenate([losses, losses])
    if broken:
        scores, losses = (scores, losses - 0.5) if broken == SIGNED else (scores - 3.0, losses)
    return {name: _largest(left, right) for name, left, right in _sides(scores, losses)}


def _largest(left: Array, right: Array) -> float:
    """left/right; where the right side is not positive, 0 if the left is no larger, else as much as is ever said."""
    ratio = np.where(left <= right, 0.0, MOST)
    np.divide(left, right, out=ratio, where=right > 0.0)
    return float(min(ratio.max(), MOST))


def _sides(scores: Array, losses: Array) -> Iterator[tuple[str, Array, Array]]:
    ramp, hinge, relative = (one(MARGIN)(scores) for one in (Ramp, Hinge, RelativeMargin))

    def dot(values: Array) -> Array:
        return np.asarray((values * losses).sum(1))

    yield "ramp", dot(policies.proportional(ramp)), dot(ramp)
    yield "margin", dot(ramp), dot(np.asarray(scores >= -MARGIN, float))  # `margin_loss` takes no signed losses
    yield "hinge", dot(policies.proportional(hinge)), dot(hinge) / scores.shape[1]
    yield "relative", losses[np.arange(len(losses)), scores.argmax(1)], dot(relative)
    yield "order", np.concatenate([relative, ramp]), np.concatenate([ramp, hinge])


def units(quick: bool) -> list[Parameters]:
    """More cases in full."""
    n = 20_000 if quick else 400_000
    return [{"K": K, "n": n, "seed": 0} for K in (2, 3, 5, 10, 20)]


def judge(results: Results) -> Finding:
    """At most 1, and 1 attained."""
    cases = 2 * sum(results.each("n")) * len(results)
    lines = []
    for name, (claim, stated) in RATIOS.items():
        largest = float(results.values(name).max())
        least = float(results.values(name).min())
        lines.append(
            Line(
                claim,
                stated,
                f"largest left/right {largest:.6f} in {cases:,} cases; attained for every K: "
                f"{'yes' if least > 1 - 1e-6 else f'no, {least:.3f}'}",
                verdict(largest <= 1.0 + 1e-9),
            )
        )
    s = np.linspace(-1.5, 1.5, 301)
    drawn = [
        Curve("ramp φ(s)", s, Ramp(MARGIN)(s), PALETTE[0]),
        Curve("hinge ψ(s)", s, Hinge(MARGIN)(s), PALETTE[1]),
        Curve("1{s >= -γ}", s, (s >= -MARGIN).astype(float), "#1d232b", dashed=True),
        Curve("1{s >= 0}", s, (s >= 0.0).astype(float), "#6b7280", dashed=True),
    ]
    across = Axis(-1.5, 1.5, [(mark, f"{mark:g}") for mark in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)], label="score s")
    return Finding(
        lines,
        [Chart("The surrogates at γ = 1/2", drawn, across, Axis.of([0.0, 4.0], "value"), drawn)],
        ["Of two scores s/2 and -s/2 the relative margin θ is the ramp of s where s < 0, and 1 elsewhere."],
    )


CLAIM = Claim(
    "calibration",
    "The surrogates bound what their policies lose",
    "Lemma 'calibration' and its footnote, section 1.1",
    "Playing in proportion to ramp or hinge values loses no more than the surrogate says, for any scores that sum to "
    "zero and any losses that are not negative.",
    measure,
    units,
    judge,
    controls=(control(SIGNED, units), control(LOW, units)),
)
