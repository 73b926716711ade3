"""Contextual zooming, against what its bound is made of, and broken."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import theory
from marginbandits.types import Array

LINE = mb.Cube([0.0], [1.0], lipschitz=2.0)


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
