"""Offers in compiled code are what the long way makes of them, however many rounds are in a call."""

import copy
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.learners.swift_offers import SwiftOffers

Offer = dict[str, dict[str, Any] | None]


class LongWay(mb.SquareCB):
    """Does something in its own way, and so has no compiled rounds."""

    def _settle(self) -> None:
        super()._settle()


class LongTS(mb.LogisticTS):
    """The same of another learner."""

    def _settle(self) -> None:
        super()._settle()


def offers(n: int, seed: int = 0) -> list[tuple[dict[str, Any] | None, Offer, mb.Decision, float]]:
    """Contexts of all kinds, some of a thousand visitors; what is offered, what was chosen, and its loss."""
    rng = np.random.default_rng(seed)
    goods = {f"a{k}": {"price": 1.5 * k, "kind": "hat" if k % 2 else "red shoes", "tags": ["new"]} for k in range(9)}
    found = []
    for _ in range(n):
        names = rng.choice(list(goods), rng.integers(1, 6), replace=False).tolist()
        offered: Offer = {name: goods[name] if rng.random() < 0.7 else None for name in names}
        visitor = {"age": rng.normal(40, 9), "id": f"v{rng.integers(1000)}", "vip": True, "gone": None}
        context = {**visitor, "at": {"hour": int(rng.integers(24))}} if rng.random() < 0.9 else None
        found.append((context, offered, mb.Decision(names[0], float(rng.uniform(0.1, 1.0))), float(rng.random())))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weighted": True},
        {"features": mb.Table(hash_bits=4)},
        {"features": mb.Table(interactions=[["action", "id"], ["user", "user"]], drop=["user.age"])},
        {"features": mb.Table(drop=["user"], features=mb.Standardise(bias=False))},
        {"features": mb.Table(drop=["action", "id"], interactions=[["user", "action"]])},
    ],
)
@pytest.mark.parametrize(("kind", "long_way"), [(mb.SquareCB, LongWay), (mb.LogisticTS, LongTS)])
def test_they_are_what_the_long_way_makes_of_them(kind: Any, long_way: Any, options: dict[str, Any]) -> None:
    if "weighted" in options and kind is mb.LogisticTS:
        options = {"scale": 0.5}
    one, other = kind(2, seed=0, **copy.deepcopy(options)), long_way(2, seed=0, **copy.deepcopy(options))
    for context, offered, decision, loss in offers(150):
        laws = [agent.law(context, actions=offered) for agent in (one, other)]
        np.testing.assert_allclose(laws[0], laws[1], rtol=1e-12)
        for agent in (one, other):
            agent.learn(context, decision, loss, actions=offered)
    assert type(one._swift).__name__ == SwiftOffers.__name__
    assert other._swift is None
    state, wanted = one.state(), other.state()
    assert state.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_allclose(state[name], array, rtol=1e-9, atol=1e-300, err_msg=name)


def test_what_is_offered_is_read_as_rows_of_user_action_and_id() -> None:
    from marginbandits.learners.offers import Offered

    table = mb.Table(interactions=[["user", "action"], ["user", "id"], ["id", "action"]], categorical=["id"])
    for context, offered, _, _ in offers(60):
        one = Offered(context, offered)
        rows, wanted = table._offered([one.said()]), table._codes(one.rows())
        assert rows.columns.tolist() == wanted.columns.tolist()
        assert rows.values.tolist() == wanted.values.tolist()
        assert rows.starts.tolist() == wanted.starts.tolist()


def test_many_rounds_are_one_after_another_to_the_bit() -> None:
    one, many = mb.SquareCB(2, seed=0), mb.SquareCB(2, seed=0)
    rounds = offers(80)
    for first in range(0, 80, 20):
        contexts, offered, decisions, losses = (list(part) for part in zip(*rounds[first : first + 20], strict=True))
        for context, offer, decision, loss in rounds[first : first + 20]:
            one.learn(context, decision, loss, actions=offer)
        many.learn_many(contexts, decisions, losses, actions=offered)
        laws = many.laws(contexts, actions=offered)
        for law, context, offer in zip(laws, contexts, offered, strict=True):
            assert law.tolist() == one.law(context, actions=offer).tolist()
    assert one.dumps() == many.dumps()
    again = mb.loads(one.dumps())
    for agent in (one, again, many):
        agent.learn(rounds[0][0], rounds[0][2], 1.0, actions=rounds[0][1])
    assert one.dumps() == again.dumps() == many.dumps()


def test_what_is_refused_changes_nothing() -> None:
    agent = mb.SquareCB(2, seed=0)
    for context, offer, decision, loss in offers(20):
        agent.learn(context, decision, loss, actions=offer)
    before = agent.dumps()
    refused: list[tuple[Any, Any, str]] = [
        ({"age": 1e200}, {"a1": None, "a2": None}, r"^context\['age'\] must be"),
        ({"d": [1, "a"]}, {"a1": None}, r"^context\['d'\] must have only strings"),
        ({}, {"a1": None, "a2": {"price": 1e200}}, r"^actions\['a2'\]\['price'\] must be"),
        ({}, {"a1": None, "a2": {str(k): 1.0 for k in range(10_000)}}, r"^actions\['a2'\]: .*at most 10,000 entries"),
        (
            {str(k): 1.0 for k in range(5_000)},
            {"a1": None, "a2": {"b": 1}},
            r"^actions\['a.'\]: .*at most 10,000 entries",
        ),
        ({1: 2.0}, {"a1": None}, "strings for names"),
    ]
    for given, offered, bad in refused:
        with pytest.raises(ValueError, match=bad):
            agent.learn(given, mb.Decision("a1", 0.5), 0.5, actions=offered)
        with pytest.raises(ValueError, match=bad):
            agent.law(given, actions=offered)
    good = offers(2)
    with pytest.raises(ValueError, match="losses"):
        agent.learn_many(
            [one[0] for one in good], [one[2] for one in good], [0.5, 7.0], actions=[one[1] for one in good]
        )
    assert agent.dumps() == before
