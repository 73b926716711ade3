"""SmoothFTL for wide contexts: leaders are the least of their potential, old rounds give way, files continue it."""

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits.contexts import per_action
from marginbandits.learners.smooth_ftl import wide
from marginbandits.learners.smooth_ftl.wide import SPREAD, WideLeaders
from marginbandits.oracles.two_sided import two_sided_leader
from marginbandits.types import Array
from tests.doubles import arrays_of
from tests.test_wide_hinge_lmc import row, texts


def taught(leaders: WideLeaders, rows: Array, losses: Array, block: int = 1) -> None:
    for z, loss in zip(rows, losses.tolist(), strict=True):
        columns = np.flatnonzero(z)
        leaders.put(per_action(row(columns.tolist(), z[columns].tolist(), rows.shape[1]), 2), block, loss)


@pytest.mark.parametrize("margin", [0.3, 1.2, 9.0])
def test_leaders_are_those_of_the_narrow_form(margin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "_TOLERANCE", 1e-9)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 8)) * (rng.random((40, 8)) < 0.4)
    losses = (rng.random(40) < 0.5).astype(float)
    leaders = WideLeaders(2, 8, 100, 0.5)
    for part in (slice(0, 13), slice(13, 40)):
        taught(leaders, rows[part], losses[part])
        for _ in range(500):  # each begins where the last one ended
            leaders.lead(1, margin)
    options = {"margin": margin, "regularisation": 0.5, "tolerance": 1e-9, "n_iterations": 100_000}
    exact, _ = two_sided_leader(rows, losses, **options)  # type: ignore[arg-type]  # what it takes
    assert leaders.mean[1] == pytest.approx(exact, abs=1e-4)
    assert not leaders.mean[0].any()
    assert leaders.precision[1] == pytest.approx(0.5 + (rows**2).sum(0))
    score, width = leaders.spread(per_action(row([2], [3.0], 8), 2))
    assert (score[1], width[1]) == pytest.approx(
        (3 * exact[2], SPREAD * 3 / np.sqrt(leaders.precision[1, 2])), abs=1e-3
    )


@pytest.mark.parametrize(("memory", "d"), [(5, 400), (1000, 6)])
def test_the_latest_rounds_are_kept_and_whole(memory: int, d: int) -> None:
    """By their number, or (the first) by the room that they take: at most 400 numbers."""
    rng = np.random.default_rng(0)
    leaders, rows = WideLeaders(1, d, memory, 0.5), list[Array]()
    for t in range(1, 61):
        z = np.zeros(d)
        some = rng.permutation(d)[: rng.integers(0, d + 1)]
        z[some] = rng.standard_normal(len(some))
        rows += [z] if z.any() else []  # no other pulls at anything
        taught(leaders, z[None], np.array([0.0]), block=0)
        first, held, seen = leaders.counts[0].tolist()
        assert seen == t
        assert bool(rows) <= held <= min(memory, seen)
        for back, kept in enumerate(rows[: -held - 1 : -1]):
            start, n = leaders.places[0, (first + held - 1 - back) % memory].tolist()
            found = np.zeros(d)
            found[leaders.columns[0, start : start + n]] = leaders.values[0, start : start + n]
            assert np.array_equal(found, kept)
    assert held < 5 if d == 400 else held == len(rows) > 40


def test_it_learns_text_and_continues_from_its_file() -> None:
    agent, wrong = mb.SmoothFTL(4, memory=100, seed=0), []
    for x, topic in texts(1500):
        decision = agent.act(x)
        wrong.append(decision.action != topic)
        agent.learn(x, decision, loss=float(wrong[-1]))
    assert np.mean(wrong[-500:]) < 0.2
    again = mb.loads(agent.dumps())
    for x, topic in texts(20, seed=1):
        assert np.array_equal(agent.law(x), again.law(x))
        for one in (agent, again):
            one.learn(x, mb.Decision(topic, 0.5), 0.0)
    assert agent.dumps() == again.dumps()


@pytest.mark.parametrize("margin", [1e-6, 1e6])
def test_values_of_any_size_leave_numbers(margin: float) -> None:
    agent = mb.SmoothFTL(2, features=mb.Identity(), margin=margin, regularisation=1e-9, seed=0)
    extremes = [([0, 0, 1e50], 0.0), ([0, 1e50, -1e100], 0.0), ([1e-8, 1e50, 0], 0.5), ([-1e100, 0, 0], 0.5)]
    for x, loss in [*extremes, ([0, 1.0, 0], 1e-17), ([1e-160, 0, 0], 1.0), ([0, -1e100, 1e50], 1.0)]:
        agent.learn(scipy.sparse.csr_array([x]), mb.Decision(0, 0.5), loss)
        assert np.isfinite(agent.law(scipy.sparse.csr_array([[1.0, -1e100, 1e-300]]))).all()
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()


def test_files_that_lie_are_refused() -> None:
    agent = mb.SmoothFTL(2, memory=3, seed=0)
    for x, _ in texts(5):
        agent.learn(x, mb.Decision(0, 0.5), 1.0)
    for name, where, value, told in [
        ("wide.places", (0, 0, 1), 5001, "within what is kept"),
        ("wide.places", (0, 0, 0), -1, "wide.places"),
        ("wide.columns", (0, 0), 10**6, "wide.columns"),
        ("wide.rounds", (0, 0, 0), 2.0, "losses within"),
        ("wide.counts", (0, 0), 3, "rounds that are kept"),
        ("wide.counts", (0, 1), 4, "rounds that are kept"),
    ]:
        array = arrays_of(agent)[name]
        kept = array[where]
        array[where] = value
        with pytest.raises(ValueError, match=told):
            mb.loads(agent.dumps())
        array[where] = kept
    mb.loads(agent.dumps())
