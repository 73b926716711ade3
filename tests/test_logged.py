"""A log that is played again, and learnt from."""

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb


class TestLogged:
    def test_replay_is_unbiased_under_uneven_logging(self) -> None:
        """A fixed policy's replayed loss matches its true loss within five standard errors (rate 1e-6).

        Without the coin (negative control) the logged policy's habits leak in.
        """
        rng = np.random.default_rng(0)
        n = 60_000
        x = rng.integers(2, size=n)
        # Context 1 is common among rounds where action 0 was logged with high probability.
        p0 = np.where(x == 1, 0.9, 0.2)
        action = (rng.random(n) >= p0).astype(int)
        loss = np.where(x == 1, 0.8, 0.1)
        log = mb.Logged(x[:, None], action, loss, np.where(action == 0, p0, 1 - p0), n_actions=2, seed=1)
        answers = [r.reveal(mb.Decision(0, 1.0)) for r in log]
        kept = np.array([a for a in answers if a is not None])
        expected = (p0 * np.where(p0 > 0, 0.1 / p0, 0)).sum()  # each agreeing round is kept with probability 0.1/p
        assert abs(len(kept) - expected) < 5 * np.sqrt(expected)
        truth = loss.mean()
        assert abs(kept.mean() - truth) < 5 * kept.std() / np.sqrt(len(kept))
        without_coin = loss[action == 0].mean()
        assert abs(without_coin - truth) > 5 * kept.std() / np.sqrt(len(kept))

    def test_a_log_teaches_off_policy(self) -> None:
        env = mb.Classification.bundled("iris", seed=0)
        rng = np.random.default_rng(0)
        actions = rng.integers(3, size=150)
        log = mb.Logged(env.contexts, actions, env.losses[np.arange(150), actions], [1 / 3] * 150, n_actions=3)
        agent = mb.EpsilonGreedy(3, epsilon=0.0, seed=0)
        for interaction in log.interactions():
            agent.learn(interaction.context, interaction.decision, interaction.loss)
        right = [env.losses[t, agent.act(x).action] == 0 for t, x in enumerate(env.contexts)]
        assert np.mean(right) > 0.7

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"actions": [0, 2]}, "actions must be whole numbers from 0 to 1"),
            ({"actions": [0.0, 1.0]}, "actions"),
            ({"actions": [0]}, "actions must hold one value for each of 2"),
            ({"losses": [0.5, 1.5]}, "got 1.5 in round 1"),
            ({"losses": [np.nan, 0.5]}, "got nan in round 0"),
            ({"probabilities": [0.5, 0.0]}, "got 0.0 in round 1"),
            ({"contexts": [[1.0], [np.inf]]}, "got inf in round 1"),
            ({"contexts": [1.0, 2.0]}, "contexts must be .*2 or 3 dimensions"),
            ({"losses": [0.5j, 0.5]}, "losses must be .*numbers"),
        ],
    )
    def test_bad_logs_are_refused(self, change: dict[str, object], message: str) -> None:
        good = {"contexts": [[1.0], [2.0]], "actions": [0, 1], "losses": [0.5, 0.5], "probabilities": [0.5, 0.5]}
        mb.Logged(**good, n_actions=2)  # type: ignore[arg-type]  # refused on purpose
        with pytest.raises(ValueError, match=message):
            mb.Logged(**{**good, **change}, n_actions=2)  # type: ignore[arg-type]  # refused on purpose

    def test_sparse_contexts_names_and_rewards(self) -> None:
        dense = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
        rest = {"actions": [0, 1, 1], "probabilities": [0.5] * 3, "n_actions": 2, "seed": 0}
        plain = mb.Logged(dense, losses=[0.75, 0.0, 1.0], **rest)  # type: ignore[arg-type]  # as declared
        for contexts in (scipy.sparse.csr_array(dense), scipy.sparse.coo_matrix(dense)):
            log = mb.Logged(contexts, rewards=[125, 500, 0], reward_range=(0, 500), **rest)  # type: ignore[arg-type]
            assert log.losses.tolist() == plain.losses.tolist()
            pairs = zip(log.interactions(), plain.interactions(), strict=True)
            assert all(np.array_equal(one.context.toarray()[0], other.context) for one, other in pairs)  # type: ignore[attr-defined]
            agents = mb.SquareCB(2, seed=0), mb.SquareCB(2, seed=0)
            for agent, env in zip(agents, (log, mb.Logged(log.contexts, losses=log.losses, **rest)), strict=True):  # type: ignore[arg-type]
                mb.simulate(agent, env)
            assert agents[0].law(log.contexts[[0]]).tolist() == agents[1].law(log.contexts[[0]]).tolist()
        names = mb.Logged([{"a": 1}, {"b": 2}, {}], losses=[0, 1, 1], **rest)  # type: ignore[arg-type]
        assert [one.context for one in names] == [{"a": 1}, {"b": 2}, {}]
        for change, message in (
            ({}, "give losses or rewards"),
            ({"losses": [0] * 3, "rewards": [0] * 3}, "give either losses or rewards"),
            ({"losses": [0] * 3, "reward_range": (0, 1)}, "give rewards with reward_range"),
            ({"losses": [0] * 3, "probabilities": None}, "probabilities must be given"),
            ({"rewards": [0, 7, 0]}, r"losses must lie in \[0, 1\], got -6.0 in round 1"),
        ):
            with pytest.raises(ValueError, match=message):
                mb.Logged(dense, **{**rest, **change})  # type: ignore[arg-type]  # refused on purpose
        bad = scipy.sparse.csr_array(np.array([[np.inf, 0.0]]))
        with pytest.raises(ValueError, match="contexts must be finite, got inf"):
            mb.Logged(bad, [0], [0.0], [1.0], n_actions=2)

    def test_the_log_is_a_copy(self) -> None:
        losses = np.array([0.5, 0.5])
        log = mb.Logged(np.eye(2), [0, 1], losses, [0.5, 0.5], n_actions=2)
        losses[:] = 7.0
        assert log.losses.tolist() == [0.5, 0.5]
