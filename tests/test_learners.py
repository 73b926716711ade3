import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

import marginbandits as mb
from marginbandits.policies import largest_of_normals
from marginbandits.types import Array

ALL = np.ones(5, bool)


def test_linucb_agrees_with_a_plain_numpy_loop() -> None:
    """Same features (none), same ties: the classic Sherman-Morrison loop takes the same actions."""
    env = mb.LinearRealizable(4, 6, 1500, seed=0)
    agent = mb.LinUCB(4, alpha=0.5, regularisation=0.7, features=mb.Identity(), seed=0)
    inverse, b = np.stack([np.eye(6) / 0.7] * 4), np.zeros((4, 6))
    for t, (x, losses) in enumerate(zip(env.contexts, env.losses, strict=True)):
        ucb = (inverse @ b[..., None])[..., 0] @ x + 0.5 * np.sqrt(np.einsum("i,aij,j->a", x, inverse, x))
        law = agent.act(x).distribution
        assert law is not None
        best = np.flatnonzero(ucb >= ucb.max() - 1e-9)
        assert set(np.flatnonzero(law)) <= set(best), t
        a = int(best[0])
        agent.learn(x, mb.Decision(a, 0.25), losses[a])
        u = inverse[a] @ x
        inverse[a] -= np.outer(u, u) / (1 + u @ x)
        b[a] += (1 - losses[a]) * x


def test_epsilon_greedy_explores_exactly_epsilon() -> None:
    agent = mb.EpsilonGreedy(4, epsilon=0.2, seed=0)
    for action in range(4):
        agent.learn([1.0, 2.0], mb.Decision(action, 0.25), reward=float(action == 2))
    law = agent.act([1.0, 2.0]).distribution
    assert law is not None
    assert np.allclose(law, [0.05, 0.05, 0.85, 0.05])
    masked = agent.act([1.0, 2.0], available=[True, True, False, False]).distribution
    assert masked is not None
    assert np.allclose(masked, [0.5, 0.5, 0, 0])


class TestLinTS:
    @pytest.mark.parametrize("spread", [1.0, 4.0])
    def test_probabilities_are_those_of_thompson_sampling(self, spread: float) -> None:
        """400,000 posterior draws: within five standard errors for every action (rate 1e-5)."""
        rng = np.random.default_rng(0)
        mean = rng.standard_normal(5)
        deviation = np.exp(rng.uniform(-0.5, 0.5, 5) * math.log(spread))
        exact = largest_of_normals(mean, deviation, ALL)
        draws = (mean + deviation * rng.standard_normal((400_000, 5))).argmax(1)
        share = np.bincount(draws, minlength=5) / 400_000
        assert (np.abs(share - exact) < 5 * np.sqrt(exact * (1 - exact) / 400_000) + 1e-6).all()
        wrong = largest_of_normals(mean, 1.1 * deviation, ALL)  # negative control
        assert not (np.abs(share - wrong) < 5 * np.sqrt(wrong * (1 - wrong) / 400_000) + 1e-6).all()

    def test_shared_scores_play_the_share_of_particles_won(self) -> None:
        agent = mb.LinTS(3, n_particles=10, seed=0)
        context = np.eye(3)
        agent.learn(context, mb.Decision(1, 0.3), reward=1.0)
        agent.learn(-context, mb.Decision(1, 0.3), reward=0.0)
        law = agent.act(context).distribution
        assert law is not None
        assert np.allclose(law * 10, np.round(law * 10))

    def test_scale_widens_the_posterior(self) -> None:
        """Vector and K x d contexts: with a tiny scale the law is greedy, with a huge one nearly uniform."""
        for context in (np.array([1.0]), np.eye(2)):
            laws = []
            for scale in (1e-3, 1e3):
                agent = mb.LinTS(2, scale=scale, features=mb.Bias(), n_particles=2000, seed=0)
                for action, reward in ((0, 1.0), (1, 0.0)) * 5:
                    agent.learn(context, mb.Decision(action, 0.5), reward=reward)
                law = agent.act(context).distribution
                assert law is not None
                laws.append(law[0])
            assert laws[0] > 0.999
            assert abs(laws[1] - 0.5) < 0.06

    def test_particles_have_the_posteriors_covariance(self) -> None:
        """Two actions at x and 0: P(first) = N(mean/σ) by the shared posterior; 20,000 particles, five errors."""
        agent = mb.LinTS(2, scale=3.0, features=mb.Identity(), n_particles=20_000, seed=0)
        rng = np.random.default_rng(0)
        correlated = np.array([[1.0, 0.9, 0.8], [0.0, 0.3, 0.2], [0.0, 0.0, 0.3]])
        for _ in range(30):
            agent.learn(rng.standard_normal((2, 3)) @ correlated, mb.Decision(int(rng.integers(2)), 0.5), 0.3)
        for x in rng.standard_normal((20, 3)):
            law = agent.act(np.stack([x, np.zeros(3)])).distribution
            assert law is not None
            mean, variance = agent._ridge.theta[0] @ x, x @ agent._ridge.covariance(0) @ x
            exact = stats.norm.cdf(mean / (3.0 * np.sqrt(variance)))
            assert abs(law[0] - exact) < 5 * np.sqrt(0.25 / 20_000)


class TestInputs:
    @pytest.mark.parametrize(
        "context",
        [
            [1j, 2.0],
            ["1", "2"],
            np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
            np.ma.masked_array([1.0, 2.0], [True, False]),
            [10**400, 1],
            [None, 1.0],
            [[1.0], [1.0, 2.0]],
        ],
        ids=str,
    )
    def test_what_is_no_number_is_no_context(self, context: object) -> None:
        agent = mb.LinUCB(2, seed=0)
        with pytest.raises(ValueError, match="context"):
            agent.act(context)  # type: ignore[arg-type]  # refused on purpose

    def test_huge_whole_numbers_are_refused_everywhere(self) -> None:
        agent = mb.LinUCB(2, seed=0)
        with pytest.raises(ValueError, match="loss"):
            agent.learn([1.0], mb.Decision(0, 0.5), loss=10**400)
        with pytest.raises(ValueError, match="probability"):
            agent.learn([1.0], mb.Decision(0, 10**400), loss=0.5)
        with pytest.raises(ValueError, match="probability"):
            agent.learn([1.0], mb.Decision(0, True), loss=0.5)
        with pytest.raises(ValueError, match="alpha"):
            mb.LinUCB(2, alpha=10**400)

    def test_batches_that_are_no_batches_are_refused(self) -> None:
        agent, good = mb.LinUCB(2, seed=0), mb.Decision(0, 0.5)
        for name, arguments in (("losses", ([good], 0.5)), ("decisions", (None, [0.5])), ("decisions", (good, [0.5]))):
            with pytest.raises(ValueError, match=f"{name} must be a sequence"):
                agent.learn_many([[1.0]], *arguments)
        with pytest.raises(ValueError, match="action"):
            agent.learn_many([[1.0]], [mb.Decision(7, 0.5)], [0.5])
        for mask in (True, np.array(True), [], [[True], [True, False]]):
            with pytest.raises(ValueError, match="available"):
                agent.act_many([[1.0]], available=mask)
        with pytest.raises(ValueError, match="available"):
            agent.act([1.0], available=[[True], [True, False]])
        assert agent.act_many(np.empty((0, 3))) == []

    def test_masks_may_be_columns_of_a_table(self) -> None:
        table = np.array([[True, False], [False, True], [True, True]])
        for learner in (mb.LinUCB, mb.LinTS, mb.EpsilonGreedy, mb.Uniform):
            agent = learner(3, seed=0)
            agent.learn([1.0, 2.0], mb.Decision(0, 0.5), 0.5)
            assert agent.act([1.0, 2.0], available=table[:, 0]).action in (0, 2)

    def test_sparse_contexts_of_every_kind(self) -> None:
        from scipy import sparse

        agent = mb.LinUCB(2, seed=0)
        row = np.array([1.0, 0.0, 2.0])
        kinds = [
            sparse.csr_array(row[None]),
            sparse.csr_matrix(row[None]),
            sparse.coo_array(row[None]),
            sparse.coo_array(row),
        ]
        for context in kinds:
            agent.learn(context, agent.act(context), 0.5)
        assert agent.state()["features.moments"][-1, 0] == 4

    def test_a_model_that_is_no_longer_finite_says_so(self) -> None:
        agent = mb.LinUCB(2, seed=0)
        agent.learn([1.0], mb.Decision(0, 0.5), 0.5)
        agent._ridge.theta[0, 0] = np.nan
        with pytest.raises(FloatingPointError, match="finite"):
            agent.act([1.0])

    def test_values_beyond_the_largest_are_refused_and_below_it_learnt(self) -> None:
        agent = mb.LinUCB(2, seed=0)
        agent.learn([9e99], mb.Decision(0, 0.5), 0.5)
        with pytest.raises(ValueError, match="within ±1e100"):
            agent.act([2e100])

    def test_anything_array_like_is_a_context(self) -> None:
        agent = mb.LinUCB(2, seed=0)
        for context in (
            [1, 2],
            (1.0, 2.0),
            np.array([1, 2], np.int8),
            np.array([1, 2], np.float32),
            np.array([[1, 2], [3, 4]])[0],
        ):
            agent.learn(context, agent.act(context), 0.5)
        column = np.asfortranarray(np.arange(6.0).reshape(3, 2))[1]
        assert not column.flags.c_contiguous
        agent.learn(column, agent.act(column), 0.5)
        frozen = np.ones(2)
        frozen.flags.writeable = False
        agent.learn(frozen, agent.act(frozen), 0.5)

    def test_comparisons_are_losses(self) -> None:
        agent = mb.LinUCB(2, seed=0)
        for loss in (True, np.bool_(False), 1, 0, np.float32(0.5), np.int64(1)):
            agent.learn([1.0], mb.Decision(0, 0.5), loss=loss)

    def test_numpy_numbers_are_actions_and_probabilities(self) -> None:
        agent = mb.LinUCB(2, seed=0)
        agent.learn([1.0], mb.Decision(np.int64(1), np.float32(0.5)), loss=0.0)  # type: ignore[arg-type]  # refused on purpose

    def test_the_first_context_learnt_fixes_the_shape(self) -> None:
        agent = mb.LinUCB(3, seed=0)
        agent.act([1.0, 2.0])
        agent.act(np.ones((3, 7)))  # nothing is fixed yet
        agent.learn([1.0, 2.0], mb.Decision(0, 0.5), 0.5)
        with pytest.raises(ValueError, match="context must be a vector of 2 features as before, got a vector of 3"):
            agent.act([1.0, 2.0, 3.0])

    def test_masks_per_row(self) -> None:
        agent = mb.Uniform(2, seed=0)
        decisions = agent.act_many(np.ones((3, 1)), available=[[True, False], [False, True], [True, True]])
        assert [d.action for d in decisions][:2] == [0, 1]
        assert [d.probability for d in decisions] == [1.0, 1.0, 0.5]
        with pytest.raises(ValueError, match="available must be one mask, or one for each of 3 contexts, got 2"):
            agent.act_many(np.ones((3, 1)), available=[[True, False], [False, True]])

    def test_losses_or_rewards_but_not_both_or_neither(self) -> None:
        agent = mb.LinUCB(2, seed=0)
        for options in ({}, {"losses": [0.5], "rewards": [0.5]}):
            with pytest.raises(ValueError, match="either losses or rewards"):
                agent.learn_many([[1.0]], [mb.Decision(0, 0.5)], **options)
        agent.learn_many([[1.0]], [mb.Decision(0, 0.5)], rewards=np.array([0.5]))

    def test_actions_must_match_the_environment(self) -> None:
        with pytest.raises(ValueError, match="the learner has 2 actions, the environment 3"):
            mb.simulate(mb.Uniform(2), mb.Classification.bundled("iris"))

    def test_a_learner_too_large_for_memory_says_how_large_and_what_to_use_instead(self) -> None:
        agent = mb.LinUCB(2, features=mb.Identity(), seed=0)
        state = agent._rng.bit_generator.state
        with pytest.raises(ValueError, match=r"LinUCB cannot be built for 2 actions .* GiB.*SquareCB"):
            agent.learn(np.zeros(3_000_000), mb.Decision(0, 0.5), 0.5)
        assert agent.state() == {}
        assert agent._rng.bit_generator.state == state
        agent.learn([1.0], mb.Decision(0, 0.5), 0.5)


def test_adding_a_learner_does_not_change_anothers_draws() -> None:
    def play(extra: bool) -> Array:
        root = np.random.SeedSequence(5)
        first, second = (np.random.default_rng(s) for s in root.spawn(2))
        agent = mb.EpsilonGreedy(3, seed=first)
        if extra:
            mb.simulate(mb.LinTS(3, seed=second), mb.Classification.bundled("iris", seed=0))
        return mb.simulate(agent, mb.Classification.bundled("iris", seed=0)).losses

    assert np.array_equal(play(False), play(True))


def test_learners_can_be_copied_and_pickled() -> None:
    agent = mb.LinTS(3, features="fourier", seed=0)
    mb.simulate(agent, mb.Classification.bundled("iris", seed=0))
    again = pickle.loads(pickle.dumps(agent))
    assert [agent.act(np.ones(4)).action for _ in range(5)] == [again.act(np.ones(4)).action for _ in range(5)]


def test_repr_shows_the_parameters() -> None:
    assert repr(mb.EpsilonGreedy(2, epsilon=0.5, seed=3)) == (
        "EpsilonGreedy(n_actions=2, epsilon=0.5, regularisation=0.1, features='raw', seed=3)"
    )


def test_the_limit_of_memory_is_the_users_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginbandits.state.LIMIT", 10_000)
    with pytest.raises(ValueError, match="LinUCB cannot be built"):
        mb.LinUCB(3, seed=0).learn(np.ones(40), mb.Decision(0, 0.5), 0.5)
    mb.SquareCB(3, seed=0).learn(np.ones(40), mb.Decision(0, 0.5), 0.5)


class Averaging(mb.Identity):
    """A map that loses rows."""

    def _transform(self, rows: Any) -> Any:
        return rows.mean(0, keepdims=True)


class Spoiling(mb.Identity):
    """A map that makes numbers up."""

    def _transform(self, rows: Any) -> Any:
        return np.full_like(rows, np.nan)


def test_what_a_map_of_ones_own_returns_is_checked() -> None:
    for features in (Averaging(), Spoiling()):
        agent = mb.LinUCB(2, features=features, seed=0)
        with pytest.raises(ValueError, match=type(features).__name__):
            agent.learn(np.ones((3, 4)), mb.Decision(0, 0.5), 0.5)
        assert agent.state() == {}


@pytest.mark.parametrize("learner", [mb.LinUCB, mb.HingeLMC, mb.SquareCB, mb.LinTS])
def test_copies_go_on_alike_and_apart(learner: type[mb.Learner]) -> None:
    agent: Any = learner(n_actions=3, seed=0)  # type: ignore[call-arg]  # all of these take it
    rng = np.random.default_rng(0)
    for _ in range(10):
        agent.learn(rng.standard_normal(2), mb.Decision(int(rng.integers(3)), 0.5), 0.5)
    before = agent.dumps()
    copies = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent)), mb.loads(before)]
    for x in rng.standard_normal((20, 2)):
        for one in copies:
            one.learn(x, mb.Decision(1, 0.5), 1.0)
    assert agent.dumps() == before
    assert len({one.dumps() for one in copies}) == 1
    assert copies[0].dumps() != before


@pytest.mark.soak
def test_a_wide_shared_ridge_can_be_loaded() -> None:
    agent = mb.LinUCB(2, features=mb.Identity(), seed=0)
    agent.learn(np.random.default_rng(0).standard_normal((2, 4200)), mb.Decision(0, 0.5), 0.5)
    assert mb.loads(agent.dumps()).state().keys() == agent.state().keys()


def test_several_sparse_rows_are_no_vector() -> None:
    agent, rows = mb.SquareCB(3, seed=0), sparse.random_array((5, 40), density=0.2, format="csr", rng=1)
    agent.learn(rows[[0]], mb.Decision(0, 0.5), 0.5)
    for call in (agent.act, agent.law, lambda x: agent.learn(x, mb.Decision(0, 0.5), 0.5)):
        with pytest.raises(ValueError, match="context must be a vector of 40 features as before, got rows"):
            call(rows[:2])


def test_many_at_once_say_which_is_bad() -> None:
    agent, contexts, good = mb.LinUCB(3, seed=0), np.ones((4, 2)), [mb.Decision(0, 0.5)] * 4
    agent.learn(contexts[0], good[0], 0.5)
    before = agent.dumps()
    for message, call in {
        r"losses\[3\]: loss must be a number in \[0, 1\], got 1.5": (contexts, good, [0, 0, 0, 1.5], None),
        r"decisions\[1\]: action must be": (contexts, [good[0], mb.Decision(7, 0.5), *good[2:]], [0.0] * 4, None),
        r"contexts\[2\]: available must leave": (contexts, good, [0.0] * 4, [None, None, [False] * 3, None]),
        "contexts has nan at row 1, column 0": ([[1, 2], [np.nan, 1], [1, 1], [1, 1]], good, [0.0] * 4, None),
    }.items():
        with pytest.raises(ValueError, match=message):
            agent.learn_many(call[0], call[1], call[2], available=call[3])
    assert agent.dumps() == before


@pytest.mark.parametrize("masks", [[], np.ones((0, 3), bool), None, [True, True, False]])
def test_no_contexts_and_their_masks(masks: Any) -> None:
    agent = mb.LinUCB(3, seed=0)
    assert agent.act_many(np.empty((0, 4)), available=masks) == []
    agent.learn_many(np.empty((0, 4)), [], [], available=masks)


def test_decisions_are_json_and_come_back() -> None:
    agent = mb.SquareCB(3, seed=0)
    decision = agent.act([1.0, 2.0])
    again = mb.Decision.from_dict(json.loads(json.dumps(decision.to_dict())))
    assert (again.action, again.probability) == (decision.action, decision.probability)
    assert again.to_dict() == decision.to_dict()
    agent.learn([1.0, 2.0], again, loss=0.0)
    assert mb.Decision.from_dict({"action": 1, "probability": 0.5}).distribution is None
    placed = mb.PlacedDecision(1, 0.5, None, np.array([0.2]))
    assert mb.PlacedDecision.from_dict(placed.to_dict()).point == np.array([0.2])


@pytest.mark.parametrize(
    "values",
    [
        None,
        [],
        {},
        {"action": 1},
        {"action": 1, "probability": 0.5, "law": [1.0]},
        {"action": 1, "probability": 1, "distribution": "x"},
    ],
)
def test_what_is_no_decision_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match=r"must (be|have)"):
        mb.Decision.from_dict(values)
