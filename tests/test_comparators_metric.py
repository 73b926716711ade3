"""The systems the paper is compared with, each against the inequality that defines it, and broken."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import theory
from marginbandits.experiments.claims.claim import Measured, Results, Verdict
from marginbandits.experiments.claims.comparators_metric import CLAIM, SYSTEMS
from marginbandits.experiments.claims.measuring import OPPOSITE
from marginbandits.theory.hierarchical import chain_levels, lattice, log_near
from marginbandits.types import Array

LINE = mb.Cube([0.0], [1.0], lipschitz=2.0)


def lipschitz_line(rng: np.random.Generator, steepest: float, low: float, high: float) -> Any:
    """A random function of [0, 1], piecewise linear with slopes up to the steepest, kept within limits."""
    knots = np.linspace(0.0, 1.0, 33)
    steps = rng.choice([-1.0, 0.0, 1.0], 32, p=[0.45, 0.1, 0.45]) * steepest / 32
    values = [rng.uniform(low, high)]
    for step in steps:
        values.append(min(max(values[-1] + step, low), high))
    return lambda x: np.interp(x, knots, values)


# Contextual zooming


def zoomed(T: int = 4000, confidence: float = 1.0, **more: Any) -> tuple[mb.ContextualZooming, Array, Array]:
    """A run on a line where the better action changes; what each play lost, and the radius of its ball."""
    rng = np.random.default_rng(0)
    agent = mb.ContextualZooming(2, space=mb.Cube([0.0], [1.0]), horizon=T, confidence=confidence, seed=0, **more)
    lost, radii = [], []
    for x in rng.random(T):
        means = np.array([0.9 - 0.8 * x, 0.1 + 0.8 * x])
        decision = agent.act([x])
        before = agent.state() if agent.radii().size else None
        lost.append(means[decision.action] - means.min())
        if before is not None:
            n = int(before["size"][0])
            near = np.abs(before["centres"][:n, 0] - x) + (before["actions"][:n] != decision.action)
            r = agent.radii()
            radii.append(r[np.minimum(near, 1.0) <= r * (1 + 1e-9)].min())
        else:
            radii.append(1.0)
        agent.learn([x], decision, loss=float(rng.random() < means[decision.action]))
    return agent, np.array(lost), np.array(radii)


def test_zooming_plays_from_a_ball_lose_at_most_fourteen_radii_and_centres_are_apart() -> None:
    """What the bound is made of; a learner that hopes for the worst, the negative control, breaks it."""
    agent, lost, radii = zoomed()
    assert (lost <= 14.0 * radii).all()
    assert radii.min() < 1 / 14, "else the statement would be empty"
    state = agent.state()
    n = int(state["size"][0])
    for halvings in np.unique(state["halvings"][:n]):
        mine = np.flatnonzero(state["halvings"][:n] == halvings)
        for i, j in itertools.combinations(mine, 2):
            apart = abs(state["centres"][i, 0] - state["centres"][j, 0]) + (state["actions"][i] != state["actions"][j])
            assert min(apart, 1.0) > 0.5**halvings * (1 - 1e-9)
    assert lost[-500:].mean() < 0.6 * lost[:500].mean()


def test_zooming_with_hope_turned_around_loses_more(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = zoomed(1500)[1].sum()
    chosen = mb.ContextualZooming._chosen
    monkeypatch.setattr(mb.ContextualZooming, "_chosen", lambda self, x: (-(found := chosen(self, x))[0], found[1]))
    assert zoomed(1500)[1].sum() > 1.5 * usual


def test_similar_actions_share_balls() -> None:
    """Ten actions that are all alike are one: with their similarity known, fewer balls and no more loss."""
    near = mb.FiniteSpace.of(np.linspace(0, 0.01, 10)[:, None])
    sizes = []
    for similarity in (near, None):
        agent = mb.ContextualZooming(10, space=LINE, similarity=similarity, confidence=0.5, horizon=800, seed=0)
        rng = np.random.default_rng(0)
        for x in rng.random(800):
            agent.learn([x], agent.act([x]), loss=0.5)
        sizes.append(len(agent.radii()))
    assert sizes[0] < sizes[1]
    with pytest.raises(ValueError, match="similarity must be of n_actions=3 points, got 10"):
        mb.ContextualZooming(3, similarity=near)


def test_zooming_without_room_goes_on() -> None:
    agent, lost, _ = zoomed(600, most=5)
    assert len(agent.radii()) == 5
    assert np.isfinite(lost).all()


def test_the_zooming_bound_says_what_it_is_made_of() -> None:
    bound = theory.contextual_zooming([1, 1, 1, 1], 50_000, least_gap=0.9, gap=0.95)
    by_hand = sum(0.95 * (16 * math.log(50_000) * 4**i + 1) for i in range(4))
    assert bound.terms["balls"] == pytest.approx(by_hand)
    assert bound.terms["finer"] == 0.0
    assert not theory.contextual_zooming([1], 50_000, confidence=1.0).holds
    assert theory.contextual_zooming([1.0, 6.0, 10.0], 1000).vacuous
    wide = [2.0 * (2.0**i + 1.0) for i in range(12)]
    grown = [theory.contextual_zooming(wide, 10**k).value for k in (9, 10, 11, 12)]
    assert np.diff(np.log10(grown)).mean() == pytest.approx(2 / 3, abs=0.05)  # (p + 1)/(p + 2), and a logarithm


# Hierarchical weights


@pytest.mark.parametrize("K", [2, 3, 4])
def test_the_lattice_has_every_value_and_misses_none_by_more_than_its_error(K: int) -> None:
    values = lattice(K, 6)
    assert len(values) == math.comb(5 + K, K - 1)
    assert np.allclose(values.sum(1), 1.0)
    points = np.random.default_rng(0).dirichlet(np.full(K, 0.5), 300)
    assert np.abs(points[:, None] - values).sum(-1).min(1).max() <= K / 12 + 1e-12


def test_every_lipschitz_policy_is_a_path_of_the_tree() -> None:
    """Values nearest to g at the centres are within reach, level by level, and the leaf within its error."""
    rng = np.random.default_rng(0)
    levels = chain_levels(2, 1.0, 5)
    values = [lattice(2, level.fineness) for level in levels]
    for _ in range(20):
        g = lipschitz_line(rng, 1.0, 0.0, 1.0)  # half of ‖g(x) - g(y)‖₁ <= 2|x - y|
        for x in rng.random(20):
            centres = [(math.floor(x * 2**m) + 0.5) / 2**m for m in range(6)]
            path = [values[m][np.abs(values[m][:, 0] - g(c)).argmin()] for m, c in enumerate(centres)]
            for m in range(5):
                assert np.abs(path[m] - path[m + 1]).sum() <= levels[m].reach + 1e-9
            miss = 2.0 * abs(path[-1][0] - g(x))
            assert miss <= levels[-1].radius + levels[-1].error + 1e-9


def played(T: int = 3000, seed: int = 0, **more: Any) -> tuple[mb.HierExp4, float]:
    """Regret on contexts at both ends of a line, to the policy that goes from one action to the other."""
    rng = np.random.default_rng(seed)
    agent = mb.HierExp4(2, space=LINE, horizon=T, seed=seed, **{"depth": 2, "mu": 0.1, **more})
    total = 0.0
    for x in rng.integers(2, size=T) * 0.9 + 0.1 * rng.random(T):
        means = np.array([0.05, 0.95] if x < 0.5 else [0.95, 0.05])
        decision = agent.act([x])
        agent.learn([x], decision, loss=float(rng.random() < means[decision.action]))
        assert decision.distribution is not None
        total += float(decision.distribution @ means - means @ [1.0 - x, x])
    return agent, total


def test_hierarchical_weights_learn_by_region_and_by_its_bound() -> None:
    agent, regret = played()
    assert regret < agent.bound().value
    assert agent.law([0.05])[0] > 0.7
    assert agent.law([0.95])[1] > 0.7
    _, flat = played(depth=0)  # the negative control: a tree without cells knows no context
    assert flat > 1.5 * regret


def test_a_node_pays_no_more_than_its_hedge_should() -> None:
    """Of the root: Σ <P - v, ℓ̂> <= ln n/η_T + Σ η_t/2 Σ q <v, ℓ̂>², for every value, in one run."""
    agent = mb.HierExp4(2, space=LINE, horizon=500, depth=0, mu=0.1, seed=0)
    rng = np.random.default_rng(0)
    n = len(lattice(2, chain_levels(2, 1.0, 0)[0].fineness))
    values, totals, paid, quadratic = lattice(2, n - 1), np.zeros(n), 0.0, 0.0
    rate = math.sqrt(math.log(n) / (2 / 0.8))
    for t in range(500):
        decision = agent.act([rng.random()])
        assert decision.distribution is not None
        law = (decision.distribution - 0.1) / 0.8
        loss = float(rng.random() < (0.3, 0.6)[decision.action])
        q = np.exp(-rate / math.sqrt(t + 1) * (totals - totals.min()))
        q /= q.sum()
        assert np.allclose(q @ values, law)
        estimate = loss / decision.probability
        paid += law[decision.action] * estimate
        quadratic += rate / math.sqrt(t + 1) / 2 * float(q @ (values[:, decision.action] * estimate) ** 2)
        totals += values[:, decision.action] * estimate
        agent.learn([rng.random()], decision, loss)
    assert paid - totals.min() <= math.log(n) / (rate / math.sqrt(500)) + quadratic


def test_rates_of_the_hierarchical_bound() -> None:
    """Exponents in T at sizes where depth is chosen freely, with one loss told and with all."""
    for p, feedback, exponent in (
        (1, "one point", 2 / 3),
        (3, "one point", 3 / 4),
        (1, "full", 1 / 2),
        (3, "full", 2 / 3),
    ):
        values = [theory.hier_exp4(2, 10**k, p=p, radius=1.0, feedback=feedback, deepest=24).value for k in (8, 9, 10)]
        assert np.diff(np.log10(values)).mean() == pytest.approx(exponent, abs=0.03)
    with pytest.raises(ValueError, match="mu must be at most 1/K"):
        theory.hier_exp4(4, 100, p=1, radius=1.0, mu=0.4)


# Improper logistic


def aggregated(rate: float = 1.0) -> tuple[float, float]:
    """Weighted log loss of the mixture over that of the best predictor, and ln N/μ; `rate` multiplies η."""
    rng = np.random.default_rng(3)
    agent = mb.ImproperLogistic.from_theory(n_features=2, n_actions=2, horizon=400, radius=8.0, epsilon=1.5, seed=0)
    W, mu = np.asarray(agent.predictors), agent.mu
    each, mixed = np.zeros(len(W)), 0.0
    for _ in range(400):
        x = rng.standard_normal(2)
        x /= np.linalg.norm(x)
        y = int(x[0] > 0)
        s = W @ x
        sigma = np.exp(s - s.max(1, keepdims=True))
        sigma /= sigma.sum(1, keepdims=True)
        q = np.exp(-rate * mu * (each - each.min()))
        q /= q.sum()
        law = agent.law(x)
        if rate == 1.0:
            assert np.allclose(law, (1 - 2 * mu) * (q @ sigma) + mu)
        action = int(rng.random() < law[1])
        if action == y:
            each += -np.log(sigma[:, y]) / law[y]
            mixed += -math.log(float(q @ sigma[:, y])) / law[y]
        agent.learn(x, mb.Decision(action, float(law[action])), loss=float(action != y))
    return mixed - float(each.min()), math.log(len(W)) / mu


def test_the_aggregation_pays_what_mixability_allows_and_no_less_careful_rate_would() -> None:
    regret, allowed = aggregated()
    assert 0.0 < regret <= allowed
    assert aggregated(rate=0.02)[0] > allowed, "the negative control hardly learns"


def test_bounds_of_the_logistic_learners() -> None:
    finite = theory.improper_logistic_finite(200, 3, 10_000)
    assert finite.value == pytest.approx(2 * math.sqrt(2 * 3 * 10_000 * math.log(200)))
    assert finite.holds
    assert theory.improper_logistic(4, 3, 10_000).value > finite.value
    assert not theory.improper_logistic_finite(200, 3, 10_000, mu=0.4).holds
    agent = mb.ImproperLogistic.from_theory(n_features=2, n_actions=3, horizon=10_000, epsilon=0.5, seed=0)
    assert agent.mu == theory.improper_logistic_finite(len(agent.predictors), 3, 10_000).parameters["mu"]
    with pytest.raises(ValueError, match="mu must be above 0"):
        mb.ImproperLogistic(3, estimate="importance", mu=0.0)
    with pytest.raises(ValueError, match="predictors must be N x 3 x d"):
        mb.ImproperLogistic(3, predictors=np.zeros((4, 2, 2)))


def test_particles_move_and_keep_their_mean_and_spread() -> None:
    agent = mb.ImproperLogistic(2, predictors=4000, features=mb.Identity(), seed=0)
    agent.learn([0.1, 0.2], agent.act([0.1, 0.2]), 0.0)
    table = agent.state()["table"]
    q = np.exp(-0.05 * table[:, 0, 0])
    q /= q.sum()
    mean = np.tensordot(q, table, 1)
    spread = np.tensordot(q, (table - mean) ** 2, 1)
    agent._redraw(q)
    moved = agent.state()["table"]
    assert np.allclose(moved.mean(0), mean, atol=5 * math.sqrt(spread.max() / 4000))
    assert np.allclose(moved.var(0), spread, rtol=0.15)


# SOBA


def test_full_soba_is_ridge_regression_and_its_identity_holds() -> None:
    """Against a solver; and Σ m - Σ gᵀA⁻¹g <= a‖U‖² + Σ <U, q>² + 2<U, g> for every U, the theorem's core."""
    agent = mb.FullSOBA(2, gamma=0.3, features=mb.Identity(), seed=0)
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((2, 3))
    A, theta, balance = np.eye(6), np.zeros(6), 0.0
    steps: list[tuple[Array, Array, float]] = []
    for _ in range(300):
        x = rng.standard_normal(3)
        x /= np.linalg.norm(x)
        y = int((truth @ x).argmax())
        w = np.linalg.solve(A, theta)
        scores = w.reshape(2, 3) @ x
        law = agent.law(x)
        assert not steps or np.allclose(law, 0.7 * (np.arange(2) == scores.argmax()) + 0.15)
        action = int(rng.choice(2, p=law))
        agent.learn(x, mb.Decision(action, float(law[action])), loss=float(action != y))
        if action == y:
            g = np.outer([1.0, -1.0] if y else [-1.0, 1.0], x).ravel() / law[y]
            q = math.sqrt(law[y]) * g
            m = ((w @ q) ** 2 + 2 * w @ g) / (1 + q @ np.linalg.solve(A, q))
            if m + balance >= 0:
                balance += m
                A += np.outer(q, q)
                theta -= g
                steps.append((q, g, float(g @ np.linalg.solve(A, g))))
    assert agent.quadratic == pytest.approx(sum(one for _, _, one in steps))
    assert np.allclose(agent.state()["inverse"], np.linalg.inv(A))

    def right(U: Array) -> float:
        return float(U @ U + sum((U @ q) ** 2 + 2 * U @ g for q, g, _ in steps))

    assert all(balance - agent.quadratic <= right(3 * rng.standard_normal(6)) + 1e-6 for _ in range(200))
    assert balance - agent.quadratic == pytest.approx(right(np.asarray(np.linalg.solve(A, theta), float))), (
        "an identity at the minimiser"
    )


def test_the_soba_bound_knows_which_comparators_it_is_for() -> None:
    assert theory.soba(6, 3, 1000, norm=0.7).holds
    assert not theory.soba(6, 3, 1000, norm=0.8).holds
    assert theory.soba(6, 3, 1000, norm=0.8, eta=0.9).holds
    met = theory.soba(6, 3, 10_000, gamma=0.2, quadratic=10.0)
    assert met.value == pytest.approx(1.0 + 10.0 + 2000.0)
    margins = np.linspace(-3, 1, 50)
    assert np.allclose(theory.eta_hinge(margins, 1.0), (1 - margins) ** 2)
    assert np.allclose(theory.eta_hinge(margins, 0.0), 1 - margins)


# Lipschitz covers


@pytest.mark.parametrize("epsilon", [0.5, 0.25])
def test_a_cover_has_a_function_near_every_lipschitz_one(epsilon: float) -> None:
    space = mb.Cube([0.0], [1.0])
    table, cells = mb.lipschitz_cover(space, epsilon=epsilon), mb.Cells(space, epsilon / 2)
    started = cells.start(1, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    at = np.linspace(0, 1, 200)
    indicators = started.transform(at[:, None])
    worst = []
    for _ in range(100):
        s = lipschitz_line(rng, 1.0, -1.0, 1.0)(at)
        worst.append(np.abs(table[:, 0] @ indicators.T - s).max(1).min())
    assert max(worst) <= epsilon + 1e-9
    few = table[::7]  # the negative control: a seventh of it covers less
    missed = np.abs(few[:, 0] @ indicators.T - s).max(1).min()
    assert missed > min(worst)
    steps = np.abs(np.diff(table[:, 0], axis=1))
    assert steps.max() <= epsilon + 1e-9
    assert (table[:, 0] == -table[:, 1]).all()


def test_a_cover_of_the_plane_is_counted_by_hand() -> None:
    """Two by two cells, all neighbours: values v and v + 1 in any places, of 4 stretches."""
    table = mb.lipschitz_cover(mb.Cube([0.0, 0.0], [1.0, 1.0]), epsilon=0.5)
    assert len(table) == 4 + 3 * (2**4 - 2)
    assert len(np.unique(table, axis=0)) == len(table)


@pytest.mark.parametrize("surrogate", ["ramp", "advice"])
def test_weights_on_a_cover_keep_their_bound_against_any_losses(surrogate: str) -> None:
    """Losses that switch sides; the best function is found by looking at all."""
    T, epsilon = 1500, 0.25
    space = mb.Cube([0.0], [1.0])
    agent = mb.ExponentialWeights.on_lipschitz_cover(
        space=space, epsilon=epsilon, horizon=T, surrogate=surrogate, seed=0
    )
    rng = np.random.default_rng(0)
    x = rng.random((T, 1))
    right = np.where(np.arange(T) < T // 3, 1, 0)
    losses = (np.arange(2) != right[:, None]).astype(float)
    trace = mb.simulate(agent, mb.Oblivious.of(x, losses))
    cell = mb.Cells(space, epsilon / 2).start(1, rng).transform(x).argmax(1)
    scores = mb.lipschitz_cover(space, epsilon=epsilon)[:, :, cell]
    values = np.minimum(1.0 + scores, 1.0)
    if surrogate == "advice":
        values = values / values.sum(1, keepdims=True)
    best = float(np.einsum("nat,ta->n", values, losses).min())
    bound = theory.lipschitz_cover_bound(len(scores), epsilon, theory.Game(2, T, 1.0), surrogate=surrogate)
    assert trace.losses.sum() - best <= bound.value - bound.terms["cover"]
    assert bound.value - bound.terms["cover"] < T - best, "else the bound would say nothing"
    again = mb.loads(agent.dumps())
    assert np.array_equal(again.law([0.4]), agent.law([0.4]))


# The claim


def test_a_broken_learner_a_broken_constant_and_a_bound_that_uniform_play_keeps_turn_the_verdict() -> None:
    """On one system, measured; then told 1 - ℓ, with a hundredth of the bound, and where uniform play is under it."""
    system = "policy weights on a cover, p = 2"
    runs: list[dict[str, Any]] = [{"system": system, "T": T, "seed": seed} for T in (400, 1600) for seed in range(4)]
    found = [Measured(one, CLAIM.measure(**one)) for one in runs]
    told = [Measured(one, CLAIM.measure(**one, broken=OPPOSITE)) for one in runs]

    def judged(runs: list[Measured], **changed: Any) -> list[Verdict]:
        made = [Measured(one.parameters, {**one.values, **changed}) for one in runs]
        return [line.verdict for line in CLAIM.judge(Results(made)).lines]

    assert judged(found)[0] is Verdict.HOLDS
    assert judged(found, **{"at least 1": 5.0})[1] is Verdict.REACHED
    assert judged(told) == [Verdict.FAILS, Verdict.UNSEEN]
    assert judged(found, bound=0.01 * found[0].values["bound"])[0] is Verdict.FAILS
    assert judged(found, uniform=0.5 * found[0].values["bound"])[0] is Verdict.IDLE


def test_every_system_has_a_hundred_runs_at_one_horizon() -> None:
    for system, one in SYSTEMS.items():
        runs = [unit for unit in CLAIM.units(False) if unit["system"] == system and unit["T"] == one.horizons[0]]
        assert len(runs) == 100


@pytest.mark.parametrize(("K", "depth"), [(2, 4), (3, 2)])
@pytest.mark.parametrize("radius", [0.3, 0.75, 1.0, 1.3, 3.0])
def test_no_node_has_more_values_within_reach_than_are_counted(K: int, depth: int, radius: float) -> None:
    """Where q is no multiple of the one above, too: at K = 2, radius 1.3, 8 values are near, not 7."""
    levels = chain_levels(K, radius, depth)
    for here, below in itertools.pairwise(levels):
        values, finer = lattice(K, here.fineness), lattice(K, below.fineness)
        near = (np.abs(values[:, None] - finer).sum(-1) <= here.reach + 1e-9).sum(1).max()
        assert math.log(near) <= log_near(K, here, below) + 1e-9
