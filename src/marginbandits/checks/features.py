"""What every feature map promises: no look-ahead, rows as batches, state that can be saved."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from marginbandits.checks.common import check_parameters, expect, same_arrays
from marginbandits.validation import validated

__all__ = ["check_features"]


@validated
def check_features(features: Callable[..., Any], **arguments: Any) -> None:
    """Check a feature map class, built with `arguments`."""
    check_parameters(features, arguments)
    recipe = features(**arguments)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 5)) * [1.0, 1e6, 1e-6, 1.0, 0.0] + [0.0, 1e7, 0.0, -3.0, 2.0]
    one, two = (recipe.start(5, np.random.default_rng(1)) for _ in range(2))
    expect(one is not recipe and one is not two, "start must give a fresh copy")
    for row in rows:
        seen = one.observe(row[None])
        before = copy.deepcopy(_arrays(one))
        expect(np.isfinite(seen).all(), "features must be finite")
        expect(np.array_equal(seen, one.transform(row[None])), "observe must return what transform then gives")
        expect(same_arrays(before, _arrays(one)), "transform must not change the state")
        two.observe(row[None])
    expect(same_arrays(_arrays(one), _arrays(two)), "the same rows must give the same state")
    batch = one.transform(rows)
    expect(batch.shape == (60, one.n_outputs), f"there must be n_outputs features, got {batch.shape}")
    expect(np.array_equal(batch, np.concatenate([one.transform(row[None]) for row in rows])), "rows as batches")
    one.transform(rows)[:] = -1.0
    expect(np.array_equal(batch, one.transform(rows)), "the features must be a new array each time")
    three = recipe.start(5, np.random.default_rng(2))
    for name, array in _arrays(three).items():
        array[...] = _arrays(one)[name]
    expect(np.array_equal(batch, three.transform(rows)), "`fields` must hold the whole state")
    before = copy.deepcopy(_arrays(one))
    one.journal.begin()
    one.observe(rows[:1])
    one.journal.undo()
    expect(same_arrays(before, _arrays(one)), "what `observe` changes must be kept in the journal first")
    one.check()


def _arrays(started: Any) -> dict[str, Any]:
    return {name: field.array for name, field in started.fields().items()}
