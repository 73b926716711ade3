"""Kernels that are called where they are: the same machine code, for arguments of its own types only."""

from typing import Any

import numpy as np
import pytest
from numba.core.errors import TypingError

from marginbandits.compiled import entry, kernel, made_for
from marginbandits.held import Held, taken
from marginbandits.pointed import Pointed, called


@kernel
def _sum(x: Any, scale: float) -> float:
    total = 0.0
    for value in x:
        total += scale * value
    return total


@kernel
def _inverse(x: Any, scale: float) -> float:
    if scale == 0.0:
        raise ZeroDivisionError
    return float(x[0] / scale)


@kernel
def _asked(held: Any) -> float:
    pointed, x, scale = taken(held)
    return float(called(pointed, (x, scale)))


def asked(*values: Any) -> float:
    held = Held(values)
    return float(entry(_asked, (held,))(held.given))


def test_it_is_one_machine_code_whoever_calls() -> None:
    x = np.random.default_rng(0).standard_normal(1001)
    alone = entry(_sum, (x, 0.3))(x, 0.3)
    before = len(_sum.overloads)  # type: ignore[attr-defined]  # a kernel
    assert asked(Pointed(_sum, (x, 0.3)), x, 0.3) == alone
    assert len(_sum.overloads) == before  # type: ignore[attr-defined]  # a kernel
    assert int(Pointed(_sum, (x, 0.3))) == int(Pointed(_sum, (x[:3], 7.0)))
    assert made_for(_sum, (x, 0.3)) is made_for(_sum, (x[:3], 7.0))


@pytest.mark.parametrize("given", [(np.zeros(3, np.float32), 1.0), (np.zeros((3, 1)), 1.0), (np.zeros(3), 1)])
def test_arguments_of_other_types_are_no_arguments(given: tuple[Any, Any]) -> None:
    with pytest.raises(TypingError, match="is called with"):
        asked(Pointed(_sum, (np.zeros(3), 1.0)), *given)


def test_what_it_raises_is_raised() -> None:
    x = np.array([3.0])
    pointed = Pointed(_inverse, (x, 2.0))
    assert asked(pointed, x, 2.0) == 1.5
    with pytest.raises(ZeroDivisionError):
        asked(pointed, x, 0.0)
