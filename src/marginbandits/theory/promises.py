"""What the paper promises for one class and one game: every bound that applies.

>>> game = Game(n_actions=3, horizon=100_000, margin=0.5)
>>> for bound in promises(Power(3.0), game):
...     print(bound.name, bound.vacuous)
margin bound, ramp True
margin bound, hinge True
smoothed follow-the-leader True
margin rate, ramp False
smoothed follow-the-leader, rate False
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeAlias

from marginbandits.theory.chaining import chain_hinge, margin_ramp
from marginbandits.theory.entropy import Dimension, Entropy, FiniteSize, Parametric, Power
from marginbandits.theory.finite import exponential_weights
from marginbandits.theory.ftl import ftl, ftl_rate
from marginbandits.theory.growth import growth_rate
from marginbandits.theory.hinge_lmc import hinge_ew_ideal, hinge_lmc_corrected, hinge_lmc_printed
from marginbandits.theory.lipschitz import lipschitz_ftl
from marginbandits.theory.rademacher import decision_trees, linear_type_2, lp_linear, networks, rademacher
from marginbandits.theory.record import Bound, useful_from
from marginbandits.theory.setting import Game, Setting
from marginbandits.theory.tuning import SURROGATES, hinge_lmc_tuning
from marginbandits.validation import Count, Instance, Integer, OneOf, Positive, Real, quoted, record, validated

__all__ = [
    "DecisionTrees",
    "Known",
    "LipschitzPolicies",
    "LpLinear",
    "Networks",
    "Promise",
    "RademacherRoot",
    "promises",
    "promises_in_time",
]


@record
@dataclass(frozen=True, slots=True)
class LipschitzPolicies:
    """1-Lipschitz functions of contexts of dimension p."""

    p: Dimension


@record
@dataclass(frozen=True, slots=True)
class RademacherRoot:
    """A class whose sequential Rademacher complexity is c√T."""

    c: Positive


class Networks(RademacherRoot):
    """Networks with layers bounded in the (1, ∞) group norm; c grows with the norms and the depth."""


class DecisionTrees(RademacherRoot):
    """Trees of bounded depth on finitely many decision functions; c grows with depth and that number's logarithm."""


@record
@dataclass(frozen=True, slots=True)
class LpLinear:
    """Linear predictors over ℓ_q in R^d."""

    q: Annotated[float, Real(above=1, high=2)]
    dimension: Count


Known: TypeAlias = Entropy | LipschitzPolicies | RademacherRoot | LpLinear
Class = Annotated[Known, Instance(Entropy, LipschitzPolicies, RademacherRoot, LpLinear)]


@record
@dataclass(frozen=True, slots=True)
class Promise:
    """A bound, and the T from which it is not vacuous (None: beyond 10^15)."""

    bound: Bound
    useful_from: Annotated[int | None, OneOf(Integer(1), Instance(type(None)))]


@validated
def promises(known: Class, game: Game) -> list[Bound]:
    """Every bound of the paper for this class: first those with all constants, then orders."""
    return [make(game) for make in _makers(known, game)]


@validated
def promises_in_time(known: Class, game: Game) -> list[Promise]:
    """The same, each with the horizon from which it says something, all else equal."""
    if game.margin > 1e15:
        raise ValueError(f"margin must be at most 10^15 to look for the first T of use, got {game.margin:g}")
    least = math.floor(game.margin) + 2  # logarithms of KT/γ must be positive, and μ < 1/K

    def one(make: Maker) -> Promise:
        at = useful_from(lambda T: make(dataclasses.replace(game, horizon=T)), least=least)
        return Promise(make(game), at)

    return [one(make) for make in _makers(known, game)]


Maker: TypeAlias = Callable[[Game], Bound]


def _makers(known: Known, game: Game) -> list[Maker]:
    if isinstance(known, FiniteSize):
        weights = [partial(exponential_weights, known.size, surrogate=s) for s in SURROGATES]
        return [*weights, partial(margin_ramp, known), partial(growth_rate, known)]
    if isinstance(known, Parametric):
        of = partial(_setting, known)
        lmc: list[Maker] = [lambda g: hinge_lmc_printed(of(g))] if game.bound >= max(1.0, game.margin) else []
        lmc += [lambda g: _corrected(of(g)), lambda g: hinge_ew_ideal(of(g))]
        return [*lmc, *_chained(known), partial(ftl, known), partial(growth_rate, known)]
    if isinstance(known, Power):
        return [*_chained(known), partial(ftl, known), partial(growth_rate, known), partial(ftl_rate, known.p)]
    if isinstance(known, LipschitzPolicies):
        entropy = Power(known.p, radius=game.bound)
        return [*_chained(entropy), partial(growth_rate, entropy), partial(lipschitz_ftl, known.p)]
    if isinstance(known, Networks):
        return [partial(networks, c=known.c)]
    if isinstance(known, DecisionTrees):
        return [partial(decision_trees, c=known.c)]
    if isinstance(known, RademacherRoot):
        return [lambda g: rademacher(known.c * math.sqrt(g.horizon), g)]
    if isinstance(known, LpLinear):
        free: list[Maker] = [linear_type_2] if known.q == 2.0 else []  # ℓ_q is of type 2 from q = 2 on
        return [partial(lp_linear, known.q, known.dimension), *free]
    raise ValueError(f"no bound is known for {quoted(known)}")


def _setting(known: Parametric, game: Game) -> Setting:
    return Setting(int(known.dimension), game.n_actions, game.horizon, game.margin, bound=game.bound)


def _corrected(setting: Setting) -> Bound:
    tuned = hinge_lmc_tuning(setting)
    return hinge_lmc_corrected(setting, eta=tuned.eta, mu=tuned.mu, cap=tuned.cap, accuracy=tuned.accuracy)


def _chained(entropy: Entropy) -> list[Maker]:
    return [partial(margin_ramp, entropy), partial(chain_hinge, entropy)]
