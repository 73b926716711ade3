"""Events learnt together are those learnt one by one, to the bit, whatever is among them."""

import random
from typing import Any

import pytest

from marginbandits.service.join import Closed
from marginbandits.service.model import LEARNERS, Model
from marginbandits.service.records import Decided, Offer, Policy

NAMES = ["hat", "shoe", "coat"]


def events(n: int) -> list[Closed]:
    """Of all modes, with actions that are excluded, and two contexts that no learner takes."""
    rng, found = random.Random(0), []
    for k in range(n):
        context: dict[str, Any] = {"age": rng.random(), "likes": rng.choice(NAMES)}
        if k in (n // 3, n // 2):
            context["age"] = 1e200
        actions = [Offer(one, {"price": float(at)} if rng.random() < 0.5 else None) for at, one in enumerate(NAMES)]
        excluded = [1] if rng.random() < 0.2 else []
        law = [1.0 / (3 - len(excluded))] * (3 - len(excluded))
        probabilities = [0.0 if at in excluded else law[0] for at in range(3)]
        mode = rng.choice(["Online", "Online", "Apprentice", "LoggingOnly"])
        given = "", context, actions, probabilities, law, rng.choice([0, 2]), 0, 1, 0, 1.0, 0.0, (0.0, 1.0)
        decided = Decided(*given, mode=mode, excluded=excluded, shadow=2)  # type: ignore[arg-type]
        found.append(Closed(k, str(k), k, k, decided, rng.random(), rng.choice(["rewarded", "inactive"])))
    return found


@pytest.mark.parametrize("learner", LEARNERS)
def test_groups_are_one_after_another(learner: str) -> None:
    one, several, some = Model(Policy(learner)), Model(Policy(learner)), events(60)
    for event in some:
        one.learn([event])
    for first in range(0, 60, 16):
        several.learn(some[first : first + 16])
    assert (one.learnt, one.skipped) == (several.learnt, several.skipped)
    assert one.skipped > 2
    assert one.dumps() == several.dumps()
    asked = [(event.decided.context, event.decided.actions) for event in some if event.decided.context["age"] < 1.0]
    laws, learnt = several.laws(asked)
    assert (laws, [learnt] * len(asked)) == tuple(map(list, zip(*(one.law(*ask) for ask in asked), strict=True)))
