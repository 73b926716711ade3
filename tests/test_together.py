"""Learners of networks played together: the same as one at a time, each for itself, and what may not be played so."""

from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.learners import early
from marginbandits.learners.hinge_lmc.stacks import stretches
from marginbandits.learners.hinge_lmc.together import AHEAD, _Program, alike, together

SMALL = {"n_networks": 3, "width": 16, "minibatch": 32}


def table(n: int, n_actions: int, seed: int, d: int = 5) -> mb.Oblivious:
    """A task that is not linear."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    right = (np.abs(x @ rng.standard_normal((d, n_actions)))).argmax(1)
    return mb.Oblivious.of(x, 1.0 - np.eye(n_actions)[right])


def learner(seed: int, n_actions: int, margin: float = 0.3, rate: float = 0.003, **others: object) -> mb.HingeLMC:
    recipe = mb.Networks(rate=rate, **SMALL)  # type: ignore[arg-type]
    return mb.HingeLMC(n_actions, scores=recipe, margin=margin, seed=seed, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n_actions", "surrogate"), [(2, "squared_hinge"), (4, "hinge")])
def test_each_plays_as_it_would_alone(n_actions: int, surrogate: str) -> None:
    """Past the first rounds, which are played otherwise, with rates, margins and floors that differ."""
    n = AHEAD + 100
    settings = [(0, 0.3, 0.003, 0.5), (1, 0.5, 0.01, 0.1), (2, 0.3, 0.001, 0.01)]

    def made() -> list[mb.HingeLMC]:
        return [learner(s, n_actions, m, r, surrogate=surrogate, smoothing=f) for s, m, r, f in settings]

    met = [table(n, n_actions, seed) for seed in range(3)]
    told: list[int] = []
    runs = together(made(), met, told.append)
    assert told == [AHEAD, 100]
    for run, one, env in zip(runs, made(), met, strict=True):
        assert run is not None
        trace = mb.simulate(one, env)
        assert (run.actions == trace.actions).all()
        assert np.abs(run.laws - trace.laws).max() < 1e-4
    swapped = together([made()[0]], [mb.Oblivious.of(met[0].contexts, met[1].losses)])[0]
    assert runs[0] is not None
    assert swapped is not None  # control: other losses are another run
    assert (swapped.actions != runs[0].actions).mean() > 0.05


def test_networks_are_bit_for_bit_those_of_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the same is played: steps, paces and decays are rounded as they are alone."""
    programs: list[_Program] = []
    made = _Program.__init__

    def kept(self: _Program, *given: Any) -> None:
        made(self, *given)
        programs.append(self)

    monkeypatch.setattr(_Program, "__init__", kept)
    env, rates = table(AHEAD + 50, 3, 0), [0.003, 0.01, 0.0007]
    together([learner(s, 3, rate=rate) for s, rate in enumerate(rates)], [env] * 3)
    (program,), cuts = programs, stretches(programs[0].shape, 3)
    for s, rate in enumerate(rates):
        alone: Any = learner(s, 3, rate=rate)
        mb.simulate(alone, env)
        found = np.concatenate([program.parameters[i:j] for of, i, j in cuts.tolist() if of == s])
        assert np.array_equal(found, alone._networks.ensemble.parameters)


@pytest.mark.parametrize("rate", [1e4, 1e6])
def test_one_whose_numbers_are_lost_is_lost_alone(rate: float) -> None:
    """At 1e6 weights are; at 10,000 squares of slopes, after which weights move no more. Alone both are refused."""
    env = table(200, 3, 0)
    runs = together([learner(0, 3), learner(1, 3, rate=rate), learner(2, 3)], [env] * 3)
    alone = together([learner(2, 3)], [env])[0]
    with pytest.raises(FloatingPointError):
        mb.simulate(learner(1, 3, rate=rate), env)
    assert runs[1] is None
    assert runs[2] is not None
    assert alone is not None
    assert (runs[2].actions == alone.actions).all()


@pytest.mark.parametrize(
    "other",
    [
        mb.LinUCB(3),
        mb.HingeLMC(3),
        mb.HingeLMC(4, scores=mb.Networks(**SMALL)),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(n_networks=3, width=17, minibatch=32)),
        mb.HingeLMC(3, scores=mb.Networks(sampler="langevin", **SMALL)),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(background=True, **SMALL)),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), features="fourier"),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), window=100),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), smoothing=0.0),  # type: ignore[arg-type]
    ],
)
def test_only_those_that_are_alike(other: mb.Learner) -> None:
    assert alike(other) != alike(learner(0, 3))
    with pytest.raises(ValueError, match="alike"):
        together([learner(0, 3), other], [table(20, 3, 0)] * 2)


class Later(mb.HingeLMC):
    EARLY = 2 * AHEAD


def begun() -> mb.HingeLMC:
    one = learner(0, 3)
    mb.simulate(one, table(5, 3, 0))
    return one


@pytest.mark.parametrize(
    "one",
    [
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), features=mb.Identity()),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), features=mb.Chain([mb.Standardise(), mb.Identity()])),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(image=(5,), **SMALL)),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), loss_range=(0.0, 4.0)),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), reward_range=(0.0, 1.0)),  # type: ignore[arg-type]
        mb.HingeLMC(3, scores=mb.Networks(**SMALL), actions=["a", "b", "c"]),  # type: ignore[arg-type]
        Later(3, scores=mb.Networks(**SMALL)),  # type: ignore[arg-type]
        begun(),
    ],
)
def test_what_a_batch_does_not_do_is_played_alone(one: mb.HingeLMC) -> None:
    """Rows in any scale, losses of other ranges, names of actions, more first rounds, and what has learnt already."""
    assert alike(one) is None


def test_what_cannot_be_played_together_is_refused() -> None:
    one, env = learner(0, 3), table(20, 3, 0)
    for learners, met, reason in [
        ([one, learner(1, 3)], [env, table(10, 3, 0)], "as many rounds"),
        ([one], [table(20, 4, 0)], "3 actions"),
        ([one], [env, env], "as many environments"),
        ([one, one], [env, env], "one object each"),
        ([], [], "alike"),
    ]:
        with pytest.raises(ValueError, match=reason):
            together(learners, met)


def test_wide_rows_are_learnt_anew_as_long_as_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As alone: of rows of 5 numbers, 20 have room here."""
    monkeypatch.setattr(early, "_ROOM", 100)
    env = table(AHEAD + 20, 3, 0)
    run, trace = together([learner(0, 3)], [env])[0], mb.simulate(learner(0, 3), env)
    assert run is not None
    assert (run.actions == trace.actions).all()
