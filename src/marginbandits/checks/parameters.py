"""What every learner promises of its parameters once it is built: each is settled, or obeyed wherever it is read."""

import copy
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from marginbandits.checks.common import expect, refuses
from marginbandits.checks.rounds import Build, laws_of, learner_check, train
from marginbandits.settled import rules

__all__: list[str] = ["parameters_are_settled_or_obeyed"]


@learner_check
def parameters_are_settled_or_obeyed(build: Build) -> None:
    """A parameter that is set is refused by name, or obeyed: by compiled rounds, copies of a window, and files."""
    agent: Any = build()
    known = rules(cast(Any, type(agent)))
    given: list[dict[str, object]] = [{}, {"window": 100}] if "window" in agent.parameters() else [{}]
    for window in given:
        for matrix, trained in ((False, 0), (False, 30), (False, getattr(agent, "EARLY", 0) + 40), (True, 30)):
            agent = build(**window)
            train(agent, trained, matrix=matrix)
            before = agent.dumps()
            obeyed = set()
            for name, value in agent.parameters().items():
                rule = known.get(name)
                for bad in () if rule is None else rule.bad_values():
                    refuses(name, bad, setattr, agent, name, bad)
                for other in _others(value):
                    try:
                        setattr(agent, name, other)
                    except ValueError as error:
                        expect(name in str(error), f"the error for {name}={other!r} must name it: {error}")
                        continue
                    where = f"{name} = {other!r} set after {trained} rounds {window or ''}"
                    _expect_obeyed(agent, where, matrix=matrix)
                    setattr(agent, name, value)
                    obeyed.add(name)
            expect(agent.dumps() == before, f"parameters that were refused, or set back, left a trace ({window or ''})")
            expect(obeyed == set(agent.live), f"{sorted(agent.live)} may be set, but {sorted(obeyed)} were")


def _others(value: object) -> Iterator[object]:
    """What a parameter of this value might be set to."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value / 4 + 0.05, value * 4 + 0.01, value + 1)  # less, more, and another whole number
    else:
        yield from ("hinge", "fourier", 1, 0.5, (0.0, 500.0), None)


def _expect_obeyed(agent: Any, where: str, *, matrix: bool) -> None:
    one, two, slow = copy.deepcopy(agent), type(agent).loads(agent.dumps()), copy.deepcopy(agent)
    slow._swift = None
    found = [laws_of(each, matrix=matrix) for each in (agent, two, slow)]  # copies' compiled rounds are made anew
    expect(np.array_equal(found[0], found[1]), f"a file plays otherwise than who wrote it: {where}")
    expect(np.allclose(found[0], found[2], atol=1e-6), f"compiled rounds play otherwise: {where}")
    losses = [train(each, 60, matrix=matrix, seed=1) for each in (one, two)]
    expect((losses[0] == losses[1]).all() and one.dumps() == two.dumps(), f"a file goes on otherwise: {where}")
