"""Actions by name: labels, offers with features of their own, actions that come and go."""

import json
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments.specs import nameable_learners
from marginbandits.learners.offers import Names, Offered

LABELS = ["mens", "womens", "none"]
CHANGING = [one for one in nameable_learners(peers=False).values() if one.changes_actions]


def _right(x: Any) -> str:
    return "mens" if x[0] > 0 else "womens"


def _played(agent: Any, rounds: int, seed: int = 0) -> float:
    rng, total = np.random.default_rng(seed), 0.0
    for x in rng.standard_normal((rounds, 2)):
        decision = agent.act(x)
        loss = float(decision.action != _right(x))
        agent.learn(x, decision, loss)
        total += loss
    return total / rounds


def test_decisions_carry_the_names_that_were_given() -> None:
    agent = mb.LinUCB(actions=LABELS, seed=0)
    assert agent.n_actions == 3
    assert _played(agent, 200) < 0.3
    decision = agent.act([2.0, 0.0])
    assert decision.action == "mens"
    assert decision.actions == ("mens", "womens", "none")
    written = json.loads(json.dumps(decision.to_dict()))
    again = mb.Decision.from_dict(written)
    assert (again.action, again.actions) == (decision.action, decision.actions)
    agent.learn([2.0, 0.0], again, 0.0)
    numbered = mb.LinUCB(3, seed=0)
    assert isinstance(numbered.act([1.0]).action, int)
    assert numbered.act([1.0]).actions is None


def test_names_are_learnt_as_places_are() -> None:
    named, numbered = mb.HingeLMC(actions=LABELS, seed=0), mb.HingeLMC(3, seed=0)
    for x in np.random.default_rng(0).standard_normal((60, 2)):
        one, two = named.act(x), numbered.act(x)
        assert one.action == LABELS[two.action]
        loss = float(one.action != _right(x))
        named.learn(x, one, loss)
        numbered.learn(x, two, loss)
    assert all(np.array_equal(named.state()[name], array) for name, array in numbered.state().items())


def test_what_is_no_action_is_refused_by_name() -> None:
    agent = mb.LinUCB(actions=LABELS, seed=0)
    for bad in ("men", 0, None, True, 1.5, ["mens"]):
        with pytest.raises(ValueError, match="action must be one of"):
            agent.learn([1.0], mb.Decision(bad, 0.5), 0.0)
    for few in (["mens", "mens"], ["mens"], [], [None, "a"], [1.5, "a"], "mens", [True, "b"]):
        with pytest.raises(ValueError, match="actions must be"):
            mb.LinUCB(actions=few)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match="n_actions must be as many as the 3 actions, got 4"):
        mb.LinUCB(4, actions=LABELS)
    with pytest.raises(ValueError, match="n_actions must be"):
        mb.LinUCB()
    with pytest.raises(TypeError, match="no argument 'action'; did you mean 'actions'"):
        mb.LinUCB(action=LABELS)  # type: ignore[call-arg]  # a typo
    assert agent.state() == {}


def test_an_offer_is_a_mask_by_name() -> None:
    agent = mb.LinUCB(actions=LABELS, seed=0)
    _played(agent, 100)
    law = agent.law([2.0, 0.0], actions=["none", "womens"])
    assert np.array_equal(law, agent.law([2.0, 0.0], available=[False, True, True]))
    decision = agent.act([2.0, 0.0], actions=["womens"])
    assert decision.action == "womens"
    agent.learn([2.0, 0.0], decision, 1.0, actions=["womens"])
    with pytest.raises(ValueError, match="must be available, got 'mens'"):
        agent.learn([2.0, 0.0], mb.Decision("mens", 1.0), 1.0, actions=["womens"])
    both = agent.act_many([[2.0, 0.0], [2.0, 0.0]], actions=[["womens"], ["mens", "none"]])
    assert [one.action for one in both] == ["womens", "mens"]
    assert [one.action for one in agent.act_many([[2.0, 0.0]] * 2, actions=["womens"])] == ["womens"] * 2
    agent.learn_many([[2.0, 0.0]] * 2, both, [1.0, 0.0], actions=[["womens"], ["mens", "none"]])
    offers: list[Any] = [[], ["shoes"], "mens", 3, {"mens": {}, "x": {}}]
    for bad in offers:
        with pytest.raises(ValueError, match="action"):
            agent.act([1.0, 1.0], actions=bad)
    with pytest.raises(ValueError, match="give available or actions"):
        agent.act([1.0, 1.0], actions=["mens"], available=[True, True, True])
    with pytest.raises(ValueError, match="row for each of 3 actions"):
        mb.LinUCB(actions=LABELS).act(np.eye(2))


def _offer(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    user = {"likes": str(rng.choice(["red", "blue"]))}
    names = rng.choice(40, size=int(rng.integers(2, 6)), replace=False)
    return user, {f"item {i}": {"colour": "red" if i % 2 else "blue", "price": float(i)} for i in names}


@pytest.mark.parametrize("cls", [mb.SquareCB, mb.RegCB, mb.HingeLMC, mb.LinUCB, mb.Mixture])
def test_actions_with_features_are_learnt_by_what_is_said_of_them(cls: Any) -> None:
    """Who likes red is to be shown what is red: a product of what user and action are, for items never seen before."""
    agent, rng, losses = cls(2, seed=0), np.random.default_rng(0), []
    for _ in range(200):
        user, items = _offer(rng)
        decision = agent.act(user, actions=items)
        assert decision.actions == tuple(items)
        loss = float(items[decision.action]["colour"] != user["likes"])
        possible = any(one["colour"] == user["likes"] for one in items.values())
        agent.learn(user, decision, loss, actions=items)
        losses.append(loss if possible else 0.0)
    assert np.mean(losses[100:]) < 0.1
    fresh = {"new a": {"colour": "red"}, "new b": {"colour": "blue"}}
    assert agent.law({"likes": "red"}, actions=fresh)[0] > 0.5
    again = cls.loads(agent.dumps())
    assert np.array_equal(again.law({"likes": "blue"}, actions=fresh), agent.law({"likes": "blue"}, actions=fresh))
    assert again.law({"likes": "blue"}, actions=fresh)[1] > 0.5


def test_many_offers_are_what_each_is() -> None:
    rng = np.random.default_rng(0)
    one, two = mb.SquareCB(2, seed=0), mb.SquareCB(2, seed=0)
    users, offers = zip(*(_offer(rng) for _ in range(30)), strict=True)
    decisions = one.act_many(users, actions=offers)
    singly = [two.act(user, actions=items) for user, items in zip(users, offers, strict=True)]
    assert [each.action for each in decisions] == [each.action for each in singly]
    losses = [float(i % 2) for i in range(30)]
    one.learn_many(users, decisions, losses, actions=offers)
    for user, items, decision, loss in zip(users, offers, singly, losses, strict=True):
        two.learn(user, decision, loss, actions=items)
    assert one.dumps() == two.dumps()
    assert len(one.laws(users, actions=offers)) == 30
    with pytest.raises(ValueError, match="offers for each of 30 contexts, got 2"):
        one.act_many(users, actions=offers[:2])
    assert one.act(None, actions=offers[0]).action in offers[0]
    for agent, given in ((one, users[:2]), (mb.LinUCB(actions=LABELS), [[1.0], [2.0]])):
        with pytest.raises(ValueError, match=r"actions\[0\]: actions must be"):
            agent.act_many(given, actions=[None, None])


def test_what_is_no_offer_is_refused_by_name() -> None:
    agent = mb.SquareCB(2, seed=0)
    user, items = _offer(np.random.default_rng(0))
    for bad, words in (
        ({}, "mapping of names to features"),
        (["a", "b"], "mapping of names to features"),
        ({"a": 3}, r"actions\['a'\] must be names and values"),
        ({1.5: {}}, "words or whole numbers for names, got 1.5"),
        ({"a": {"since": complex(1)}}, r"actions\['a'\]\['since'\] must be a number"),
    ):
        with pytest.raises(ValueError, match=words):
            agent.act(user, actions=bad)
    with pytest.raises(ValueError, match="context must be names and values, or None"):
        agent.act([1.0, 2.0], actions=items)
    decision = agent.act(user, actions=items)
    agent.learn(user, decision, 0.5, actions=items)
    before = agent.dumps()
    with pytest.raises(ValueError, match="action must be one of"):
        agent.learn(user, mb.Decision("nothing", 0.5), 0.5, actions=items)
    with pytest.raises(ValueError, match="context must be mappings, one for each action"):
        agent.act(user)
    assert agent.dumps() == before


def test_rows_of_an_offer() -> None:
    assert Offered(None, {7: None}).rows() == [{"action": {}, "id": "7"}]
    assert Names([7, "7"]).place(np.int64(7)) == 0
    assert Names([7, "7"]).place("7") == 1


# Actions that come and go.


def test_most_learners_may_change_their_actions() -> None:
    assert len(CHANGING) == 17


@pytest.mark.parametrize("cls", CHANGING)
def test_what_was_learnt_of_the_others_stays(cls: Any) -> None:
    agent, other = cls(actions=LABELS, seed=0), cls(actions=LABELS, seed=0)
    _played(agent, 120)
    other = cls.loads(agent.dumps())
    agent.add_action("kids")
    assert agent.actions == (*LABELS, "kids")
    assert agent.n_actions == 4
    mask = [True, True, True, False]
    contexts = np.random.default_rng(5).standard_normal((10, 2))
    for x in contexts:
        assert np.allclose(agent.law(x, available=mask)[:3], other.law(x), atol=0.1 if cls is mb.Cover else 1e-3)
    agent.retire_action("kids")
    assert agent.actions == tuple(LABELS)
    for x in contexts:
        assert np.allclose(agent.law(x), other.law(x), atol=1e-12)
    agent.retire_action("none")
    assert agent.actions == ("mens", "womens")
    if cls is not mb.Uniform:
        assert _played(agent, 60, seed=9) < 0.35
    again = cls.loads(agent.dumps())
    assert again.actions == ("mens", "womens")
    assert _played(again, 20, seed=3) == _played(agent, 20, seed=3)
    assert again.dumps() == agent.dumps()


@pytest.mark.parametrize("cls", [mb.LinUCB, mb.HingeLMC, mb.SquareCB, mb.Mixture])
def test_an_actions_name_and_not_its_place_is_what_is_learnt(cls: Any) -> None:
    agent = cls(actions=["none", "a", "mens", "b", "womens"], seed=0)
    _played(agent, 400)
    for gone in ("none", "a", "b"):
        agent.add_action(f"new {gone}")
        agent.retire_action(gone)
    for gone in ("new none", "new a", "new b"):
        agent.retire_action(gone)
    assert agent.actions == ("mens", "womens")
    assert agent.act([2.0, 0.0]).action == "mens"
    assert agent.act([-2.0, 0.0]).action == "womens"


@pytest.mark.parametrize("cls", [mb.LinUCB, mb.SquareCB, mb.HingeLMC])
def test_memory_follows_the_number_alive(cls: Any) -> None:
    agent = cls(actions=[f"{i}" for i in range(4)], seed=0)
    rng, size = np.random.default_rng(0), 0
    for change in range(60):
        for x in rng.standard_normal((3, 2)):
            agent.learn(x, agent.act(x), float(rng.random()))
        size = size or sum(array.nbytes for array in agent.state().values())
        agent.add_action(f"new {change}")
        agent.retire_action(agent.actions[int(rng.integers(4))])
    assert sum(array.nbytes for array in agent.state().values()) == size
    assert len(agent._journal.records) < 10


def test_early_rounds_are_still_learnt_anew_by_name() -> None:
    """While actions only come; if one goes that was played, what is left of its rounds would count for the others."""
    agent = mb.HingeLMC(actions=["a", "b", "c"], seed=0)
    rng = np.random.default_rng(0)
    for x in rng.standard_normal((20, 2)):
        agent.learn(x, agent.act(x), float(rng.random()))
    assert agent._early is not None
    before = agent._early.actions[:20].copy()
    agent.add_action("d")
    assert agent._early is not None
    assert int(agent._early.rounds[0]) == 20
    assert np.array_equal(agent._early.actions[:20], before)
    agent.retire_action("a")
    assert agent._early is not None
    assert agent._early.rounds[0] == len(agent._early.actions)  # given up
    for x in rng.standard_normal((40, 2)):
        agent.learn(x, agent.act(x), float(rng.random()))


@pytest.mark.parametrize("cls", [mb.HingeLMC, mb.Mixture, mb.LinUCB])
def test_rows_of_actions_and_actions_that_come_and_go(cls: Any) -> None:
    agent = cls(actions=list("abcd"), seed=1)

    def play(one: Any, rounds: int, seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        found = []
        for _ in range(rounds):
            rows = rng.standard_normal((one.n_actions, 3))
            decision = one.act(rows)
            found.append(decision.action)
            one.learn(rows, decision, float(rows[one.actions.index(decision.action), 0] < 0))
        return found

    play(agent, 40, 0)
    for name in "efgh":
        agent.add_action(name)
    again = cls.loads(agent.dumps())
    assert play(agent, 150, 1) == play(again, 150, 1)
    for name in "abc":
        agent.retire_action(name)
    again = cls.loads(agent.dumps())
    assert play(agent, 100, 2) == play(again, 100, 2)
    assert again.dumps() == agent.dumps()


def test_experts_are_believed_as_before_when_an_action_goes() -> None:
    agent, rng = mb.Mixture(actions=list("abc"), seed=0), np.random.default_rng(0)
    for i in range(120):
        action = "abc"[i % 3] if i < 20 else "c"
        agent.learn(rng.standard_normal(2), mb.Decision(action, 1 / 3), float(rng.random() < 0.5))
    before = agent.weights()
    agent.retire_action("c")
    for i in range(30):
        agent.learn(rng.standard_normal(2), mb.Decision("ab"[i % 2], 0.5), float(rng.random() < 0.5))
    assert np.abs(agent.weights() - before).max() < 0.5
    assert agent.weights()[2] > 1e-3


def test_trees_that_may_keep_less_can_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginbandits.experts.trees._ROOM", 400)
    agent = mb.Mixture(actions=["a", "b"], experts=[mb.TreesExpert(n_trees=2, memory=100), mb.RidgeExpert()], seed=0)
    for x in np.random.default_rng(0).standard_normal((170, 2)):
        agent.learn(x, mb.Decision("a", 0.5), float(x[0] > 0))
    for name in "cdefgh":
        agent.add_action(name)
        assert mb.Mixture.loads(agent.dumps()).dumps() == agent.dumps()
    assert agent.act([2.0, 0.0]).action in ("b", *"cdefgh")


def test_names_are_plain() -> None:
    agent = mb.LinUCB(actions=np.array([7, 8]), seed=0)  # type: ignore[arg-type]  # an array is a list of them
    agent.add_action(np.int64(9))  # type: ignore[arg-type]  # a whole number
    agent.add_action(np.str_("ten"))
    assert agent.actions == (7, 8, 9, "ten")
    assert {type(one) for one in agent.actions} == {int, str}
    for bad in (2**63, 10**5000, np.timedelta64(7), True):
        with pytest.raises(ValueError, match="action"):
            agent.add_action(bad)  # type: ignore[arg-type]  # what is refused
        with pytest.raises(ValueError, match="action"):
            agent.learn([1.0], mb.Decision(bad, 0.5), 0.0)
    with pytest.raises(ValueError, match="names that differ as words"):
        mb.SquareCB(2).act(None, actions={7: {}, "7": {}})
    one = mb.SquareCB(2, seed=0).act_many([{"a": 1}, {"a": 2}], actions={"x": {}, "y": {}})
    assert all(each.actions == ("x", "y") for each in one)


def test_classes_of_ones_own_take_the_options_too() -> None:
    class Mine(mb.LinUCB):
        def __init__(self, n_actions: int | None = None, **options: Any) -> None:
            super().__init__(n_actions, **options)

    assert "Mine(n_actions=2" in repr(Mine(2))
    with pytest.raises(ValueError, match=r"Mine does not say what \*\*options are"):
        Mine(2).dumps()

    class Bare(mb.Uniform):
        def __init__(self, **options: Any) -> None:
            mb.Learner.__init__(self, 2, features="raw", **options)

    for bad in ({"window": -3}, {"window": "foo"}, {"actions": "ab"}, {"reward_range": 5}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
            Bare(**bad)


def test_a_change_that_fails_leaves_the_learner_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.HingeLMC(actions=LABELS, seed=0)
    _played(agent, 50)
    before = agent.dumps()
    for place in ("marginbandits.state.State._adopt", "marginbandits.learners.early.Early._adopt"):
        with monkeypatch.context() as patch:
            patch.setattr(place, lambda *_: (_ for _ in ()).throw(MemoryError))
            with pytest.raises(MemoryError):
                agent.add_action("kids")
        assert agent.dumps() == before
    for bad in ("mens", None, 1.5, True, ["x"]):
        with pytest.raises(ValueError, match="action must be a new name"):
            agent.add_action(bad)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match="action must be one of"):
        agent.retire_action("kids")
    agent.retire_action("none")
    with pytest.raises(ValueError, match="must leave two others"):
        agent.retire_action("mens")
    with pytest.raises(ValueError, match="must have names before"):
        mb.LinUCB(3).add_action("x")
    with pytest.raises(ValueError, match="the actions of EpochGreedy stay"):
        mb.EpochGreedy(actions=LABELS).add_action("x")


def test_late_news_of_an_action_that_is_gone_is_refused_by_name() -> None:
    agent = mb.LinUCB(actions=LABELS, seed=0)
    _played(agent, 30)
    agent.retire_action("none")
    with pytest.raises(ValueError, match=r"action must be one of \('mens', 'womens'\), got 'none'"):
        agent.learn([1.0, 0.0], mb.Decision("none", 0.3), 1.0)


def test_nothing_learnt_yet_changes_as_well() -> None:
    agent = mb.LinUCB(actions=LABELS, seed=0)
    agent.add_action("kids")
    assert len(agent.law([1.0])) == 4
    agent.learn([1.0], agent.act([1.0]), 0.0)
    assert agent.state()["ridge.theta"].shape == (4, 2)
