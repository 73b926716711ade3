"""Lemmas of the proofs as numbers, on trees small enough for every path: each with a control that breaks it.

A tree of depth T has 2^(t-1) nodes at depth t; v_t(ε) is that reached by ε_1 … ε_{t-1}.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from marginbandits.projections import ball
from marginbandits.samplers import HingePotential
from marginbandits.types import Array

T = 6
PATHS: npt.NDArray[np.float64] = np.array(list(itertools.product([-1.0, 1.0], repeat=T)))


def along_paths(nodes: Array) -> Array:
    """Values of trees along all paths: trees x paths x T, from trees x nodes in breadth-first order."""
    out = np.empty((len(nodes), len(PATHS), T))
    for t in range(T):
        bits = (PATHS[:, :t] > 0).astype(int)
        place = (2**t - 1) + bits @ (2 ** np.arange(t)[::-1])
        out[:, :, t] = nodes[:, place]
    return out


def trees(kind: str, seed: int, scale: float) -> Array:
    """Random trees, or all sequences of signs, which do not look at the path and make the lemmas nearly tight."""
    if kind == "signs":
        return np.repeat(scale * PATHS[:, None, :], len(PATHS), 1)
    rng = np.random.default_rng(seed)
    return along_paths(scale * rng.uniform(-1, 1, (int(rng.integers(2, 40)), 2**T - 1)))


CASES = [("signs", 0), *(("random", seed) for seed in range(20))]


def offset_simple(v: Array, eta: float) -> float:
    return float((PATHS * v - eta * v**2).sum(2).max(0).mean())


@pytest.mark.parametrize("eta", [0.1, 0.5, 3.0])
def test_offset_process_of_finitely_many_trees(eta: float) -> None:
    """Lemma offset_finite_simple: at most ln|V|/(2η). The control: half of that is not enough for all signs."""
    for kind, seed in CASES:
        for scale in (0.2 / eta, 0.5 / eta, 2.0 / eta):
            v = trees(kind, seed, scale)
            assert offset_simple(v, eta) <= math.log(len(v)) / (2 * eta)
    v = trees("signs", 0, 0.5 / eta)
    assert offset_simple(v, eta) > math.log(len(v)) / (4 * eta)


def offset_ranged(v: Array, eta: float, alpha: float) -> float:
    return float((PATHS * (v - eta * v**2) - alpha * eta * v**2).sum(2).max(0).mean())


@pytest.mark.parametrize(("eta", "alpha"), [(0.1, 1.0), (0.5, 0.3), (3.0, 2.0)])
def test_offset_process_with_a_range(eta: float, alpha: float) -> None:
    """Lemma offset_finite_R: at most 2 ln|V| max(1/(αη), ηR²/α). The control: an eighth of it is not enough."""
    for kind, seed in CASES:
        for R in (0.2 / eta, 0.5 / (alpha * eta), 2.0 / eta):
            v = trees(kind, seed, R)
            bound = 2 * math.log(len(v)) * max(1 / (alpha * eta), eta * R**2 / alpha)
            assert offset_ranged(v, eta, alpha) <= bound
    R = min(0.5 / (alpha * eta), 1.0 / eta)
    v = trees("signs", 0, R)
    worst = offset_ranged(v, eta, alpha) / (2 * math.log(len(v)) * max(1 / (alpha * eta), eta * R**2 / alpha))
    assert worst > 1 / 8


Game = Callable[[int, int, int], Array]  # of w, z, z': a number for each g


def value(A: Game, B: Game, signed: bool, depth: int, laws: Array, so_far: Array) -> float:
    """<<sup_w sup_q E_{z, z' ~ q} (E_ε)>> sup_g Σ (ε) A_g + B_g, by recursion over laws q on a grid."""
    if depth == 0:
        return float(so_far.max())
    best = -math.inf
    for w, q in itertools.product(range(2), laws):
        total = 0.0
        for z, other in itertools.product(range(2), repeat=2):
            for sign in (-1.0, 1.0) if signed else (1.0,):
                moved = so_far + sign * A(w, z, other) + B(w, z, other)
                share = q[z] * q[other] * (0.5 if signed else 1.0)
                if share > 0.0:
                    total += share * value(A, B, signed, depth - 1, laws, moved)
        best = max(best, total)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_symmetrisation(seed: int) -> None:
    """Lemma symmetrize, T = 2, three g: even an equality. An A that is not antisymmetric, the control, breaks it."""
    rng = np.random.default_rng(seed)
    raw, even = rng.standard_normal((2, 2, 2, 2, 3))
    laws = np.array([[1.0, 0.0], [0.7, 0.3], [0.5, 0.5], [0.2, 0.8]])

    def odd(w: int, z: int, other: int) -> Array:
        return np.asarray(raw[w, z, other] - raw[w, other, z])

    def symmetric(w: int, z: int, other: int) -> Array:
        return np.asarray(even[w, z, other] + even[w, other, z])

    def broken(w: int, z: int, other: int) -> Array:
        return np.ones(3)

    start = np.zeros(3)
    plain, signed = (value(odd, symmetric, one, 2, laws, start) for one in (False, True))
    assert plain <= signed + 1e-9
    assert plain == pytest.approx(signed)
    plain, signed = (value(broken, symmetric, one, 2, laws, start) for one in (False, True))
    assert plain > signed + 0.5


def coupled(off: float, k: int, seed: int) -> tuple[float, float]:
    """Mean distance of two chains with the same noise after k steps, and kαε₂; `off`·ε₂ is added to one's gradient."""
    rng = np.random.default_rng(seed)
    F = HingePotential(features=ball(rng.standard_normal((4, 2)), 1.0), weights=rng.uniform(0.2, 1.0, 4), margin=0.5)
    R, lam, u, chains = 1.0, 0.1, 0.3, 100
    G = F.lipschitz
    alpha, accuracy = 0.5 / (G / u + lam), 0.4 * G
    m = math.ceil(16 * G**2 * math.log(4 * R / (alpha * accuracy)) / accuracy**2)
    exact = F.smoothed_gradient(u)
    one = np.zeros((chains, 2))
    two = one.copy()
    for _ in range(k):
        noise = math.sqrt(alpha) * rng.standard_normal(one.shape)
        z = u * rng.standard_normal((m, chains, 2))
        averaged = F.gradient((two + z).reshape(-1, 2)).reshape(m, chains, 2).mean(0) + off * accuracy
        one = ball(one - 0.5 * alpha * (exact(one) + lam * one) + noise, R)
        two = ball(two - 0.5 * alpha * (averaged + lam * two) + noise, R)
    return float(np.linalg.norm(one - two, axis=1).mean()), k * alpha * accuracy


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [3, 60])
def test_contraction_of_the_chains(k: int, seed: int) -> None:
    """Lemma lmc_contraction: W₁, which no coupling is below, is at most kαε₂."""
    distance, bound = coupled(0.0, k, seed)
    assert distance <= bound


@pytest.mark.parametrize("seed", range(3))
def test_a_gradient_that_is_wrong_by_more_leaves_the_lemma(seed: int) -> None:
    """The control; later on the ball itself keeps chains together."""
    distance, bound = coupled(4.0, 3, seed)
    assert distance > bound


GRADIENTS = ball(np.random.default_rng(0).standard_normal((8, 2)), 1.0)


def largest_flip(gradients: Array) -> float:
    """Of |W(ε) - W(ε, one sign flipped)| over |∇_i|/m, for W the length of the signed mean; all signs, all i."""
    m, lengths = len(gradients), np.linalg.norm(gradients, axis=1)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=m)))
    W = np.linalg.norm(signs @ gradients / m, axis=1)
    flipped = np.arange(len(signs))[:, None] ^ (1 << np.arange(m)[::-1])
    return float((np.abs(W[:, None] - W[flipped]) / (lengths / m)).max())


def test_a_flipped_sign_moves_the_mean_by_twice_its_gradient() -> None:
    """In the proof of lemma smoothing_concentration: at most 2|∇|/m, and parallel gradients need the 2 (E14)."""
    assert largest_flip(GRADIENTS) <= 2 + 1e-9
    parallel = largest_flip(np.tile([0.6, 0.8], (6, 1)))
    assert 1 + 1e-9 < parallel == pytest.approx(2)


def log_tail(m: int, x: float) -> float:
    """Of |mean - 1/2| >= (x + 2)/√m, exactly: at the kink of one round's hinge the slope is 0 or G = 1, evenly."""
    return float(stats.binom.logsf(math.ceil(m / 2 + (x + 2) * math.sqrt(m)) - 1, m, 0.5) + math.log(2))


@pytest.mark.parametrize("m", [100, 10_000, 1_000_000])
def test_concentration_of_averaged_gradients_exactly(m: int) -> None:
    """Lemma smoothing_concentration, ε₂ = xG/√m: the tail beyond ε₂ + 2G/√m is at most exp(-x²/8), as corrected."""
    for x in np.linspace(0.0, min(20.0, math.sqrt(m) / 2 - 2), 41):
        assert log_tail(m, x) <= -(x**2) / 8


@pytest.mark.parametrize("m", [10_000, 1_000_000])
def test_the_printed_concentration_is_exceeded(m: int) -> None:
    """The control: exp(-4x²), as printed, is less than the tail is."""
    assert log_tail(m, 8.0) > -4 * 8.0**2


def share_beyond(m: int, draws: int, seed: int) -> tuple[float, float]:
    """How often averages of `draws` gradients are off by more than ε₂ + 2G/√m, and the lemma's bound for m of them."""
    rng = np.random.default_rng(seed)
    F = HingePotential(features=ball(rng.standard_normal((4, 2)), 1.0), weights=rng.uniform(0.2, 1.0, 4), margin=0.5)
    u, x, runs = 0.3, 0.5, 400
    theta = ball(rng.standard_normal((1, 2)), 1.0)
    z = u * rng.standard_normal((runs * draws, 2))
    off = F.gradient(theta + z).reshape(runs, draws, 2).mean(1) - F.smoothed_gradient(u)(theta)
    return float((np.linalg.norm(off, axis=1) >= (x + 2) * F.lipschitz / math.sqrt(m)).mean()), math.exp(-(x**2) / 8)


@pytest.mark.parametrize("seed", range(3))
def test_concentration_of_the_samplers_own_gradients(seed: int) -> None:
    """Of the potential that is sampled. The control averages one draw where the bound is of 4,096."""
    found, bound = share_beyond(64, 64, seed)
    assert found <= bound
    assert share_beyond(4096, 1, seed)[0] > bound


def link(rng: np.random.Generator, scale: float, K: int = 3, mu: float = 0.02, margin: float = 0.5) -> Array:
    """Of one round of the leader's chain: |<ℓ̂, ψ(v) - ψ(w)>| at most, and its second moment, each over its bound.

    v and w are within `scale`·β of each other, ℓ = 1, and the action's law is at least μ.
    """
    beta = rng.uniform(0.01, 1.0)
    v = rng.uniform(-1, 1, K)
    w = v + scale * beta * rng.choice([-1.0, 1.0], K)
    gaps = np.abs(np.maximum(1 + v / margin, 0) - np.maximum(1 + w / margin, 0))
    law = (1 - K * mu) * rng.dirichlet(np.full(K, 0.02)) + mu
    return np.array(
        [(gaps / law).max() / (3 * beta / (mu * margin)), (gaps**2 / law).sum() / (9 * beta**2 * K / (mu * margin**2))]
    )


def test_links_of_the_leaders_chain() -> None:
    """In the proof of lemma ftl_chaining: ranges 3β/(μγ), second moments 9β²K/(μγ²), where neighbours are within 3β.

    The control: neighbours within 5β exceed both. Of the second moment K - 1 actions of probability μ attain (K - 1)/K.
    """
    near, far = (np.max([link(np.random.default_rng(seed), scale) for seed in range(500)], 0) for scale in (3.0, 5.0))
    assert (near <= 1.0 + 1e-9).all()
    assert (far > 1.0).all()
