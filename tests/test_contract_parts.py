"""Oracles and samplers keep their contracts, and each class below that breaks one promise is told so."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from marginbandits.checks import check_oracle, check_sampler
from marginbandits.oracles.hinge_erm import HingeERM
from marginbandits.oracles.leader import LinearLeader
from marginbandits.oracles.ramp_erm import RampERM
from marginbandits.projections import ball
from marginbandits.samplers import HingePotential, hit_and_run, projected_langevin, uniform_ball
from marginbandits.surrogates import Hinge, Ramp
from marginbandits.types import Array, Leader, Sampler, Surrogate
from tests.test_oracle_protocol import SVM, Trees

NO_GAP = {"certificates_hold": "its leaders have no gap"}
UNJUDGED = dict.fromkeys(
    ["better_than_its_start", "certificates_hold", "weights_count_like_repetitions"],
    "no surrogate was given to judge by",
)
SHARED = {"shared_contexts": "an SVM for each action needs two of them"}


class PerAction(SVM):
    exempt: ClassVar = SHARED


@pytest.mark.parametrize(
    ("oracle", "surrogate", "arguments", "skipped"),
    [
        (HingeERM, Hinge(0.5), {"margin": 0.5}, {}),
        pytest.param(
            *(HingeERM, Hinge(0.1), {"margin": 0.1, "radius": 3.0, "tolerance": 1e-6}, {}), marks=pytest.mark.soak
        ),
        (HingeERM, None, {"margin": 0.5, "ridge": 1.0}, UNJUDGED),
        (RampERM, Ramp(0.5), {"margin": 0.5}, NO_GAP),
        pytest.param(RampERM, Ramp(0.1), {"margin": 0.1, "radius": 2.0}, NO_GAP, marks=pytest.mark.soak),
        (Trees, None, {"margin": 0.5}, UNJUDGED),
        (PerAction, None, {"margin": 0.5, "C": 1.0}, SHARED | UNJUDGED),
    ],
)
def test_oracles_keep_the_contract(
    oracle: type, surrogate: Surrogate | None, arguments: dict[str, Any], skipped: dict[str, str]
) -> None:
    assert check_oracle(oracle, surrogate, **arguments) == skipped


class Broken(HingeERM):
    """A hinge minimiser that breaks one promise, by name."""

    kind = ""
    asked = 0

    def fit(
        self, rows: Array, blocks: npt.NDArray[np.int64], losses: Array, weights: Array, start: Array
    ) -> LinearLeader:
        self.asked += 1
        answer = getattr(self, f"_{self.kind}")(rows, blocks, losses, weights, start)
        assert isinstance(answer, LinearLeader)
        return answer

    def _scribbling(self, rows: Array, *rest: Any) -> Leader:
        found = super().fit(rows, *rest)
        rows *= 0.5
        return found

    def _nan(self, *given: Any) -> Leader:
        return LinearLeader(np.full(given[-1].shape, np.nan))

    def _shapeless(self, *given: Any) -> Leader:
        return LinearLeader(np.zeros((7, 3)))

    def _remembering(self, *given: Any) -> Leader:
        found = super().fit(*given)
        return LinearLeader(found.weights * (1 + 1e-6 * self.asked), found.value, found.gap)

    def _dicing(self, *given: Any) -> Leader:
        return LinearLeader(super().fit(*given).weights + 1e-6 * np.random.default_rng().random(given[-1].shape))

    def _idle(self, *given: Any) -> Leader:
        return LinearLeader(np.zeros_like(given[-1]))

    def _adverse(self, *given: Any) -> Leader:
        return LinearLeader(-super().fit(*given).weights)

    def _stubborn(self, *given: Any) -> Leader:
        """Goes a fifth of the way where it is told where to start."""
        return LinearLeader(super().fit(*given).weights * (0.2 if given[-1].any() else 1.0))

    def _weightless(self, *given: Any) -> Leader:
        rows, blocks, losses, weights, start = given
        return LinearLeader(super().fit(rows, blocks, losses, np.ones_like(weights), start).weights)

    def _boasting(self, *given: Any) -> Leader:
        """Stops at what its start suggests, and says that it is the least."""
        rows, blocks, losses, weights, start = given
        first = super().fit(rows[:9], blocks[:9], losses[:9], weights[:9], start).weights
        costs = {True: first, False: start}
        value = {
            key: float((weights * losses) @ np.maximum(1 + (rows * w[blocks]).sum(1) / self.margin, 0))
            for key, w in costs.items()
        }
        best = value[True] < value[False]
        return LinearLeader(costs[best], value[best], 0.0)

    def _misvalued(self, *given: Any) -> Leader:
        found = super().fit(*given)
        return LinearLeader(found.weights, 0.9 * found.value, found.gap)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("scribbling", "'vector_contexts': it must not change what it is given"),
        ("nan", "'vector_contexts': scores must be finite"),
        ("shapeless", r"'vector_contexts': scores must be rows x blocks, \(35, 3\), got \(35, 7\)"),
        ("remembering", "'vector_contexts': the same rounds must give the same leader"),
        ("dicing", "'vector_contexts': the same rounds must give the same leader"),
        ("idle", "'better_than_its_start': it must find something better than nothing"),
        ("adverse", "'better_than_its_start': it must find something better than nothing"),
        ("stubborn", "'better_than_its_start': it must cost no more than its start"),
        ("weightless", "'weights_count_like_repetitions': weighted rounds cost"),
        ("boasting", "'certificates_hold': a gap of 0.0, yet"),
        ("misvalued", "'certificates_hold': the value must be what it costs"),
    ],
)
def test_oracles_that_break_a_promise_are_caught(kind: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "kind", kind)
    with pytest.raises(AssertionError, match=f"Broken breaks {says}"):
        check_oracle(Broken, Hinge(0.5), margin=0.5)


class Unexplained(HingeERM):
    exempt: ClassVar = {"shared_contexts": " "}


class Misspelt(HingeERM):
    exempt: ClassVar = {"shared": "it is too hard"}


@pytest.mark.parametrize(
    ("oracle", "says"),
    [
        (Unexplained, "the exemption from 'shared_contexts' needs a reason"),
        (Misspelt, "exempt names an unknown check 'shared'"),
        (lambda margin: object(), "it must have a method `fit`"),
        (SVM, "SVM breaks 'shared_contexts'"),
    ],
)
def test_exemptions_need_a_reason(oracle: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_oracle(oracle, **({"margin": 0.5, "C": 1.0} if oracle is SVM else {"margin": 0.5}))


def lines(F: HingePotential, start: Array, rng: np.random.Generator) -> Array:
    return hit_and_run(F, start, rng, radius=1.0, n_steps=40)


def langevin(step: float) -> Sampler[HingePotential]:
    return lambda F, start, rng: projected_langevin(
        F.gradient, start, lambda rows: ball(rows, 1.0), rng, step=step, n_steps=round(1 / step)
    )


def test_samplers_keep_the_contract() -> None:
    check_sampler(lines)
    check_sampler(lambda F, start, rng: hit_and_run(F, start, rng, radius=7.0, n_steps=40), radius=7.0)


@pytest.mark.soak
def test_a_biased_sampler_says_how_much() -> None:
    """Langevin's step of √α, with deviations of 0.15 to 0.5, and what projection leaves on the border."""
    check_sampler(langevin(1e-3), bias=0.05)
    with pytest.raises(AssertionError, match="standard errors off"):
        check_sampler(langevin(1e-2), bias=0.05)


def scribbling(F: HingePotential, start: Array, rng: np.random.Generator) -> Array:
    start[:] = lines(F, start, rng)
    return start


def spoiling(F: HingePotential, start: Array, rng: np.random.Generator) -> Array:
    draws = lines(F, start, rng)
    F.features[0, 0] += 1e-9
    return draws


def escaping(F: HingePotential, start: Array, rng: np.random.Generator) -> Array:
    return projected_langevin(F.gradient, start, lambda rows: rows, rng, step=1e-3, n_steps=500)


@pytest.mark.parametrize(
    ("sampler", "says"),
    [
        (lambda F, start, rng: lines(F, start, np.random.default_rng()), "the same seed must give the same draws"),
        (lambda F, start, rng: lines(F, start, np.random.default_rng(3)), "another seed must give other draws"),
        (scribbling, "the starting points must not be changed"),
        (spoiling, "the potential must not be changed"),
        (lambda F, start, rng: lines(F, start, rng)[:5], "there must be a draw for each chain"),
        (lambda F, start, rng: lines(F, start, rng) / 0.0, "the same seed|draws must be finite"),
        (escaping, "draws must lie in the ball of radius 1.0"),
        (lambda F, start, rng: hit_and_run(F, start, rng, radius=1.0, n_steps=1), "standard errors off"),
        (lambda F, start, rng: uniform_ball(len(start), start.shape[1], 1.0, rng), "standard errors off"),
        (lambda F, start, rng: lines(HingePotential(F.features, 1.3 * F.weights, F.margin), start, rng), "errors off"),
        (lambda F, start, rng: lines(HingePotential(F.features, F.weights, 1.1 * F.margin), start, rng), "errors off"),
        (lambda F, start, rng: 0.97 * lines(F, start, rng), "errors off"),
    ],
)
def test_samplers_that_break_a_promise_are_caught(sampler: Any, says: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(AssertionError, match=says):
        check_sampler(sampler)
