"""Negative controls of the contracts of surrogates, scores, features and environments."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import marginbandits as mb
from marginbandits.checks import (
    check_environment,
    check_features,
    check_scores,
    check_surrogate,
)
from marginbandits.state import Field
from marginbandits.types import Array
from tests.test_contract import ARGUMENTS


class Sloped(mb.Hinge):
    """Takes the steep side of the kink."""

    def slope(self, scores: npt.ArrayLike) -> Array:
        return np.where(np.isnan(scores), np.nan, (np.asarray(scores) >= -self.margin) / self.margin)


class Shrunk(mb.Ramp):
    """Not calibrated."""

    def __call__(self, scores: npt.ArrayLike) -> Array:
        return 0.4 * super().__call__(scores)


class Wide(mb.Linear):
    """Understates its bound."""

    @property
    def bound(self) -> float:
        return 0.3 * super().bound


class Slack(mb.Linear):
    """Understates its Lipschitz constant, not its bound."""

    @property
    def lipschitz(self) -> float:
        return 0.1 * super().lipschitz

    @property
    def bound(self) -> float:
        return 10.0


class Stretched(mb.Linear):
    """Projects onto the sphere instead of the ball."""

    def project(self, parameters: Array) -> Array:
        return np.asarray(self.radius * parameters / np.linalg.norm(parameters, axis=-1, keepdims=True))


class Steep(mb.Linear):
    """Doubles its gradient."""

    def gradient(self, context: Any, action: int) -> Array:
        return 2 * super().gradient(context, action)


class Backwards(mb.Hinge):
    """Calibrated for proportional play, but low where the score is high."""

    def __call__(self, scores: npt.ArrayLike) -> Array:
        s = np.asarray(scores, float)
        return np.where(s == s.max(-1, keepdims=True), 0.5, 2.0)


class Shifty(mb.Standardise):
    """Learns while it transforms."""

    def _transform(self, rows: Any) -> Any:
        self._observe(rows)
        return super()._transform(rows)


class Hiding(mb.Standardise):
    """Does not say all it knows."""

    def fields(self) -> dict[str, Field]:
        return {"count": Field(self._moments[-1:])}


class Costly(mb.LinearRealizable):
    """Charges twice."""

    def __iter__(self) -> Any:
        for current in super().__iter__():
            yield Fib(current, cost=2.0, shift=0)


class Fibbing(mb.LinearRealizable):
    """Reveals another action's loss."""

    def __iter__(self) -> Any:
        for current in super().__iter__():
            yield Fib(current, cost=1.0, shift=1)


class Fib:
    def __init__(self, honest: Any, cost: float, shift: int) -> None:
        self.context, self.losses, self.cost, self.shift = honest.context, honest.losses, cost, shift

    def reveal(self, decision: mb.Decision) -> float:
        return self.cost * float(self.losses[(decision.action + self.shift) % 3])


class Secretive(mb.LinearRealizable):
    """Different on every visit."""

    def __iter__(self) -> Any:
        order = np.random.default_rng().permutation(len(self))
        return iter([list(super(Secretive, self).__iter__())[i] for i in order])


def test_the_other_contracts_catch() -> None:
    with pytest.raises(AssertionError, match="slope"):
        check_surrogate(Sloped, margin=0.4)
    with pytest.raises(AssertionError, match="playing in proportion"):
        check_surrogate(Shrunk, margin=0.4)
    with pytest.raises(AssertionError, match="best-scored"):
        check_surrogate(Backwards, margin=0.4)
    with pytest.raises(AssertionError, match="exceed B"):
        check_scores(Wide(3, 2), (2,))
    with pytest.raises(AssertionError, match="Lipschitz"):
        check_scores(Slack(3, 2), (2,))
    with pytest.raises(AssertionError, match="apart"):
        check_scores(Stretched(3, 2), (2,))
    with pytest.raises(AssertionError, match="gradient"):
        check_scores(Steep(3, 2), (2,))
    with pytest.raises(AssertionError, match="must not change the state"):
        check_features(Shifty)
    with pytest.raises(AssertionError, match="whole state"):
        check_features(Hiding)
    with pytest.raises(AssertionError, match=r"losses must lie in \[0, 1\]"):
        check_environment(Costly, **ARGUMENTS["LinearRealizable"])
    with pytest.raises(AssertionError, match="the loss revealed"):
        check_environment(Fibbing, **ARGUMENTS["LinearRealizable"])
    with pytest.raises(AssertionError, match="same rounds"):
        check_environment(Secretive, **ARGUMENTS["LinearRealizable"])
