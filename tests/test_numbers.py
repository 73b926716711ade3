"""What once reached compiled code, or came back as a number: rows A6, A10 and A12 of the findings, one by one."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits import environments, policies, projections, samplers, surrogates, theory, weighting
from marginbandits.theory import Game, Power, Setting

GAME = Game(n_actions=2, horizon=1000, margin=0.5)
RNG = np.random.default_rng(0)
F = samplers.HingePotential(features=np.eye(2), weights=np.ones(2), margin=0.5)
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
MASKED = np.ma.masked_array([0.2, 0.3, 0.5], [True, False, False])
STRINGS = np.array(["0.2", "0.3", "0.5"], object)
SECOND = np.timedelta64(1, "s")

REFUSED: list[tuple[Callable[..., object], str]] = [
    # A6: what reaches compiled code.
    (lambda: samplers.hit_and_run(F, np.zeros((1, 2)), RNG, radius=1e160, n_steps=1), "radius"),
    (lambda: samplers.hit_and_run(F, [[ENDLESS]], RNG, radius=1.0, n_steps=1), "start"),
    (lambda: samplers.HingePotential(np.eye(2), np.ones(1), 0.5), "weights"),
    (lambda: samplers.HingePotential(np.full((1, 2), np.nan), np.ones(1), 0.5), "features"),
    (lambda: policies.largest_of_normals(np.zeros(4), np.ones(4), np.ones(2, bool)), "available"),
    (lambda: policies.largest_of_normals(np.zeros(4), np.ones(3), np.ones(4, bool)), "deviation"),
    (lambda: policies.largest_of_normals(np.full(2, 1e308), np.ones(2), np.ones(2, bool)), "mean"),
    *((lambda f=f: f(ENDLESS), "") for f in (policies.greedy, policies.proportional, projections.simplex)),
    (lambda: policies.sample(ENDLESS, 0.5), "distribution"),
    # A12: kinds.
    *((lambda v=v: policies.greedy(v), "scores") for v in (MASKED, STRINGS, np.zeros(3, "m8[s]"), [[1.0], [1.0, 2.0]])),
    (lambda: policies.sample(np.array([0.5, -0.5, 1.0]), 0.1), "distribution"),
    (lambda: policies.sample(np.array([0.5, 0.5]), SECOND), "draw"),  # type: ignore[arg-type]
    (lambda: policies.uniform(10**400), "n_actions"),
    (lambda: weighting.loss_side(3, np.timedelta64(1, "s"), 0.5, 0.5), "action"),  # type: ignore[arg-type]
    (lambda: weighting.thresholded([np.nan, 0.5], 1, 0.5), "distribution"),
    (lambda: weighting.thresholded([0.5, 0.5], 0, np.nan), "loss"),
    (lambda: weighting.thresholded([0.5, 0.5], SECOND, 0.5), "action"),  # type: ignore[arg-type]
    (lambda: surrogates.margin_loss([np.nan, 1.0], [0.5, 0.5], 0.1), "scores"),
    (lambda: surrogates.margin_loss([0.0, 1.0], [np.nan, 0.5], 0.1), "losses"),
    (lambda: surrogates.margin_loss([0.0, 1.0, 2.0], [0.5, 0.5], 0.1), "losses"),
    (lambda: surrogates.Hinge(0.5)(["1", "2"]), "scores"),
    (lambda: surrogates.Hinge(0.5)(MASKED), "scores"),
    (lambda: environments.LinearRealizable(2, 3, 10**400), "n_rounds"),
    (lambda: environments.LinearRealizable(10**6, 10**6, 3), "n_actions"),
    (lambda: mb.Classification([[1.0], [2.0]], np.ma.masked_array([0, 1], [True, False])), "y"),
    (lambda: mb.Oblivious.of(MASKED[None], [[0.0, 1.0]]), "contexts"),
    (lambda: mb.interval([0.1, SECOND]), "values"),  # type: ignore[arg-type]
    # A12: theory.
    (lambda: theory.second_moment("nonsense", GAME), "surrogate"),
    (lambda: theory.second_moment("ramp", None), "game"),  # type: ignore[arg-type]
    (lambda: theory.finite_rate(math.nan, 1.0, 10), "log_size"),
    (lambda: theory.finite_rate(2.0, 1.0, 0), "rounds"),
    (lambda: theory.epoch_end("1", 2.0), "start"),  # type: ignore[arg-type]
    (lambda: theory.margin_ramp("entropy", GAME), "entropy"),  # type: ignore[arg-type]
    (lambda: theory.promises(3, GAME), "known"),  # type: ignore[arg-type]
    (lambda: theory.hinge_lmc_printed(GAME), "setting"),  # type: ignore[arg-type]
    (lambda: Game(2, 10**400, 0.5), "horizon"),
    (lambda: Game(2, 10, SECOND), "margin"),  # type: ignore[arg-type]
    (lambda: Power(2.0).at(math.nan), "scale"),
    (lambda: theory.Bound("b", {"a": math.nan}, 10), "terms"),
    (lambda: theory.sequential_rademacher([[1.0, 2.0, 3.0]], 19), "depth"),
    (lambda: theory.useful_from(lambda T: None), "bound"),  # type: ignore[arg-type, return-value]
]


@pytest.mark.parametrize(("call", "name"), REFUSED, ids=[f"{i}-{name}" for i, (_, name) in enumerate(REFUSED)])
def test_refused_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}.* must ") as caught:
        call()
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize("p", [0.001, 0.5, 2.0, 12.0, 100.0, 1000.0])
@pytest.mark.parametrize("margin", [1e-30, 0.1, 1e15])
def test_every_promise_is_a_number_or_infinite(p: float, margin: float) -> None:
    game = Game(n_actions=10**15, horizon=10**66, margin=margin)
    for bound in theory.promises(Power(p), game):
        assert bound.value >= 0.0


@pytest.mark.parametrize("version", ["printed", "proof", "corrected"])
def test_tuning_at_the_ends_of_its_range_is_finite(version: str) -> None:
    for margin, bound in ((1e-30, 1e30), (1e30, 1e-30)):
        extreme = Setting(10**9, 10**15, 10**66, margin, radius=1e30, lipschitz=1e30, bound=bound)
        tuned = theory.hinge_lmc_tuning(extreme, version=version)
        assert math.isfinite(tuned.log10_steps)
        assert tuned.smoothing > 0.0


def test_entropy_beyond_floats_is_infinite_and_its_integral_exact_where_it_is_not() -> None:
    assert Power(100.0).at(1e-4) == math.inf
    assert Power(100.0).integral(1e-9, 0.5) == math.inf
    assert Power(0.001).integral(5e-324, 1.0) == pytest.approx(1.0 / 0.9995)
    assert Power(100.0).scale_at(1e300) == pytest.approx(1e-3)


@pytest.mark.parametrize("column", [4, 9, 500_000_000, -1, -3])
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("features", ["raw", mb.Identity()], ids=repr)
def test_sparse_rows_point_nowhere_else(column: int, trained: bool, features: Any) -> None:
    """SciPy believes the columns it is given; compiled code would write there."""
    bad = scipy.sparse.csr_array((np.array([1.0, 2.0]), np.array([0, column]), np.array([0, 2])), shape=(1, 4))
    agent = mb.SquareCB(3, features=features, seed=0)
    if trained:
        agent.learn(scipy.sparse.csr_array(np.eye(4)[:1]), mb.Decision(0, 0.5), 0.5)
    before = agent.dumps()
    for call in (lambda: agent.act(bad), lambda: agent.learn(bad, mb.Decision(0, 0.5), 0.5)):
        with pytest.raises(ValueError, match="context must be a sound sparse matrix"):
            call()
    assert agent.dumps() == before


def test_masked_normals_do_not_count() -> None:
    masked = policies.largest_of_normals([0.0, 1e-20, 0.0], [1e-20, 1e-20, 1e150], [True, True, False])
    assert masked[:2] == pytest.approx(policies.largest_of_normals([0.0, 1e-20], [1e-20, 1e-20], [True, True]))
