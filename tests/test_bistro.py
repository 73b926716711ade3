"""BISTRO and BISTRO+: the relaxation is admissible, which defines them, and the leader's play solves its game."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

import marginbandits as mb
from marginbandits.experiments.claims.measuring import NOTHING, played
from marginbandits.theory import bistro_regret
from marginbandits.types import Array
from tests.doubles import arrays_of

T, CELLS = 3, 2


def policies(K: int) -> Array:
    """Every policy on two cells, as weights of one-hot contexts."""
    choices = np.array(list(itertools.product(range(K), repeat=CELLS)))
    return np.asarray(np.eye(K)[choices].transpose(0, 2, 1))


def agent_of(cls: type[mb.BISTRO], K: int, horizon: int = T) -> mb.BISTRO:
    """A learner that has begun; its cost and noise are then set by hand, through its state."""
    agent = cls(K, regressors=policies(K), contexts=np.eye(CELLS), horizon=horizon, seed=0)
    agent.learn(np.eye(CELLS)[0], mb.Decision(0, 1.0), loss=0.0)
    return agent


class Relaxed:
    """The relaxation by enumeration: all contexts, signs and Z of the rounds to come."""

    def __init__(self, agent: mb.BISTRO, *, signs: float = 2.0, drift: float = 1.0) -> None:
        self.agent, self.K, self.L, self.signs, self.drift = agent, agent.n_actions, agent.scale, signs, drift
        self.choices = policies(self.K).argmax(1)  # policies x cells

    def outcomes(self, left: int) -> Iterator[tuple[float, Array]]:
        """Probabilities, and what each policy is charged for the rounds to come."""
        share = self.K / self.L if self.agent.plus else 1.0
        one = [(1.0 - share, np.zeros(len(self.choices)))] if share < 1.0 else []
        for cell in range(CELLS):
            for signs in itertools.product([-1.0, 1.0], repeat=self.K):
                charge = self.signs * self.L * np.array(signs)[self.choices[:, cell]]
                one.append((share / (CELLS * 2**self.K), charge))
        for several in itertools.product(one, repeat=left):
            yield math.prod(p for p, _ in several), sum((c for _, c in several), np.zeros(len(self.choices)))

    def value(self, cost: Array, left: int) -> float:
        least = sum(p * (cost + charge).min() for p, charge in self.outcomes(left))
        return float(-least + self.drift * left * self.K / self.L)

    def charged(self, cost: Array, cell: int, action: int) -> Array:
        return np.asarray(cost + self.L * (self.choices[:, cell] == action))

    def gap(self, cost: Array, left: int) -> float:
        """The relaxation before a round, less the worst of loss and relaxation after it: admissible if never negative.

        Given losses ℓ, an estimate is L e_i with probability ℓ_i/L whatever is played, and all is linear in ℓ.
        """
        state, after = arrays_of(self.agent), 0.0
        for cell in range(CELLS):
            law = np.zeros(self.K)
            for p, charge in self.outcomes(left - 1):
                state["cost"][:], state["noise"][:] = cost, charge
                law += p * self.agent.law(np.eye(CELLS)[cell])
            stays = self.value(cost, left - 1)
            moves = [self.value(self.charged(cost, cell, i), left - 1) - stays for i in range(self.K)]
            worst = max(
                float(law @ losses + np.array(moves) @ losses / self.L)
                for losses in np.array(list(itertools.product([0.0, 1.0], repeat=self.K)))
            )
            after += (stays + worst) / CELLS
        return self.value(cost, left) - after

    def least_gap(self, rounds: int = T) -> float:
        """Over every history of charges of a game of so many rounds."""
        gaps = []
        events = [None, *itertools.product(range(CELLS), range(self.K))]
        for done in range(rounds):
            for history in itertools.combinations_with_replacement(events, done):
                cost = np.zeros(len(self.choices))
                for event in history:
                    cost = cost if event is None else self.charged(cost, *event)
                gaps.append(self.gap(cost, rounds - done))
        return min(gaps)


@pytest.mark.parametrize(("K", "rounds"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("cls", [mb.BISTRO, mb.BISTROPlus])
def test_the_relaxation_is_admissible(cls: type[mb.BISTRO], K: int, rounds: int) -> None:
    agent = agent_of(cls, K, horizon=4000)
    assert agent.scale > 1.5 * K
    assert Relaxed(agent).least_gap(rounds) >= -1e-12


def test_with_less_perturbation_or_without_drift_it_is_not_admissible() -> None:
    """Negative controls: the proof's 2 is generous here, 1 is enough, and then both it and the drift are needed."""
    agent = agent_of(mb.BISTROPlus, 2, horizon=4000)
    assert Relaxed(agent, signs=1.0).least_gap() > 0.1
    assert Relaxed(agent, signs=1.0, drift=0.0).least_gap() < -0.03
    assert Relaxed(agent, signs=0.5).least_gap() < -0.3
    assert Relaxed(agent_of(mb.BISTRO, 2, horizon=4000), signs=0.1).least_gap() < -0.3


def test_the_leaders_action_solves_the_game_that_the_paper_solves_by_more_calls() -> None:
    agent = agent_of(mb.BISTROPlus, 3, horizon=40)
    state, L, rng = arrays_of(agent), agent.scale, np.random.default_rng(0)
    choices = policies(3).argmax(1)[:, 0]
    for _ in range(50):
        state["cost"][:], state["noise"][:] = L * rng.integers(0, 3, 9), 0.5 * L * rng.integers(-3, 4, 9)
        perturbed = state["cost"] + state["noise"]
        psi = np.array([(perturbed + L * (choices == i)).min() for i in range(3)])
        eta = (psi - perturbed.min()) / L
        law = (agent.law(np.eye(CELLS)[0]) - 1.0 / L) / (1.0 - 3.0 / L)
        # Least Σ (q - η)₊ over the simplex, as a linear program in q and the positive parts.
        best = linprog(
            [0, 0, 0, 1, 1, 1],
            A_ub=np.hstack([np.eye(3), -np.eye(3)]),
            b_ub=eta,
            A_eq=[[1, 1, 1, 0, 0, 0]],
            b_eq=[1],
        ).fun
        assert np.maximum(law - eta, 0.0).sum() == pytest.approx(best, abs=1e-9)
    assert np.count_nonzero(eta > 0) <= 1


@pytest.mark.parametrize("cls", [mb.BISTRO, mb.BISTROPlus])
@pytest.mark.parametrize("transductive", [False, True])
def test_noise_has_the_variance_of_the_rounds_to_come(cls: type[mb.BISTRO], transductive: bool) -> None:
    """Four standard errors of the mean and of the variance of 4,000 draws: error rate 2e-4 a policy."""
    horizon = 60
    contexts = np.eye(CELLS)[np.arange(horizon) % 2]
    agent = cls(2, regressors=policies(2), contexts=contexts, transductive=transductive, horizon=horizon, seed=1)
    agent.learn(contexts[0], mb.Decision(0, 0.5), loss=0.0)
    rng = np.random.default_rng(2)
    drawn = np.array([agent._pool.sums(agent._perturbation(rng)) for _ in range(4000)])
    share = 2 / agent.scale if agent.plus else 1.0
    to_come = horizon - 1 if transductive else horizon - 2  # where contexts are known, the next one is among them
    variance = to_come * share * (2 * agent.scale) ** 2
    assert (np.abs(drawn.mean(0)) < 4 * math.sqrt(variance / 4000)).all()
    assert np.allclose(drawn.var(0), variance, rtol=4 * math.sqrt(2 / 4000) * 1.5)


def test_contexts_to_come_come_as_often_as_they_were_given() -> None:
    agent = mb.BISTROPlus(
        2, regressors=policies(2), contexts=np.eye(2)[[0, 1, 1]], transductive=True, horizon=3, seed=0
    )
    agent.learn(np.eye(2)[0], mb.Decision(0, 0.5), loss=1.0)
    before = {name: array.copy() for name, array in agent.state().items()}
    with pytest.raises(ValueError, match="context must be one of the contexts to come"):
        agent.learn(np.eye(2)[0], mb.Decision(0, 0.5), loss=1.0)
    assert all(np.array_equal(before[name], array) for name, array in agent.state().items())
    with pytest.raises(ValueError, match="contexts must be the 4 to come"):
        mb.BISTRO(2, contexts=np.eye(2), transductive=True, horizon=4)


def test_estimates_are_the_losses_on_average() -> None:
    """4,000 rounds of one action at probability 0.4 and loss 0.7; four standard errors, error rate 6e-5."""
    agent = agent_of(mb.BISTROPlus, 2, horizon=4001)
    for _ in range(4000):
        agent.learn(np.eye(CELLS)[1], mb.Decision(1, 0.4), loss=0.7)
    mean = agent.state()["cost"] / 4000
    chosen = policies(2).argmax(1)[:, 1] == 1
    spread = math.sqrt(0.7 / 0.4 * agent.scale / 4000)
    assert np.allclose(mean[chosen], 0.7 / 0.4, atol=4 * spread)
    assert not mean[~chosen].any()


def test_bounds_grow_as_stated() -> None:
    for plus, power in ((False, 0.75), (True, 2 / 3)):
        values = [bistro_regret(16, 3, T, plus=plus).value for T in (10**6, 10**8)]
        assert math.log(values[1] / values[0], 100) == pytest.approx(power, abs=0.01)
    assert bistro_regret(16, 3, 10**6).value < 4.2 * (3 * 10**6) ** (2 / 3) * math.log(16) ** (1 / 3)
    N, horizon = 16, 10**5
    plain = bistro_regret(N, 2, horizon, plus=False)
    assert plain.terms["class"] <= 2 * plain.parameters["L"] * math.sqrt(2 * horizon * math.log(N)) * (1 + 1e-9)


def test_regret_is_under_a_bound_that_bites_and_that_of_a_learner_told_nothing_is_not() -> None:
    """Of two policies, "always the first" and "always the second", which is right but for one round in fifty."""
    rng, horizon = np.random.default_rng(0), 8000
    losses = np.eye(2)[(rng.random(horizon) < 0.02).astype(int)]
    best = losses.sum(0).min()
    uniform = 0.5 * horizon - best
    corners = np.eye(2)[:, :, None]

    def regret(broken: str) -> float:
        agent = mb.BISTRO(2, regressors=corners, contexts=[[1.0]], horizon=horizon, seed=0)
        assert agent.bound().value < 0.97 * uniform
        laws = played(agent, mb.Oblivious.of(np.ones((horizon, 1)), losses), broken).laws
        return float((laws * losses).sum() - best)

    assert regret("") < bistro_regret(2, 2, horizon, plus=False).value < regret(NOTHING)


def test_masks_leave_the_contexts_to_come_as_they_are() -> None:
    """What policies play under a mask is no context of its own: it is drawn from, and counted, as if all could be."""
    agent = mb.BISTROPlus(
        3, regressors=policies(3), contexts=np.eye(2)[[0, 1, 1]], transductive=True, horizon=3, seed=0
    )
    for cell in (1, 0):
        law = agent.law(np.eye(2)[cell], available=[True, False, True])
        assert law[1] == 0.0
        agent.learn(np.eye(2)[cell], mb.Decision(2, float(law[2])), loss=1.0, available=[True, False, True])
    assert sorted(agent.state()["pool.counts"].tolist()) == [0, 0, 1]
    own = mb.BISTRO(3, regressors=policies(3), horizon=30, seed=0)
    for cell in (0, 1, 0, 1):
        own.learn(np.eye(2)[cell], mb.Decision(2, 0.5), loss=1.0, available=[True, False, True])
    assert own.state()["pool.size"].tolist() == [2]


@pytest.mark.parametrize("cls", [mb.BISTRO, mb.BISTROPlus])
@pytest.mark.parametrize("transductive", [False, True])
def test_before_the_last_round_nothing_is_to_come_and_nothing_perturbs(
    cls: type[mb.BISTRO], transductive: bool
) -> None:
    contexts = np.eye(CELLS)[[0, 1, 0]]
    for seed in range(20):
        agent = cls(2, regressors=policies(2), contexts=contexts, transductive=transductive, horizon=T, seed=seed)
        for context in contexts[:2]:
            agent.learn(context, mb.Decision(0, 0.5), loss=0.0)
        np.testing.assert_allclose(agent.law(contexts[2]), [0.5, 0.5])  # no policy has cost anything: all lead


@pytest.mark.parametrize("cls", [mb.BISTRO, mb.BISTROPlus])
@pytest.mark.parametrize("transductive", [False, True])
def test_the_law_that_is_played_is_perturbed_by_the_rounds_after_the_next(
    cls: type[mb.BISTRO], transductive: bool
) -> None:
    """Over 4,000 seeds, T = 3 after one round: the mean law against enumeration of one round to come, in cell 1.

    Five standard errors: error rate 6e-7.
    """
    contexts = np.eye(CELLS)[[0, 0, 1]]
    played = []
    for seed in range(4000):
        agent = cls(2, regressors=policies(2), contexts=contexts, transductive=transductive, horizon=T, seed=seed)
        agent.learn(contexts[0], mb.Decision(0, 0.5), loss=0.0)
        arrays_of(agent)["cost"][:] = [0.0, 0.0, agent.scale, agent.scale]  # whoever plays 1 in cell 0
        played.append(agent.law(contexts[1])[0])
    cells = [1] if transductive else [0, 0, 1]
    share = 2 / agent.scale if agent.plus else 1.0
    expected, choices = 0.0, policies(2).argmax(1)
    for cell in cells:
        for signs in itertools.product([-1.0, 1.0], repeat=2):
            charge = 2.0 * agent.scale * np.array(signs)[choices[:, cell]]
            for weight, noise in ((share, charge), (1.0 - share, 0.0 * charge)):
                perturbed = np.array([0.0, 0.0, agent.scale, agent.scale]) + noise
                leaders = perturbed == perturbed.min()
                first = (leaders & (choices[:, 0] == 0)).sum() / leaders.sum()
                expected += weight * first / (4 * len(cells))
    expected = (1.0 - 2.0 / agent.scale) * expected + 1.0 / agent.scale
    assert abs(np.mean(played) - expected) <= 5.0 * np.std(played) / math.sqrt(4000) + 1e-12
