"""The first rounds, learnt anew: what is then known is what would be known had the scale been known from the start."""

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.contexts import Batch, per_action, shared
from marginbandits.learners.early import Early
from tests.problems import played


def one(*values: float) -> Batch:
    return per_action(np.array([values]), 2)


@pytest.mark.parametrize(("rounds", "anew"), [(64, True), (63, False)])
def test_after_a_doubling_all_was_learnt_in_today_s_scales(rounds: int, anew: bool) -> None:
    rng = np.random.default_rng(0)
    agent = mb.Mixture(2, experts=[mb.RidgeExpert()], seed=0)
    kept = []
    for x in rng.standard_normal((rounds, 3)) * [1.0, 100.0, 1e-3] + [5.0, 0.0, 0.0]:
        decision = agent.act(x)
        agent.learn(x, decision, loss=float(x[0] > 5.0))
        kept.append((x, decision.action, float(x[0] > 5.0)))
    fresh = mb.RidgeExpert()._start(2, agent._maps[0].n_outputs)
    for x, action, loss in kept:
        fresh._learn(per_action(agent._maps[0].transform(x[None]), 2), action, loss)
    assert np.allclose(fresh.fields()["theta"].array, agent.state()["expert0.theta"], atol=1e-5) == anew


def test_the_newest_round_is_learnt_once() -> None:
    """By trees too, which do not learn anew."""
    for rounds in (8, 16, 20):
        agent = mb.Mixture(2, experts=[mb.TreesExpert(n_trees=2), mb.RidgeExpert()], seed=0)
        played(agent, rounds)
        assert agent.state()["expert0.held"].sum() == rounds
        assert agent.state()["early.rounds"][0] == rounds


def test_hinge_lmc_counts_every_round_once() -> None:
    agent = mb.HingeLMC(2, features="raw", seed=0)
    played(agent, 130)
    assert agent.state()["reservoir.seen"].sum() == 130 == agent.diagnostics().rounds


def test_rounds_kept_are_given_up_at_the_end() -> None:
    agent = mb.Mixture(2, experts=[mb.RidgeExpert()], seed=0)
    played(agent, 255)
    large = len(agent.dumps())
    played(agent, 2)
    assert not agent.state()["early.rows"].any()
    assert len(agent.dumps()) < large - 255 * 4 * 8


def test_what_does_not_fit_is_not_learnt_anew() -> None:
    """Room for 16 rounds of 2 rows: of rounds with 3 rows, 10 fit."""
    kept = Early(most=16, together=True, n_actions=2, width=1)
    due = []
    for _ in range(12):
        due.append(kept.due())
        kept.put(shared([np.ones((3, 1))]), 2, 0.0, 1.0)
    assert due == [False] * 7 + [True] + [False] * 4
    assert kept.rounds[0] == 16
    assert not kept.rows.any()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("starts", 0, "rows"), ("actions", 2, "actions"), ("results", 0.0, "probabilities")],
)
def test_rounds_that_cannot_have_been_are_refused(field: str, value: float, message: str) -> None:
    kept = Early(most=16, together=False, n_actions=2, width=1)
    for _ in range(5):
        kept.put(one(1.0), 1, 0.0, 1.0)
    kept.check()
    getattr(kept, field)[2] = value
    with pytest.raises(ValueError, match=message):
        kept.check()
