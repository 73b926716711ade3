"""What experiments share: a run of a learner, told the truth or not, and what a bound is to be compared with.

Learners that are told something else than the truth turn the verdict of a claim about learning:

    "told nothing"        every loss is 0: a step size of 0
    "told the opposite"   1 - ℓ instead of ℓ

>>> from marginbandits.environments import HingeRealizable
>>> from marginbandits.learners import LinUCB
>>> env = HingeRealizable(2, 2, 500, seed=0)
>>> [round(float(played(LinUCB(2, seed=0), env, broken).losses.mean()), 1) for broken in ("", "told the opposite")]
[0.0, 1.0]
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from marginbandits.experiments.claims.claim import Control, Parameters
from marginbandits.experiments.simulate import Trace, simulate
from marginbandits.learners import Learner
from marginbandits.theory import Bound, useful_from
from marginbandits.types import Array, Decision, Environment, Round

__all__ = ["FARTHEST", "NEEDS", "NOTHING", "OPPOSITE", "control", "first_useful", "limits", "played", "with_broken"]

NOTHING, OPPOSITE = "told nothing", "told the opposite"
FARTHEST = 10**15
"""No bound is looked at beyond."""

NEEDS = "needs "
"""Before the name of each condition of a bound: 1 where it is met, 0 where it is not."""

_TOLD: Mapping[str, Callable[[float], float]] = {NOTHING: lambda loss: 0.0, OPPOSITE: lambda loss: 1.0 - loss}


def played(learner: Learner, environment: Environment, broken: str = "") -> Trace:
    """One run; the losses of the trace are the true ones, whatever the learner was told."""
    if broken not in _TOLD:
        return simulate(learner, environment)
    trace = simulate(learner, _Told(environment, _TOLD[broken]))
    if trace.all_losses is None:
        raise ValueError("the environment must tell all losses afterwards")
    return replace(trace, losses=trace.all_losses[np.arange(len(trace.actions)), trace.actions])


def limits(bound: Callable[[int], Bound], T: int, uniform: float, *, scale: float = 1.0) -> Mapping[str, float]:
    """What `judging.bounded` asks of an experiment: the bound, `uniform`, and the T from which it is above the bound.

    `uniform` is the regret that uniform play has on these rounds, and scales with T: a bound that it keeps, too, says
    nothing of learning. `scale` multiplies the bound, for controls. The bound's conditions go along, by `NEEDS`.

    >>> {name: round(value) for name, value in limits(lambda T: Bound("", {"": 10.0 * T**0.5}, T), 900, 450.0).items()}
    {'bound': 300, 'uniform': 450, 'useful': 401}
    """
    useful = first_useful(bound, uniform / T / scale)
    here = bound(T)
    needs = {f"{NEEDS}{name}": float(met) for name, met in here.conditions.items()}
    return {"bound": scale * here.value, "uniform": uniform, "useful": useful, **needs}


def first_useful(bound: Callable[[int], Bound], per_round: float) -> float:
    """The T from which the bound is below `per_round` T; `FARTHEST`, if not before."""
    return float(useful_from(bound, per_round=max(per_round, 1e-9), least=16, most=FARTHEST) or FARTHEST)


def with_broken(units: Iterable[Parameters], broken: str) -> list[Parameters]:
    """The same experiments with `broken` given."""
    return [{**one, "broken": broken} for one in units]


def control(broken: str, units: Callable[[bool], Sequence[Parameters]], *, more_in_full: bool = False) -> Control:
    """A control that is called what `measure` knows it by, on quick experiments; or on those of the run there is."""
    return Control(broken, lambda quick: with_broken(units(quick or not more_in_full), broken))


class _Told:
    """An environment that keeps the truth to itself."""

    def __init__(self, truth: Environment, tell: Callable[[float], float]) -> None:
        self.n_actions, self.n_rounds, self._truth, self._tell = truth.n_actions, truth.n_rounds, truth, tell

    def __iter__(self) -> Iterator["_ToldRound"]:
        return (_ToldRound(one, self._tell) for one in self._truth)


class _ToldRound:
    """A round whose loss is told as something else."""

    def __init__(self, truth: Round, tell: Callable[[float], float]) -> None:
        self.context, self._truth, self._tell = truth.context, truth, tell

    @property
    def losses(self) -> Array | None:
        return self._truth.losses

    def reveal(self, decision: Decision) -> float | None:
        loss = self._truth.reveal(decision)
        return None if loss is None else self._tell(loss)
