"""The proof of theorem "chaining_v2" on small trees, step by step, in the form that errata E27 to E29 leave it.

All paths of trees of depth T are gone through. Node n has the children 2n + 1, after a minus, and 2n + 2. A class is
what its functions say at the nodes of x. Covers are sequential: one element serves several functions on their paths.
"""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize

from marginbandits.types import Array

T, K = 5, 2
SIGNS: npt.NDArray[np.int64] = np.array(list(itertools.product([-1, 1], repeat=T)))
NODES = np.array(
    [[2**t - 1 + int(((path[:t] + 1) // 2) @ 2 ** np.arange(t)[::-1]) for t in range(T)] for path in SIGNS]
)


def cover(values: Array, scale: float) -> Array:
    """Trees that hold, for every function and path, one within `scale` on all of the path: V x nodes x K."""

    def grown(members: npt.NDArray[np.int64], node: int) -> list[dict[int, Array]]:
        cells = np.floor(values[members, node] / (2 * scale))
        found: list[dict[int, Array]] = []
        for cell in np.unique(cells, axis=0):
            here = {node: np.clip((cell + 0.5) * 2 * scale, 0.0, 1.0)}
            group = members[(cells == cell).all(1)]
            if 2 * node + 2 >= values.shape[1]:
                found.append(here)
                continue
            left, right = grown(group, 2 * node + 1), grown(group, 2 * node + 2)
            most = range(max(len(left), len(right)))  # a path takes one side: two elements share a tree
            found += [{**here, **left[min(i, len(left) - 1)], **right[min(i, len(right) - 1)]} for i in most]
        return found

    trees = grown(np.arange(len(values)), 0)
    return np.array([[tree[node] for node in range(values.shape[1])] for tree in trees])


def nearest(values: Array, trees: Array, scale: float) -> npt.NDArray[np.int64]:
    """v[ε, g]: for each function and path the first tree within `scale` of it throughout."""
    apart = np.abs(values[:, None, NODES] - trees[None][:, :, NODES]).max((-1, -2))  # functions, trees, paths
    assert (apart.min(1) <= scale + 1e-9).all()
    return np.asarray((apart <= scale + 1e-9).argmax(1))


class Played:
    """A class and losses on a tree, the covers of the proof, and its quantities; N is the repaired one."""

    def __init__(self, seed: int, eta: float, alpha: float, beta: float) -> None:
        rng = np.random.default_rng(seed)
        points = rng.integers(4, size=2**T - 1)
        self.g = np.clip(rng.beta(0.5, 0.5, (40, 4, K)) ** 0.5, 0.0, 1.0)[:, points]
        self.losses = rng.dirichlet(np.full(K, 0.5), 2**T - 1) * rng.uniform(0.3, 1.0, (2**T - 1, 1))
        self.eta, self.alpha, self.beta = eta, alpha, beta
        N = max(math.floor(math.log(beta / alpha)), 1)
        self.scales = [beta * math.exp(-i) for i in range(N)]
        coarse = np.maximum(cover(self.g, beta / 2) - beta / 2, 0.0)
        self.covers = [coarse, *(cover(self.g, scale) for scale in self.scales[1:])]
        below = (coarse[None][:, :, NODES] <= self.g[:, None, NODES] + 1e-9).all((-1, -2))
        close = np.abs(coarse[None][:, :, NODES] - self.g[:, None, NODES]).max((-1, -2)) <= beta + 1e-9
        assert (below & close).any(1).all(), "a tree below g, and within beta of it"
        finer = zip(self.covers[1:], self.scales[1:], strict=True)
        self.near = [(below & close).argmax(1), *(nearest(self.g, trees, scale) for trees, scale in finer)]
        self.sizes = np.abs(self.losses).sum(1)[NODES]

    def inner(self, trees: Array) -> Array:
        """<v_t(ε), ℓ_t(ε)>: trees, paths, T."""
        return np.asarray((trees * self.losses).sum(-1)[:, NODES])

    def shrunk(self, x: Array) -> Array:
        """H."""
        return np.asarray(x - self.eta * x**2)

    def process(self) -> float:
        """E sup_g Σ ε H(<g, ℓ>) - η <g, ℓ>²."""
        x = self.inner(self.g)
        return float((SIGNS * self.shrunk(x) - self.eta * x**2).sum(-1).max(0).mean())

    def star(self) -> float:
        x = self.inner(self.covers[0])
        return float((SIGNS * self.shrunk(x) - self.eta * x**2).sum(-1).max(0).mean())

    def along(self, i: int) -> Array:
        """H(<v^i[ε, g], ℓ>): functions, paths, T."""
        x = self.shrunk(self.inner(self.covers[i]))
        return np.asarray(x[self.near[i], np.arange(len(SIGNS))])

    def links(self) -> list[float]:
        """C_1, …, C_{N-1}, and C_N."""
        chain = [*(self.along(i) for i in range(len(self.covers))), self.shrunk(self.inner(self.g))]
        return [float((SIGNS * (b - a)).sum(-1).max(0).mean()) for a, b in itertools.pairwise(chain)]

    def entropies(self) -> list[float]:
        return [math.log(len(one)) for one in self.covers]


CASES = [(seed, eta, beta) for seed in range(4) for eta, beta in ((0.2, 0.9), (0.6, 0.5), (1.0, 0.9))]


@pytest.mark.parametrize(("seed", "eta", "beta"), CASES)
def test_every_step_of_the_chain(seed: int, eta: float, beta: float) -> None:
    """(⋆), C_i and C_N as bounded, and the whole for losses on fixed trees with the theorem's constants."""
    one = Played(seed, eta, 0.04, beta)
    H, squares, total = one.entropies(), float((one.sizes**2).sum(1).mean()), float(one.sizes.sum(1).mean())
    *links, last = one.links()
    assert one.star() <= 2.0 * H[0] / eta  # the lemma's maximum: 1/η at η <= 1
    assert one.process() <= one.star() + sum(links) + last + 1e-9
    assert last <= math.e**2 * one.alpha * total
    for i, link in enumerate(links):
        assert link <= math.sqrt(2.0 * 4.0 * one.scales[i] ** 2 * squares * (H[i] + H[i + 1]))
    assert one.scales[-1] <= math.e**2 * one.alpha
    assert one.scales[-1] / math.e >= one.alpha * (1 - 1e-9) or len(one.scales) == 1
    integral = sum(e * math.sqrt(h) for e, h in zip(one.scales, H, strict=True))  # at most 2 ∫ √H
    lam = 2.0 / math.sqrt(squares)
    paid = 3.0 * math.e**2 * one.alpha * total + 12.0 * math.e * (lam / 4.0 * squares + 1.0 / lam) * integral
    assert 2.0 * one.process() <= 4.0 / eta * H[0] + paid


def test_the_chain_is_not_idle() -> None:
    """What is split has something to split, at several scales; and covers are smaller than the class."""
    one = Played(0, 0.2, 0.04, 0.9)
    assert len(one.scales) == 3
    assert one.process() > 0.0
    assert all(link > 0.0 for link in one.links())
    assert 1 < len(one.covers[0]) < len(one.g)


def test_symmetrisation_doubles_what_is_chained() -> None:
    """E27: (⋆) + (⋆⋆), without the factor of 2, is too little; twice (⋆) and the links are enough."""
    one = Played(0, 0.2, 0.04, 0.9)
    assert 2.0 * one.process() <= 2.0 * (one.star() + sum(one.links()))
    alone = Played(1, 0.2, 1e-3, 2e-3)  # every function is its own cover
    assert 2.0 * alone.process() > alone.star() + sum(alone.links()) + 0.1


def test_what_is_lost_is_gained_by_the_slope_of_h_on_values_that_are_not_negative() -> None:
    """E27: on [0, 1] H has slopes between -1 and 1, at η <= 1; 1 + 2η is for [-1, 1]."""
    for eta in (0.1, 0.5, 1.0):
        slopes = [np.abs(1.0 - 2.0 * eta * np.linspace(low, 1.0, 101)).max() for low in (0.0, -1.0)]
        assert slopes == pytest.approx([1.0, 1.0 + 2.0 * eta])


def test_the_last_scale_as_printed_is_too_coarse() -> None:
    """E28: of all sequences of 0 and β, where β/α = e^2.9, C_N exceeds (1 + 2η)e²αΣ‖ℓ‖₁; one more scale repairs it."""
    eta, beta = 0.05, 0.1
    alpha = beta * math.exp(-2.9)
    last = {printed: math.floor(math.log(beta / alpha)) - printed for printed in (True, False)}
    scale = {printed: beta * math.exp(1 - n) for printed, n in last.items()}
    assert scale[True] > math.e**2 * alpha > scale[False] > math.e * alpha
    g = np.where(SIGNS > 0, beta, 0.0)  # of all 2^T sequences; the cover is β/2, lowered to 0
    left = float((SIGNS * (g - eta * g**2)[:, None]).sum(-1).max(0).mean())
    assert left > (1 + 2 * eta) * math.e**2 * alpha * T


def differences(one: Played, i: int, ahead: bool) -> Array:
    """W of one link, pairs x paths x T: not 0 where some g has this pair, on this path, or on one through the node."""
    a, b = (one.shrunk(one.inner(one.covers[j])) for j in (i, i + 1))
    n, found = len(one.covers[i + 1]), np.zeros((len(one.covers[i]), len(one.covers[i + 1]), len(SIGNS), T))
    for path in range(len(SIGNS)):
        for pair in set((one.near[i][:, path] * n + one.near[i + 1][:, path]).tolist()):
            v, w = divmod(pair, n)
            for t in range(T):
                through = [path] if ahead else np.flatnonzero(NODES[:, t] == NODES[path, t])
                found[v, w, through, t] = b[w, through, t] - a[v, through, t]
    return found.reshape(-1, len(SIGNS), T)


def looks_ahead(W: Array) -> bool:
    """Whether its values at a node differ between paths through it."""
    return any(np.ptp(W[:, NODES[:, t] == node, t], axis=1).max() > 1e-12 for t in range(T) for node in NODES[:, t])


@pytest.mark.parametrize("seed", range(4))
def test_differences_of_covers_must_not_look_ahead(seed: int) -> None:
    """E29: as printed, W are no trees; with "some path through the node" they are, as small, and have the supremum."""
    one = Played(seed, 0.2, 0.04, 0.9)
    squares = (one.sizes**2).sum(1)
    for i, link in enumerate(one.links()[:-1]):
        W = differences(one, i, ahead=False)
        assert not looks_ahead(W)
        assert ((W**2).sum(-1) <= 4.0 * one.scales[i] ** 2 * squares + 1e-9).all()
        assert link <= float((SIGNS * W).sum(-1).max(0).mean()) + 1e-9
        for eta in (0.1, 1.0, 5.0):
            assert float((SIGNS * W - eta * W**2).sum(-1).max(0).mean()) <= math.log(len(W)) / (2.0 * eta)
    assert any(looks_ahead(differences(one, i, ahead=True)) for i in range(len(one.scales) - 1))


def test_a_tree_that_looks_ahead_breaks_the_lemma() -> None:
    """E29, the control: one tree, 1 on the path of plus signs alone; lemma offset_finite_simple would have 0."""
    ahead = (SIGNS > 0).all(axis=1).astype(float)[:, None] * np.ones(T)
    assert float((SIGNS * ahead - 0.5 * ahead**2).sum(-1).mean()) == pytest.approx(2.0**-T * T / 2)


# The game of one round, which linear programs solve


class Round:
    """Outcomes s, each of which is some g's, and losses; B₁ is 0.2 ‖ℓ‖₁ + 0.1 ‖ℓ‖₁²."""

    def __init__(self, outcomes: Array, losses: Array) -> None:
        total = losses.sum(1)
        self.eta, self.own, self.x = 0.3, 0.2 * total + 0.1 * total**2, outcomes @ losses.T

    @classmethod
    def drawn(cls, seed: int) -> "Round":
        rng = np.random.default_rng(seed)
        return cls(rng.random((5, K)), rng.dirichlet(np.ones(K), 4) * rng.uniform(0.2, 1.0, (4, 1)))

    def value(self) -> tuple[float, Array]:
        """The value of the game, and the law of losses that attains it: max over q of a minimum over s."""
        gains = self.x - 2.0 * self.eta * self.x**2 - self.x.min(0) - self.own
        n = self.x.shape[1]
        solved = optimize.linprog(
            [*np.zeros(n), -1.0],
            A_ub=np.column_stack([-gains, np.ones(len(gains))]),
            b_ub=np.zeros(len(gains)),
            A_eq=[[*np.ones(n), 0.0]],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * n + [(None, None)],
        )
        return -float(solved.fun), np.asarray(solved.x[:n])

    def before(self, q: Array) -> float:
        """What is symmetrised, for one law of losses."""
        means = (self.x - 2.0 * self.eta * self.x**2) @ q
        return float(q @ ((means[:, None] - self.x).max(0) - self.own))

    def after(self, share: float) -> float:
        """2 sup_ℓ E_ε sup_g εH - η <g, ℓ>² - share · B₁."""
        shrunk, square = self.x - self.eta * self.x**2, self.eta * self.x**2
        each = 0.5 * (shrunk - square).max(0) + 0.5 * (-shrunk - square).max(0)
        return float(2.0 * (each - share * self.own).max())


@pytest.mark.parametrize("seed", range(20))
def test_the_value_of_the_game_is_below_its_symmetrised_process(seed: int) -> None:
    """Minimax swap, rearrangement and symmetrisation, T = 1, with half of B₁."""
    game = Round.drawn(seed)
    value, q = game.value()
    assert value <= game.before(q) + 1e-9
    assert game.before(q) <= game.after(0.5) + 1e-9
    for law in np.random.default_rng(seed).dirichlet(np.full(4, 0.3), 200):
        assert game.before(law) <= game.after(0.5) + 1e-9


def test_the_symmetrised_process_as_printed_takes_off_too_much() -> None:
    """E27, the control: one loss and no other, and all of B₁ within the factor of 2."""
    game = Round(np.full((1, K), 0.1), np.full((1, K), 0.5))
    assert game.after(1.0) < game.before(np.ones(1)) <= game.after(0.5)
