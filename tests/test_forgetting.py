"""Windows: rounds that count for a while only."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.learners import forgetting
from tests.files import put_together, taken_apart

ALL = [mb.Bag, mb.Banditron, mb.Binning, mb.Cover, mb.EpochGreedy, mb.EpsilonGreedy, mb.HingeLMC, mb.LinTS, mb.LinUCB]
ALL += [mb.LipschitzFTL, mb.LogisticTS, mb.Mixture, mb.NearestNeighbours, mb.Newtron, mb.RegCB, mb.SOBA, mb.SmoothFTL]
ALL += [mb.SquareCB, mb.Supervised, mb.Uniform]


def _rounds(n: int, seed: int = 0) -> list[tuple[Any, int, float]]:
    rng = np.random.default_rng(seed)
    return [(rng.uniform(-0.5, 0.5, 2), int(rng.integers(3)), float(rng.random())) for _ in range(n)]


def _teach(agent: Any, rounds: list[tuple[Any, int, float]]) -> None:
    for x, action, loss in rounds:
        agent.learn(x, mb.Decision(action, 1 / 3), loss)


@pytest.mark.parametrize("cls", ALL)
def test_what_is_played_was_learnt_from_the_last_half_to_whole_window(cls: Any) -> None:
    """After 30 rounds of a window of 20, the copy that plays began at round 20: it is a learner of rounds 20 to 29."""
    identity = {"features": mb.Identity()} if cls is not mb.Uniform and cls is not mb.Mixture else {}
    windowed = cls(3, window=20, seed=0, **identity)
    rounds = _rounds(30)
    _teach(windowed, rounds)
    assert windowed.state()["window.began"].tolist() == [30, 20]
    assert windowed.state()["window.now"][:2].tolist() == [30, 1]
    assert windowed.began == 20
    deterministic = (mb.LinUCB, mb.SquareCB, mb.RegCB, mb.Cover, mb.EpsilonGreedy, mb.LinTS, mb.Banditron, mb.Newtron)
    if cls in deterministic:  # those whose copies draw nothing
        fresh = cls(3, seed=0, **identity)
        _teach(fresh, rounds[20:])
        for x, _, _ in _rounds(10, seed=5):
            assert np.allclose(windowed.law(x), fresh.law(x), atol=1e-12)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("window", [16, "learnt"])
def test_the_same_run_after_saving(cls: Any, window: Any) -> None:
    one = cls(3, window=window, seed=0)
    _teach(one, _rounds(25))
    two = cls.loads(one.dumps())
    assert two.window == window
    for x, _, loss in _rounds(20, seed=3):
        first, second = one.act(x), two.act(x)
        assert first.action == second.action
        one.learn(x, first, loss)
        two.learn(x, second, loss)
    assert one.dumps() == two.dumps()


def test_a_window_is_a_number_or_learnt() -> None:
    for bad in (1, 0, -5, 2.5, "long", True, [100]):
        with pytest.raises(ValueError, match="window must be"):
            mb.LinUCB(2, window=bad)  # type: ignore[arg-type]  # what is refused


def _changed(agent: Any, phases: int, rounds: int, seed: int = 0) -> list[float]:
    """Mean loss in each phase; what is right moves on to the next action at each change."""
    rng = np.random.default_rng(seed)
    truth, losses = rng.standard_normal((4, 6)), []
    for phase in range(phases):
        total = 0.0
        for _ in range(rounds):
            x = rng.standard_normal(6)
            right = (int((truth @ x).argmax()) + phase) % 4
            decision = agent.act(x)
            agent.learn(x, decision, float(decision.action != right))
            total += decision.action != right
        losses.append(total / rounds)
    return losses


@pytest.mark.parametrize("cls", [mb.LinUCB, mb.SquareCB])
def test_a_learnt_window_follows_changes_and_costs_little_without(cls: Any) -> None:
    plain, learnt = cls(4, seed=0), cls(4, window="learnt", seed=0)
    stuck, follows = _changed(plain, 3, 1000), _changed(learnt, 3, 1000)
    assert follows[0] <= 1.1 * stuck[0]
    assert max(follows[1:]) < 0.75 * min(stuck[1:])


def test_a_learner_begins_again_soon_after_a_change_and_not_before() -> None:
    """Negative control: with a bar that nothing reaches, nothing is followed."""
    agent = mb.LinUCB(4, window="learnt", seed=0)
    _changed(agent, 1, 1000)
    assert agent.began == 0
    agent = mb.LinUCB(4, window="learnt", seed=0)
    _changed(agent, 2, 1000)
    assert 1000 < agent.began < 1100
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forgetting, "rose", lambda *_: False)
        agent = mb.LinUCB(4, window="learnt", seed=0)
        _changed(agent, 2, 1000)
    assert agent.began == 0


def test_until_it_begins_again_it_is_the_same_learner() -> None:
    one, two = mb.HingeLMC(4, window="learnt", seed=0), mb.HingeLMC(4, seed=0)
    assert _changed(one, 1, 400) == _changed(two, 1, 400)


def test_many_rounds_at_once_are_taken_back_across_a_new_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.LinUCB(3, window=10, seed=0)
    rounds = _rounds(40)
    _teach(agent, rounds[:12])
    before, n = agent.dumps(), 0
    inner = forgetting.Forgetting.learn

    def failing(self: Any, *args: Any) -> None:
        nonlocal n
        n += 1
        inner(self, *args)
        if n == 15:
            raise MemoryError

    monkeypatch.setattr(forgetting.Forgetting, "learn", failing)
    contexts, actions, losses = zip(*rounds[12:], strict=True)
    with pytest.raises(MemoryError):
        agent.learn_many(np.array(contexts), [mb.Decision(a, 1 / 3) for a in actions], losses)
    assert agent.dumps() == before
    monkeypatch.undo()
    _teach(agent, rounds[12:])
    other = mb.LinUCB(3, window=10, seed=0)
    _teach(other, rounds)
    assert agent.dumps() == other.dumps()


def test_old_copies_are_not_kept() -> None:
    agent = mb.LinUCB(3, window=4, seed=0)
    _teach(agent, _rounds(4))
    n = len(agent._journal.records)
    _teach(agent, _rounds(100))
    assert len(agent._journal.records) == n
    assert len(agent.state()) == len(mb.LinUCB.loads(agent.dumps()).state())


def test_windows_and_actions_that_come_and_go() -> None:
    agent = mb.LinUCB(actions=["a", "b", "c"], window=20, seed=0)
    rng = np.random.default_rng(0)
    for t in range(100):
        x = rng.standard_normal(2)
        decision = agent.act(x)
        agent.learn(x, decision, float(rng.random()))
        if t % 9 == 0:
            agent.add_action(f"new {t}")
            assert agent.actions is not None
            agent.retire_action(agent.actions[1])
    again = mb.LinUCB.loads(agent.dumps())
    assert again.dumps() == agent.dumps()


def test_what_asks_about_a_learner_asks_the_copy_that_plays() -> None:
    mixture = mb.Mixture(3, window=30, seed=0)
    _teach(mixture, _rounds(50))
    assert sum(one.weight for one in mixture.beliefs()) == pytest.approx(1.0)
    hinge = mb.HingeLMC(3, window=30, seed=0)
    _teach(hinge, _rounds(50))
    assert hinge.diagnostics().rounds == 20
    assert hinge.predict([0.1, 0.2]).shape == (3,)


@pytest.mark.parametrize("window", [6, "learnt"])
@pytest.mark.parametrize("cls", [mb.LinUCB, mb.HingeLMC, mb.Mixture, mb.Bag, mb.LogisticTS])
def test_copies_and_pickles_go_on_alike_and_apart(cls: Any, window: Any) -> None:
    agent = cls(3, window=window, seed=0)
    _teach(agent, _rounds(15))
    before = agent.dumps()
    for other in (copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        _teach(other, _rounds(20, seed=4))
        assert agent.dumps() == before
        alike = cls.loads(before)
        _teach(alike, _rounds(20, seed=4))
        assert other.dumps() == alike.dumps()
        with pytest.raises(ValueError, match="loss"):
            other.learn([0.0, 0.0], mb.Decision(0, 0.5), 2.0)


@pytest.mark.parametrize("cls", ALL)
def test_a_learner_that_has_just_begun_again_is_whole(cls: Any) -> None:
    agent, rng = cls(3, window="learnt", seed=1), np.random.default_rng(0)
    for _ in range(120):
        agent.learn(rng.uniform(-0.5, 0.5, 3), mb.Decision(0, 0.5), 0.0)
    while agent.began == 0:
        agent.learn(rng.uniform(-0.5, 0.5, 3), mb.Decision(0, 0.5), 1.0)
    again = cls.loads(agent.dumps())
    x = rng.uniform(-0.5, 0.5, 3)
    assert np.array_equal(again.law(x), agent.law(x))
    assert agent.law(x).sum() == pytest.approx(1.0)
    if cls is mb.HingeLMC:
        with pytest.raises(ValueError, match="before the next learn"):
            agent.diagnostics()
    if cls is mb.Mixture:
        assert sum(one.weight for one in agent.beliefs()) == pytest.approx(1.0)


def test_in_which_order_a_batch_comes_does_not_matter() -> None:
    """Successes at once and failures later, in one call: no change; a batch that did lose more: one."""
    rng = np.random.default_rng(0)
    for after, expected in ((0.2, 0), (0.9, 1)):
        agent = mb.LinUCB(3, window="learnt", seed=0)
        for batch in range(20):
            losses = np.sort(rng.random(200) < (0.2 if batch < 15 else after)).astype(float)
            agent.learn_many(rng.standard_normal((200, 2)), [mb.Decision(0, 0.5)] * 200, losses)
        assert (agent.began > 0) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window.began", [27]),
        ("window.now", [20, 1]),
        ("window.now", [20, 0.5]),
        ("window.now", [19.5]),
        ("window.now", [20, 0, 1.5]),
    ],
)
def test_tampered_windows_are_refused(name: str, value: list[float]) -> None:
    agent = mb.LinUCB(2, window="learnt", seed=0)
    _teach(agent, [(x, action % 2, loss) for x, action, loss in _rounds(20)])
    header, arrays = taken_apart(agent.dumps())
    changed = np.array(value) if name == "window.began" else arrays[name].copy()
    changed[: len(value)] = value
    with pytest.raises(ValueError, match="now must have"):
        mb.loads(put_together(header, {**arrays, name: changed}))


def test_the_skyline_watches_what_it_plays() -> None:
    for before, after, expected in (([1.0, 0.0, 0.5], [1.0, 1.0, 0.5], 1), ([0.5, 0.0, 1.0], [1.0, 0.0, 1.0], 0)):
        agent, rng = mb.Supervised(3, window="learnt", seed=0), np.random.default_rng(0)
        for losses in [before] * 300 + [after] * 30:
            agent.learn_all(rng.standard_normal(2), losses)
        assert (agent.began > 0) == expected


def test_losses_of_few_digits_stay_within_the_range() -> None:
    agent = mb.HingeLMC(2, loss_range=(0, 0.3), window="learnt", seed=0)
    for i in range(10):
        agent.learn([1.0, 2.0], mb.Decision(i % 2, 0.5), loss=np.float16(0.3))
    mb.loads(agent.dumps())
