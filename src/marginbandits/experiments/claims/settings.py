"""Seven settings, and who plays in them: learners with a margin and without.

separable, misspecified   a margin separates; least squares on the rows alone are wrong for ever
wrong labels far out      hinge and squares believe them, the ramp does not, and curves need not
adversary                 charges the favourite
lines                     nothing but lines to be learnt
rare rewards, heavy tails, growing scale    what data are like; nothing there asks for a margin
"""

from collections.abc import Callable, Mapping

from marginbandits.environments import (
    AdaptiveAdversary,
    FarWrongLabels,
    LinearLabels,
    RareRewards,
    SeparableMisspecified,
)
from marginbandits.experiments.claims.claim import Parameters
from marginbandits.experiments.claims.measuring import played
from marginbandits.features import Bias, Concatenate, Identity, Standardise
from marginbandits.learners import HingeLMC, Learner, LinUCB, Mixture, Uniform
from marginbandits.types import Environment

__all__ = [
    "ADVERSARY",
    "FAR",
    "GROWING",
    "HEAVY",
    "KNOWN",
    "LINES",
    "RARE",
    "SEPARABLE",
    "USUAL",
    "measure",
    "units",
]

SEPARABLE, FAR, ADVERSARY, LINES = "separable, misspecified", "wrong labels far out", "adversary", "lines"
RARE, HEAVY, GROWING = "rare rewards", "heavy tails", "growing scale"

KNOWN = "everyone told all losses beforehand"

WORLDS: Mapping[str, Callable[[int, int], Environment]] = {
    SEPARABLE: lambda T, seed: SeparableMisspecified(T, seed=seed),
    FAR: lambda T, seed: FarWrongLabels(T, seed=seed),
    ADVERSARY: lambda T, seed: AdaptiveAdversary(2, 2, T, seed=seed),
    LINES: lambda T, seed: LinearLabels(10, 20, T, seed=seed),
    RARE: lambda T, seed: RareRewards(5, 10, T, seed=seed),
    HEAVY: lambda T, seed: LinearLabels(5, 10, T, degrees=1.5, seed=seed),
    GROWING: lambda T, seed: LinearLabels(5, 10, T, growth=100.0, seed=seed),
}


def _analysed(T: int, seed: int, margin: float, surrogate: str) -> Learner:
    return HingeLMC.from_theory(
        n_features=2,
        n_actions=2,
        horizon=T,
        margin=margin,
        surrogate=surrogate,
        tuning="ideal",
        long_contexts="shorten",
        seed=seed,
    )


LEARNERS: Mapping[str, Callable[[int, int, int], Learner]] = {  # of K, T and the seed
    "HingeLMC": lambda K, T, seed: HingeLMC(K, features="raw", seed=seed),
    "HingeLMC(hinge)": lambda K, T, seed: HingeLMC(K, surrogate="hinge", features="raw", seed=seed),
    "HingeLMC, no bias": lambda K, T, seed: HingeLMC(K, features=Identity(), seed=seed),
    "LinUCB": lambda K, T, seed: LinUCB(K, seed=seed),
    "LinUCB(fourier)": lambda K, T, seed: LinUCB(K, features="fourier", seed=seed),
    "LinUCB, no bias": lambda K, T, seed: LinUCB(K, features=Identity(), seed=seed),
    "LinUCB, not scaled": lambda K, T, seed: LinUCB(K, features=Concatenate([Identity(), Bias()]), seed=seed),
    "LinUCB, scaled once": lambda K, T, seed: LinUCB(K, features=Standardise(freeze_after=100), seed=seed),
    "Mixture": lambda K, T, seed: Mixture(K, seed=seed),
    "as analysed, ramp": lambda K, T, seed: _analysed(T, seed, 0.1, "ramp"),
    "as analysed, hinge": lambda K, T, seed: _analysed(T, seed, 0.1, "hinge"),
    "as analysed, wide hinge": lambda K, T, seed: _analysed(T, seed, 0.5, "hinge"),
    "Uniform": lambda K, T, seed: Uniform(K, seed=seed),
}

USUAL = ("HingeLMC", "HingeLMC(hinge)", "LinUCB", "LinUCB(fourier)", "Mixture")
MORE: Mapping[str, tuple[str, ...]] = {
    SEPARABLE: ("HingeLMC, no bias", "LinUCB, no bias"),
    FAR: ("as analysed, ramp", "as analysed, hinge"),
    ADVERSARY: ("as analysed, wide hinge", "Uniform"),
    HEAVY: ("LinUCB, not scaled",),
    GROWING: ("LinUCB, not scaled", "LinUCB, scaled once"),
}


def measure(world: str, learner: str, T: int, seed: int, broken: str = "") -> Mapping[str, float]:
    """The learner's mean loss, and that of the best action played throughout."""
    environment = WORLDS[world](T, seed)
    known = broken == KNOWN
    agent = LEARNERS["Uniform" if known else learner](environment.n_actions, T, seed)
    trace = played(agent, environment, broken)
    if trace.all_losses is None:
        raise ValueError("the environment must tell all losses afterwards")
    if known:  # the least loss of every round, for everyone
        least = float(trace.all_losses.min(1).mean())
        return {"loss": least, "constant": least}
    return {"loss": float(trace.losses.mean()), "constant": float(trace.all_losses.mean(0).min())}


def units(quick: bool) -> list[Parameters]:
    """Every setting's learners."""
    T, seeds = (200, 2) if quick else (8000, 10)
    return [
        {"world": world, "learner": learner, "T": T, "seed": seed}
        for world in WORLDS
        for learner in (*USUAL, *MORE.get(world, ()))
        for seed in range(seeds)
    ]
