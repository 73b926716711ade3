"""What every expert promises a mixture: rewards within [0, 1], and a state that is in its fields and can be taken back.

An expert of one's own is checked on vectors and on K x d contexts, before and after it has learnt.
"""

from typing import Any

import numpy as np

from marginbandits.checks.common import expect
from marginbandits.contexts import Batch, per_action, shared
from marginbandits.experts import Expert
from marginbandits.state import Journal
from marginbandits.types import Array
from marginbandits.validation import validated

__all__ = ["check_expert"]

K, D, ROUNDS = 3, 4, 40


@validated
def check_expert(expert: Expert) -> None:
    """Check an expert as one would give it to `Mixture`; raises an AssertionError that says what is broken.

    >>> from marginbandits import TreesExpert
    >>> check_expert(TreesExpert(n_trees=3))
    """
    for together in (False, True):
        own = expert._start(1 if together else K, D)
        journal = Journal()
        own.attach(journal)
        rng = np.random.default_rng(0)
        probe = _contexts(rng, together, 5)
        fresh = own._predict(probe).copy()
        _check_answers(own, probe)
        for k in range(ROUNDS):
            one, action, loss = _contexts(rng, together, 1), int(rng.integers(K)), float(k % 3 == 0)
            _check_round(own, journal, one, action, loss)
        _check_answers(own, probe)
        copied = expert._start(1 if together else K, D)
        for name, field in copied.fields().items():
            field.array[...] = own.fields()[name].array
        same = np.array_equal(copied._predict(probe), own._predict(probe))
        expect(same, "what it has learnt must be in its fields: a copy made of them predicts otherwise")
        if own.scaled:
            own._forget()
            expect(np.array_equal(own._predict(probe), fresh), "after _forget it must predict as it did at first")


def _contexts(rng: np.random.Generator, together: bool, n: int) -> Batch:
    rows: Any = rng.standard_normal((n, K if together else 1, D)).astype(np.float32)
    return shared(list(rows)) if together else per_action(rows[:, 0], K)


def _check_answers(expert: Expert, batch: Batch) -> None:
    predicted, width = expert._predict(batch), expert._width(batch)
    shape = batch.mask.shape
    rule = f"_predict must give {shape[0]} numbers, one for each action"
    expect(predicted.shape == shape, f"{rule}, got {predicted.shape}")
    inside = bool(((predicted >= 0.0) & (predicted <= 1.0)).all())
    expect(inside, f"_predict must give rewards within 0 and 1, got {predicted}")
    if width is not None:
        expect(width.shape == shape, f"_width must give {shape[0]} numbers or None, got {width.shape}")
        expect(bool((width >= 0.0).all() and np.isfinite(width).all()), f"_width must not be negative, got {width}")


def _check_round(expert: Expert, journal: Journal, one: Batch, action: int, loss: float) -> None:
    """Learn it, take it back, and learn it again."""
    before, answers = _bits(expert), expert._predict(one).copy()
    for again in (True, False):
        journal.begin()
        predicted: object = expert._learn(one, action, loss)
        right = isinstance(predicted, float | np.floating) and abs(float(predicted) - answers[action]) <= 1e-6
        expect(right, f"_learn must return the reward predicted before, {answers[action]}, got {predicted!r}")
        if again:
            journal.undo()
            expect(_bits(expert) == before, "what _learn changes must be in the journal first: it cannot be taken back")
            expect(np.array_equal(expert._predict(one), answers), "taken back, it must predict as it did before")


def _bits(expert: Expert) -> dict[str, bytes]:
    found: dict[str, Array] = {name: field.array for name, field in expert.fields().items()}
    return {name: array.tobytes() for name, array in found.items()}
