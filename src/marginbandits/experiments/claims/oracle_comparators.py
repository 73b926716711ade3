"""The oracle-based systems that the paper compares with: regret under each one's own bound, and how it grows.

Two actions, two cells of contexts, all four policies on them. One policy is right but for one round in fifty; for those
made for adversaries there is also a world in which another one is right in the first quarter. OFUL and Regressor
Elimination expect means that are linear, or known up to which policy is right: 0.98 and 0.02 are both.

Regret is over the best policy: of the losses, which are fixed beforehand, for the first three; of expected losses for
the others, whose bounds are on that. A bound is judged where it bites, below the regret of uniform play: in
expectation, and in 95% of single runs.

Some of them bite late: their growth is for a full run. Regressor Elimination's play is settled once one regressor is
left, so what follows is known without playing it; ILOVETOCONBANDITS is played by whole epochs (`play_epochs`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginbandits.environments import Oblivious
from marginbandits.experiments.claims.claim import (
    Claim,
    Finding,
    Line,
    Parameters,
    Results,
)
from marginbandits.experiments.claims.figures import growth
from marginbandits.experiments.claims.growing import grows
from marginbandits.experiments.claims.judging import bounded
from marginbandits.experiments.claims.measuring import NOTHING, OPPOSITE, control, limits, played
from marginbandits.features import Identity
from marginbandits.learners import (
    BISTRO,
    ILOVETOCONBANDITS,
    OFUL,
    BISTROPlus,
    ContextualFTPL,
    Learner,
    RegressorElimination,
)
from marginbandits.theory import (
    Bound,
    bistro_regret,
    oful_regret,
    perturbed_leader_regret,
    regressor_elimination_regret,
    taming_regret,
)
from marginbandits.types import Array

__all__ = ["CLAIM", "SYSTEMS", "System"]

K, CELLS = 2, 2
CHOICES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # policies x cells
WRONG = 0.02
NORM = float(np.sqrt(CELLS * (WRONG**2 + (1.0 - WRONG) ** 2)))
POLICIES = np.eye(K)[CHOICES].transpose(0, 2, 1)
MEANS = WRONG + (1.0 - 2.0 * WRONG) * POLICIES
CONTEXTS = np.eye(CELLS)
ONE, TWO = "one law", "two laws"
BLOCK = 4096
"""After so many rounds it is asked again whether play is settled."""
LATE = 10_000
"""A bound that bites from there on is too late for the growth to be seen in a quick look."""
FIRST = 64
"""Rounds before whole epochs: contexts of both cells."""


@dataclass(frozen=True, slots=True)
class System:
    """How it is built for T rounds and a seed, what it promises, and where it is played."""

    stated: str
    build: Callable[[int, int], Learner]
    bound: Callable[[int], Bound]
    rounds: tuple[int, int]  # at which most runs are held against the bound: for a quick look, and in full
    grid: tuple[int, ...]  # T for the growth, from where the bound bites; the first three are enough for a verdict
    worlds: tuple[str, ...] = (ONE,)
    psi: float = 0.0  # of ILOVETOCONBANDITS, which is played by whole epochs
    pseudo: bool = False  # whether its bound is over expected losses, of the law that rounds are drawn from
    rival: float = 1.0  # the exponent that would make its rate worthless: linear growth, or what it improves on


def _over_policies(cls: type[BISTRO] | type[ContextualFTPL]) -> Callable[[int, int], Learner]:
    return lambda T, seed: cls(K, regressors=POLICIES, contexts=CONTEXTS, horizon=T, seed=seed)


def _elimination(kind: str) -> Callable[[int, int], Learner]:
    return lambda T, seed: RegressorElimination(
        K, regressors=MEANS, contexts=CONTEXTS, elimination=kind, horizon=T, seed=seed
    )


def _tamer(psi: float, seed: int) -> ILOVETOCONBANDITS:
    return ILOVETOCONBANDITS(K, regressors=POLICIES, psi=psi, seed=seed)


def _tamed(psi: float) -> System:
    return System(
        "C₀(4K d_τ' + √(8K d_τ τ)) + √(8T ln(2/δ))",
        lambda T, seed: _tamer(psi, seed),
        lambda T: taming_regret(N, K, T, psi=psi),
        (2**34, 2**34),
        (2**32, 2**36, 2**40),
        psi=psi,
        pseudo=True,
    )


N = len(CHOICES)
SYSTEMS: Mapping[str, System] = {
    "BISTRO": System(
        "E max 2εL + TK/L, of order T^{3/4}",
        _over_policies(BISTRO),
        lambda T: bistro_regret(N, K, T, plus=False),
        (16_000, 64_000),
        (16_000, 32_000, 64_000, 128_000),
        (ONE, TWO),
    ),
    "BISTRO+": System(
        "E max 2εZ + TK/L, of order T^{2/3}",
        _over_policies(BISTROPlus),
        lambda T: bistro_regret(N, K, T),
        (4000, 8000),
        (4000, 8000, 16_000, 32_000, 128_000),
        (ONE, TWO),
        rival=3.0 / 4.0,  # BISTRO's
    ),
    "perturbed leader": System(
        "2√(2dKTG) + √(KT)/e, d = 2 contexts",
        _over_policies(ContextualFTPL),
        lambda T: perturbed_leader_regret(N, K, T, CELLS),
        (2000, 4000),
        (1000, 2000, 4000, 8000, 32_000),
        (ONE, TWO),
        rival=2.0 / 3.0,  # its paper's
    ),
    "regressor elimination, sharp": System(
        "2√(2cKTV) + K√T",
        _elimination("sharp"),
        lambda T: regressor_elimination_regret(N, K, T, elimination="sharp"),
        (2000, 4000),
        (2000, 4000, 8000, 32_000),
        pseudo=True,
    ),
    "regressor elimination, printed": System(
        "2√(2cKTV) + K√T",
        _elimination("printed"),
        lambda T: regressor_elimination_regret(N, K, T),
        (160_000, 160_000),
        (160_000, 320_000, 640_000),
        pseudo=True,
    ),
    "ILOVETOCONBANDITS, ψ = 100": _tamed(100.0),
    "ILOVETOCONBANDITS, ψ = 1": _tamed(1.0),
    "OFUL": System(
        "4√(TD ln(λ + T/D)) √β, D = 4",
        lambda T, seed: OFUL(K, norm=NORM, features=Identity(), seed=seed),
        lambda T: oful_regret(K * CELLS, T, norm=NORM),
        (64_000, 80_000),
        (64_000, 128_000, 256_000),
        pseudo=True,
    ),
}


def _world(name: str, T: int, seed: int) -> tuple[npt.NDArray[np.int64], Array, Array]:
    """Cells, losses, and what they are in expectation: the right action loses nothing, but for one round in fifty."""
    rng = np.random.default_rng([seed, T])
    cells = rng.integers(CELLS, size=T)
    right = CHOICES[1, cells]
    if name == TWO:
        right = np.where(np.arange(T) < T // 4, CHOICES[3, cells], right)
    other = (right[:, None] != np.arange(K)).astype(float)
    return cells, np.abs(other - (rng.random((T, 1)) < WRONG)), WRONG + (1.0 - 2.0 * WRONG) * other


def _settled(agent: Learner) -> bool:
    """Whether its laws stay as they are, whatever comes."""
    return isinstance(agent, RegressorElimination) and len(agent.fitting) == 1


def laws_of(agent: Learner, cells: npt.NDArray[np.int64], losses: Array, broken: str = "") -> Array:
    """The laws of all rounds; those that are settled are not played."""
    kept, done = [], 0
    while done < len(cells) and not _settled(agent):
        now = slice(done, done + BLOCK)
        kept.append(played(agent, Oblivious.of(CONTEXTS[cells[now]], losses[now]), broken).laws)
        done += BLOCK
    return np.concatenate([*kept, np.asarray(agent.laws(CONTEXTS))[cells[done:]]])


def _lost(T: int, psi: float, seed: int, broken: str) -> tuple[Array, Array]:
    """Of ILOVETOCONBANDITS: cells x actions, how often each is played, and what it loses each time."""
    first = min(T, FIRST)
    cells, losses, _ = _world(ONE, first, seed)
    agent, rng = _tamer(psi, seed), np.random.default_rng([seed, T, 1])
    plays = np.zeros((CELLS, K))
    np.add.at(plays, cells, laws_of(agent, cells, losses, broken))
    means = WRONG + (1.0 - 2.0 * WRONG) * (CHOICES[1][:, None] != np.arange(K))
    told = {NOTHING: np.zeros_like(means), OPPOSITE: 1.0 - means}.get(broken, means)
    return plays + agent.play_epochs(CONTEXTS, 1.0 - told, T - first, rng), means


def measure(system: str, world: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """Expected regret of one run against the best policy, and what its bound is compared with."""
    one = SYSTEMS[system]
    if one.psi:
        plays, paid = _lost(T, one.psi, seed, broken)
        lost, seen = float((plays * paid).sum()), plays.sum(1)
        best = float((seen * paid[np.arange(CELLS), CHOICES]).sum(1).min())
        return {"regret": lost - best, **limits(one.bound, T, float(seen @ paid.mean(1)) - best)}
    cells, losses, means = _world(world, T, seed)
    laws = laws_of(one.build(T, seed), cells, losses, broken)
    paid = means if one.pseudo else losses
    best = paid[np.arange(T), CHOICES[:, cells]].sum(1).min()
    return {"regret": float((laws * paid).sum() - best), **limits(one.bound, T, float(paid.mean(1).sum() - best))}


def _over(one: System, quick: bool) -> tuple[int, ...]:
    """The T over which growth is seen: for a quick look three, if they are soon played."""
    soon = one.psi > 0.0 or one.grid[:1] < (LATE,)
    return one.grid if not quick else one.grid[:3] if soon else ()


def units(quick: bool) -> list[Parameters]:
    """Many runs at one T for the bound, few over T for the growth."""
    found: list[Parameters] = []
    many, few = (6, 3) if quick else (100, 4)
    for name, one in SYSTEMS.items():
        T = one.rounds[0 if quick else 1]
        each = many // len(one.worlds)
        found += [{"system": name, "world": world, "T": T, "seed": s} for world in one.worlds for s in range(each)]
        over = [{"system": name, "world": ONE, "T": t, "seed": s} for t in _over(one, quick) for s in range(few)]
        found += [more for more in over if more not in found]
    return found


def _few(quick: bool) -> list[Parameters]:
    """As few as turn verdicts: over the first three T of each growth, and where the bound of a quick look is judged."""
    return [
        {"system": name, "world": ONE, "T": T, "seed": s}
        for name, one in SYSTEMS.items()
        for T in sorted({*_over(one, quick)[:3], one.rounds[0]})
        for s in range(2 if T > 10_000 else 3)
    ]


def judge(results: Results) -> Finding:
    """For each system: regret against its bound, and the exponent beside the bound's own."""
    lines, over = [], {name: mine.where(world=ONE) for name, mine in results.split("system")}
    for name, mine in results.split("system"):
        lines.append(_held(name, mine))
        if len(over[name].each("T")) > 1:
            lines.append(_growing(name, over[name]))
    note = (
        "K = 2, two cells, N = 4 policies; one of them right but for one round in fifty. Expected regret by the laws."
    )
    far = {name: mine for name, mine in over.items() if SYSTEMS[name].psi}
    near = {name: mine for name, mine in over.items() if name not in far}
    titles = {"Regret over T, one law": near, "Regret over T, by whole epochs": far}
    return Finding(
        lines, [growth(title, these, over="T", floor=1.0) for title, these in titles.items() if these], [note]
    )


def _held(name: str, runs: Results) -> Line:
    stated = f"at most {SYSTEMS[name].stated}, in expectation and in 95% of runs"
    return bounded(f"{name}: regret under its bound", stated, dict(runs.split("world")), share=0.95)


def _growing(name: str, over: Results) -> Line:
    return grows(f"{name}: growth with T", "no faster than its bound", {"": over}, rival=SYSTEMS[name].rival)


CLAIM = Claim(
    "oracle-comparators",
    "The systems it compares with: oracles",
    "section 1, related work",
    "Each of these systems has a guarantee of its own over a finite class. They are built here with their papers' "
    "parameters; where a paper's constants are not at hand, with constants that are proved in the system's module.",
    measure,
    units,
    judge,
    controls=tuple(control(broken, _few, more_in_full=True) for broken in (NOTHING, OPPOSITE)),
)
