"""What the checks share: asserting with a message, refusing bad values, comparing states."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.validation import constraints

__all__ = ["check_parameters", "expect", "refuses", "same_arrays"]


def expect(condition: object, message: str) -> None:
    """Raise an AssertionError with the message; unlike `assert`, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def refuses(name: str, value: object, call: Callable[..., object], *args: object, **kwargs: object) -> None:
    """The call must raise a ValueError whose message names the argument and shows the value, if it is a plain one."""
    try:
        call(*args, **kwargs)
    except ValueError as error:
        text = str(error)
        expect(re.search(rf"\b{re.escape(name)}", text), f"the error for {name}={value!r} must name it: {text!r}")
        plain = isinstance(value, int | float | str)
        expect(not plain or str(value) in text, f"the error for {name}={value!r} must show the value: {text!r}")
    else:
        raise AssertionError(f"{name}={value!r} must be refused with a ValueError")


def check_parameters(cls: Callable[..., object], valid: Mapping[str, Any]) -> None:
    """Every declared argument refuses every bad value its declaration lists, by name and showing the value."""
    declared = constraints(getattr(cls, "__init__", cls))
    for name, constraint in declared.items():
        for bad in constraint.bad_values():
            refuses(name, bad, cls, **{**valid, name: bad})


def same_arrays(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Same names, and bit for bit the same values (NaN equals NaN)."""
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name], equal_nan=True) for name in one
    )
