"""What speaks for an action and against it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits.learners.adding import added
from marginbandits.learners.explanation import left, without

PREDICTING = [
    mb.Bag,
    mb.Cover,
    mb.EpsilonGreedy,
    mb.HingeLMC,
    mb.LinTS,
    mb.LinUCB,
    mb.LogisticTS,
    mb.Mixture,
    mb.NearestNeighbours,
    mb.RegCB,
    mb.SmoothFTL,
    mb.SquareCB,
]
SILENT = [mb.Banditron, mb.Newtron, mb.SOBA, mb.Uniform]


def _taught(cls: Any, **options: Any) -> Any:
    """The first column tells; the second is noise; the third is constant."""
    agent, rng = cls(2, seed=0, **options), np.random.default_rng(0)
    for _ in range(150):
        x = np.array([rng.standard_normal(), rng.standard_normal(), 4.0])
        action = int(rng.integers(2))
        agent.learn(x, mb.Decision(action, 0.5), float(action != (x[0] > 0)))
    return agent


@pytest.mark.parametrize("cls", PREDICTING)
def test_what_tells_comes_first(cls: Any) -> None:
    found = _taught(cls).explain([1.5, 0.5, 4.0])
    best, other = found.actions
    assert (best.action, other.action) == (1, 0)
    assert best.predicted < other.predicted
    assert best.effects[0].entry == "column 0"
    assert best.effects[0].effect < 0.0 < other.effects[0].effect
    assert dict(best.effects)["column 2"] == 0.0
    assert str(found).splitlines()[1].startswith("1 ")


@pytest.mark.parametrize("cls", PREDICTING)
def test_the_effect_of_an_entry_is_what_the_prediction_moves_without_it(cls: Any) -> None:
    agent, rng, seen = cls(2, seed=0), np.random.default_rng(0), {"DE": 0, "FR": 0}
    for _ in range(100):
        context: dict[str, Any] = {
            "country": str(rng.choice(["DE", "FR"])),
            "tags": ["new"] if rng.random() < 0.5 else ["old", "sale"],
        }
        action = int(rng.integers(2))
        agent.learn(context, mb.Decision(action, 0.5), float((action == 0) != (context["country"] == "DE")))
        seen[context["country"]] += 1
    context = {"country": "DE", "tags": ["old", "sale"]}
    found = {one.action: one for one in agent.explain(context).actions}
    now, less = agent.predict(context), agent.predict({"country": "DE", "tags": ["old"]})
    others = [agent.predict({"country": one, "tags": ["old", "sale"]}) for one in seen]
    usual = np.average(others, axis=0, weights=list(seen.values()))
    for action in (0, 1):
        assert dict(found[action].effects)["tags: sale"] == pytest.approx(now[action] - less[action], abs=1e-12)
        assert dict(found[action].effects)["country=DE"] == pytest.approx(now[action] - usual[action], abs=1e-12)
        assert found[action].predicted == pytest.approx(now[action])
        assert {one.entry for one in found[action].effects} == {"country=DE", "tags: old", "tags: sale"}


def test_rows_of_actions_are_explained_each_by_its_own_entries() -> None:
    agent, rng = mb.RegCB(2, seed=0), np.random.default_rng(0)
    for _ in range(200):
        items = {f"i{i}": {"colour": str(rng.choice(["red", "blue"]))} for i in range(2)}
        decision = agent.act({"hour": 3}, actions=items)
        agent.learn({"hour": 3}, decision, float(items[decision.action]["colour"] == "blue"), actions=items)
    found = agent.explain(None, actions={"a": {"colour": "blue"}, "b": {"colour": "red"}})
    assert [one.action for one in found.actions] == ["b", "a"]
    assert found.actions[0].effects[0].entry == "action.colour=red"
    assert found.actions[1].effects[0].entry == "action.colour=blue"
    assert found.actions[0].effects[0].effect < 0.0 < found.actions[1].effects[0].effect


def test_rewards_are_explained_as_rewards() -> None:
    plain, scaled = _taught(mb.LinUCB), mb.LinUCB(2, reward_range=(0, 500), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        x = np.array([rng.standard_normal(), rng.standard_normal(), 4.0])
        action = int(rng.integers(2))
        scaled.learn(x, mb.Decision(action, 0.5), reward=500.0 * (action == (x[0] > 0)))
    one, two = plain.explain([1.5, 0.5, 4.0]).actions[0], scaled.explain([1.5, 0.5, 4.0])
    assert two.what == "reward"
    assert two.actions[0].predicted == pytest.approx(500.0 * (1.0 - one.predicted))
    assert two.actions[0].effects[0].effect == pytest.approx(-500.0 * one.effects[0].effect)
    assert two.actions[0].width == pytest.approx(500.0 * one.width)


def test_explaining_and_predicting_change_nothing() -> None:
    for cls in PREDICTING:
        agent = _taught(cls)
        before = agent.dumps()
        agent.explain([1.0, 2.0, 3.0])
        agent.predict([1.0, 2.0, 3.0])
        assert agent.dumps() == before


def test_every_kind_of_context_is_explained() -> None:
    agent = mb.SquareCB(2, seed=0)
    row = scipy.sparse.csr_array(([1.0, 2.0], ([0, 0], [3, 70])), shape=(1, 100))
    agent.learn(row, agent.act(row), 0.3)
    assert {one.entry for one in agent.explain(row).actions[0].effects} == {"column 3", "column 70"}
    rows = mb.LinUCB(2, seed=0)
    rows.learn(np.eye(2), rows.act(np.eye(2)), 0.3)
    assert len(rows.explain(np.eye(2)).actions[0].effects) == 2
    dictionaries: list[dict[str, Any]] = [{"a": 1.0}, {"a": 2.0, "b": "x"}]
    listed = mb.LinUCB(2, seed=0)
    listed.learn(dictionaries, listed.act(dictionaries), 0.3)
    assert sorted(len(one.effects) for one in listed.explain(dictionaries).actions) == [1, 2]
    windowed = _taught(mb.HingeLMC, window=60)
    assert windowed.explain([1.5, 0.5, 4.0]).actions[0].action == 1


def test_what_cannot_be_explained_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="nothing to explain before the first learn"):
        mb.LinUCB(2).explain([1.0])
    assert mb.LinUCB(2).predict([1.0]).tolist() == [0.5, 0.5]
    for cls in SILENT:
        with pytest.raises(ValueError, match=f"{cls.__name__} predicts no losses"):
            _taught(cls).explain([1.0, 2.0, 3.0])
    wide = mb.LinUCB(2, seed=0)
    wide.learn([1.0], wide.act([1.0]), 0.0)
    with pytest.raises(ValueError, match="context must be"):
        wide.explain([1.0, 2.0])


def test_entries_are_left_out_one_at_a_time() -> None:
    context = {
        "age": 31.5,
        "title": "red red shoes",
        "tags": ["new"],
        "user": {"vip": True, "city": "New York"},
        "x": None,
    }
    table = mb.Table(categorical=["user.city"], text=["code"])
    found = {label: less for label, less, _ in without(context, table)}
    assert set(found) == {
        "age=31.5",
        "title: red",
        "title: shoes",
        "tags: new",
        "user.vip=True",
        "user.city=New York",
        "x=missing",
    }
    assert found["title: red"]["title"].split() == ["shoes"]
    assert found["user.vip=True"]["user"] == {"city": "New York"}
    assert "age" not in found["age=31.5"]
    assert list(without({"code": "abc"}, table)) == [("code: abc", {"code": " "}, None)]
    assert [own for _, _, own in without(context, table)][-2:] == [{"user": {"city": "New York"}}, {"x": None}]


def test_pictures_and_hostile_names(tmp_path: Path) -> None:
    agent = mb.LinUCB(actions=["$x$^{", "<b>\n" * 30], seed=0)
    context = {"$\\frac{": "}$", "a\nb": 3.0, "q" * 300: 1.0}
    agent.learn(context, agent.act(context), 0.2)
    found = agent.explain(context)
    assert len(str(found).splitlines()) == 3
    found.plot(tmp_path / "why.png")
    assert (tmp_path / "why.png").stat().st_size > 5_000


@pytest.mark.parametrize("cls", [mb.LinUCB, mb.RegCB, mb.Mixture, mb.HingeLMC])
def test_a_category_is_compared_with_the_others_of_its_name(cls: Any) -> None:
    """What makes the action right speaks for it, and a column that does nothing for nobody (it did, left out alone)."""
    agent, rng = cls(actions=["mens", "womens"], seed=0), np.random.default_rng(0)
    for _ in range(1500):
        context = {"segment": str(rng.choice(["mens", "womens"])), "zip": str(rng.choice(["urban", "rural", "sub"]))}
        decision = agent.act(context)
        rate = 0.9 if decision.action == context["segment"] else 0.1
        agent.learn(context, decision, reward=float(rng.random() < rate))
    first = agent.explain({"segment": "mens", "zip": "urban"}).actions[0]
    assert first.action == "mens"
    assert first.effects[0].entry == "segment=mens"
    assert first.effects[0].effect < -2.0 * abs(first.effects[1].effect)
    constant = mb.LinUCB(2, seed=0)
    for _ in range(20):
        constant.learn({"always": "there"}, mb.Decision(0, 0.5), 0.3)
    assert constant.explain({"always": "there"}).actions[0].effects[0].effect == 0.0


def test_what_is_played_is_explained_first_and_beyond_the_range() -> None:
    agent = mb.SquareCB(3, reward_range=(0, 300), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        x = rng.standard_normal(2)
        decision = agent.act(x)
        agent.learn(x, decision, reward=float(5.0 * (decision.action == 1) * (rng.random() < 0.1)))
    found = agent.explain([3.0, -2.0])
    chances = [one.probability for one in found.actions]
    assert chances == sorted(chances, reverse=True)
    assert np.allclose(sorted(agent.predict([3.0, -2.0])), sorted(one.predicted for one in found.actions))
    assert any(one.effects[0].effect != 0.0 for one in found.actions)


OFFERING = [mb.Bag, mb.Cover, mb.EpsilonGreedy, mb.HingeLMC, mb.LinTS, mb.LinUCB, mb.LogisticTS, mb.RegCB, mb.SquareCB]


@pytest.mark.parametrize("cls", OFFERING)
def test_what_is_usual_and_what_entries_add_is_what_is_predicted(cls: Any) -> None:
    """Whatever the learner; though effects, which count twice what entries do together, do not add up."""
    agent, rng = cls(10, reward_range=(0, 10), seed=0), np.random.default_rng(0)
    actions = {"hat": {"price": 20.0}, "shoe": {"price": 80.0, "tags": ["new", "sale"]}}
    for _ in range(300):
        context = {"country": str(rng.choice(["DE", "FR"])), "age": float(rng.integers(18, 80)), "always": "there"}
        decision = agent.act(context, actions=actions)
        liked = (decision.action == "hat") == (context["country"] == "DE")
        agent.learn(context, decision, reward=10.0 * (rng.random() < 0.1 + 0.8 * liked), actions=actions)
    context = {"country": "DE", "age": 30.0, "always": "there"}
    before = agent.dumps()
    found, explained = added(agent, context, actions), agent.explain(context, actions=actions).actions
    assert agent.dumps() == before
    assert [one.action for one in found] == [one.action for one in explained]
    for one, other in zip(found, explained, strict=True):
        assert one.predicted == pytest.approx(other.predicted, abs=1e-9)
        assert one.start + sum(part for _, part in one.parts) == pytest.approx(one.predicted, abs=1e-9)
        assert {entry for entry, _ in one.parts} == {entry for entry, _ in other.effects}
        assert dict(one.parts)["user.always=there"] == 0.0
    sums = [one.predicted - sum(part for _, part in one.effects) for one in explained]
    assert max(abs(total - one.start) for total, one in zip(sums, found, strict=True)) > 0.1


def test_what_is_usual_is_the_mean_of_what_was_learnt() -> None:
    """Where two countries came, one three times as often, an entry adds what it is worth above that mean."""
    agent = mb.RegCB(10, reward_range=(0, 1), seed=0)
    for k in range(400):
        context = {"country": "DE" if k % 4 else "FR"}
        decision = agent.act(context, actions={"hat": None})
        agent.learn(context, decision, reward=float(k % 4 > 0), actions={"hat": None})
    (one,) = added(agent, {"country": "FR"}, {"hat": None})
    assert one.start == pytest.approx(0.75, abs=0.03)
    assert one.parts[0].entry == "user.country=FR"
    assert one.parts[0].effect == pytest.approx(-0.75, abs=0.05)


def test_several_entries_are_left_out_at_once() -> None:
    context = {"age": 31.5, "title": "red red shoes", "tags": ["new", "old"], "user": {"vip": True}, "x": None}
    table = mb.Table()
    assert left(context, table, set()) == context
    gone = {label for label, _, _ in without(context, table)}
    assert left(context, table, gone) == {"title": " ", "tags": [], "user": {}}
    for label, less, _ in without(context, table):
        assert left(context, table, {label}) == less
