"""Hierarchical exponential weights by chaining: the levels of the tree, their rates, and what it costs in all.

1-Lipschitz policies g: X → Δ(K) on a box of radius β_0 in p dimensions, halved M times: level m has 2^{pm} cells of
radius β_m = β_0 2^-m, and values with coordinates in multiples of 1/q_m, q_m = ⌈2K/β_m⌉, so that some value is within
e_m = K/(2q_m) of g at the cell's centre in ℓ_1. Then its values at neighbouring levels differ by at most reach_m, and
predictions under one node by at most twice tail_m:

    reach_m = e_m + e_{m+1} + β_m/2        tail_m = min(1, Σ_{k >= m} reach_k)

Every cell and value has a Hedge over the values within reach one level down. With ℓ̂ = ℓ(a) e_a/p(a), p >= μ:

    regret <= μKT + ½(β_M + e_M) T                 exploration, and what the leaves miss
            + 2 √(K/(1 - Kμ) ln n T)               the root, over all n values of level 0
            + Σ_{m<M} 2 √(v_m ln n_m 2^{p(m+1)} T)      n_m values within reach
    v_m = tail_m² ((K - 1)/μ + 1/(1 - (K - 1)μ))

The derivation, which is reconstructed; `tests/test_hier_exp4.py` checks each step as numbers, with controls:

1. Play (1 - Kμ)P + μ, P the root's prediction, loses at most μK more than P a round.
2. v_0, …, v_M, the values nearest to g at the centres of the context's cells c_0, …, c_M, are a path of the tree, and
   its leaf loses at most ½(β_M + e_M) more than g.
3. ℓ̂ is unbiased, and with P_m the prediction of the path's node (c_{m+1}, v_m), P_M = v_M, what the root pays over the
   leaf is <P - P_0, ℓ̂> + Σ_{m<M} <P_m - P_{m+1}, ℓ̂>, the regrets of the path's nodes, of which every cell has one.
4. A Hedge with charges c >= 0 and rates that fall, η_s = √(ln n/(v s)) at its s-th round, pays at most
   ln n/η_S + Σ η_s/2 Σ q c² over S rounds, which is 2 √(v S ln n) in expectation where E Σ q c² <= v.
5. Charges are differences, c = <P' - min P', ℓ̂> <= tail_m ℓ(a)/p(a) for the predictions P' of a node's children, whose
   second moment is at most tail_m² Σ 1/p(a) <= v_m. At the root Σ q P'(a)² <= P(a) gives K/(1 - Kμ) instead.
6. Cells of a level share T rounds: Σ √S_c <= √(2^{p(m+1)} T), by Cauchy-Schwarz.

In T that is T^{p/(p+1)} for p > 2 and T^{2/3} for p <= 2, up to a logarithm at p = 2. With every loss told
(`feedback="full"`) there is no μ, and charges are at most tail_m: T^{(p-1)/p} for p > 2, √T below.

Cesa-Bianchi, Gaillard, Gentile & Gerchinovitz (2017) chain over real actions with losses Lipschitz in them, for which
T^{(p+1)/(p+2)} is cited with one-point feedback; here actions are finite and loss is linear in the policy, and the
levels, their widths and all constants above are derived for that.

>>> bound = hier_exp4(2, 100_000, p=1, radius=0.5)
>>> round(bound.per_round, 2), bound.parameters["depth"]
(0.22, 2.0)
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from marginbandits.theory.record import Bound
from marginbandits.theory.setting import Actions
from marginbandits.types import Array
from marginbandits.validation import Choice, Count, Horizon, Instance, Integer, OneOf, Positive, Real, validated

__all__ = ["Level", "chain_levels", "hier_exp4", "largest_moment", "lattice", "log_near", "root_moment"]

FLOORS = tuple(2.0**-k for k in np.arange(1.0, 14.0, 0.25))
"""Kμ is one of these."""

Depth = Annotated[int, Integer(0, 30)]


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the tree: radius of its cells, q, and how far the next level's values may be from its own."""

    radius: float
    fineness: int
    error: float
    reach: float  # 0 at the last
    tail: float


@validated
def chain_levels(n_actions: Actions, radius: Positive, depth: Depth) -> list[Level]:
    """Levels 0 … M for a box of this radius, M = `depth`."""
    radii = [radius * 0.5**m for m in range(depth + 1)]
    q = [max(1, math.ceil(2.0 * n_actions / min(beta, 2.0))) for beta in radii]
    e = [0.5 * n_actions / one for one in q]
    reach = [e[m] + e[m + 1] + 0.5 * radii[m] for m in range(depth)] + [0.0]
    tails = np.cumsum(reach[::-1])[::-1]
    return [Level(radii[m], q[m], e[m], reach[m], min(1.0, float(tails[m]))) for m in range(depth + 1)]


@validated
def lattice(n_actions: Actions, fineness: Count) -> Array:
    """Every distribution over K actions with probabilities in multiples of 1/q."""
    rows = np.zeros((1, 0), np.int64)
    for _ in range(n_actions - 1):
        left = fineness - rows.sum(1)
        at = np.repeat(np.arange(len(rows)), left + 1)
        more = np.concatenate([np.arange(n + 1) for n in left.tolist()])
        rows = np.column_stack([rows[at], more])
    return np.asarray(np.column_stack([rows, fineness - rows.sum(1)]) / fineness)


@validated
def hier_exp4(
    n_actions: Actions,
    horizon: Horizon,
    *,
    p: Count,
    radius: Positive,
    depth: Annotated[int | None, OneOf(Integer(0, 30), Instance(type(None)))] = None,
    mu: Annotated[float | None, OneOf(Real(1e-9, 0.5), Instance(type(None)))] = None,
    feedback: Annotated[str, Choice("one point", "full")] = "one point",
    deepest: Depth = 8,
) -> Bound:
    """Policy regret against all 1-Lipschitz g: X → Δ(K); depth and μ are the best of a table if they are not given."""
    K, full = n_actions, feedback == "full"
    floors = [0.0] if full else [one / K for one in FLOORS] if mu is None else [mu]
    depths = range(deepest + 1) if depth is None else [depth]
    if not full and K * floors[0] >= 1.0 + 1e-12:
        raise ValueError(f"mu must be at most 1/K = {1 / K:g}, got {mu}")
    each = [_paid(K, horizon, p, chain_levels(K, radius, one), floor, full) for one in depths for floor in floors]
    terms, chosen, floor = min(each, key=lambda one: math.fsum(one[0].values()))
    return Bound(
        f"hierarchical weights, {feedback}",
        terms,
        horizon,
        {"mu": floor, "depth": float(chosen), "exponent": _exponent(p, full)},
        benchmark="inf over 1-Lipschitz policies",
        reference="Cesa-Bianchi et al. (2017), chaining; levels and constants derived here",
        attained_by="" if full else "HierExp4, any losses fixed beforehand",
    )


def _paid(K: int, T: int, p: int, levels: list[Level], mu: float, full: bool) -> tuple[dict[str, float], int, float]:
    depth, last = len(levels) - 1, levels[-1]
    spread = 1.0 if full else largest_moment(K, mu)
    root = (1.0 if full else root_moment(K, mu)) * math.log(_size(K, levels[0].fineness))
    chained = 0.0
    for m in range(depth):
        moment = levels[m].tail ** 2 * spread
        chained += 2.0 * math.sqrt(moment * log_near(K, levels[m], levels[m + 1]) * 2.0 ** (p * (m + 1)) * T)
    terms = {
        "exploration": mu * K * T,
        "leaves": 0.5 * (last.radius + last.error) * T,
        "root": 2.0 * math.sqrt(root * T),
        "chain": chained,
    }
    return terms, depth, mu


def _size(K: int, q: int) -> float:
    return float(math.comb(q + K - 1, K - 1))


def largest_moment(K: int, mu: float) -> float:
    """Σ_a 1/p(a) at most, for p >= μ."""
    return (K - 1.0) / mu + 1.0 / (1.0 - (K - 1.0) * mu)


def root_moment(K: int, mu: float) -> float:
    """E Σ_n q_n <v_n, ℓ̂>² at most, where Σ_n q_n v_n is what is smoothed and played."""
    return min(K / max(1.0 - K * mu, 1e-9), largest_moment(K, mu))


def log_near(K: int, here: Level, below: Level) -> float:
    """Ln n_m: at most all values, and at most those of a box as wide as the reach in K - 1 coordinates.

    Its middle, a value of the level above, need not be among them: an interval of length r has at most ⌊rq⌋ + 1
    multiples of 1/q.
    """
    steps = math.floor(here.reach * below.fineness + 1e-6) + 1.0
    return math.log(max(2.0, min(_size(K, below.fineness), steps ** (K - 1))))


def _exponent(p: int, full: bool) -> float:
    return max(0.5, (p - 1.0) / p) if full else max(2.0 / 3.0, p / (p + 1.0))
