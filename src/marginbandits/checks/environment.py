"""What every environment promises: honest rounds that can be played again."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from marginbandits.checks.common import check_parameters, expect
from marginbandits.types import Decision, Environment
from marginbandits.validation import validated

__all__ = ["check_environment"]


@validated
def check_environment(environment: Callable[..., Any], **arguments: Any) -> None:
    """Check an environment class, built with `arguments`: bad parameters, rounds, losses, repetition."""
    built = environment(**arguments)
    expect(isinstance(built, Environment), "it must have n_actions, n_rounds and rounds to iterate")
    expect(built.n_actions >= 2 and built.n_rounds >= 1, "it must have two actions or more, and a round")
    check_parameters(environment, arguments)
    first = _play(built)
    expect(len(first) == built.n_rounds, f"n_rounds says {built.n_rounds}, there were {len(first)}")
    for again in (_play(built), _play(environment(**arguments))):
        same = all(np.array_equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(first, again, strict=True))
        expect(same, "played again, or built again from the same arguments, it must give the same rounds")
    if getattr(built, "contexts", None) is not None:
        expect(
            np.array_equal(built.contexts, [context for context, _ in first]), "contexts must be those of the rounds"
        )


def _play(environment: Environment) -> list[tuple[Any, float | None]]:
    rng = np.random.default_rng(0)
    k = environment.n_actions
    out = []
    for current in environment:
        context = np.array(current.context)
        named = isinstance(current.context, Mapping)
        expect(named or np.isfinite(context).all(), f"contexts must be finite, got {context}")
        law = rng.dirichlet(np.ones(k))
        action = int(rng.integers(k))
        loss = current.reveal(Decision(action, float(law[action]), law))
        if loss is not None:
            expect(0.0 <= loss <= 1.0, f"losses must lie in [0, 1], got {loss}")
        if current.losses is not None:
            expect(current.losses.shape == (k,), f"all losses must be {k} numbers, got {current.losses}")
            expect(current.losses[action] == loss, "the loss revealed must be the one it has for that action")
        out.append((context, loss))
    return out
