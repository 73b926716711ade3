"""Values that no argument should trust: wrong kinds, wrong shapes, endless, enormous, or lying about themselves."""

import datetime
import decimal
import enum
import fractions
import functools
from typing import Any

import numpy as np
import scipy.sparse

import marginbandits as mb

__all__ = ["hostile"]


class _Word(str):
    __slots__ = ()


class _Hostile:
    """An object whose every conversion fails in its own way."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no array")

    def __float__(self) -> float:
        raise KeyError("no float")

    def __repr__(self) -> str:
        raise ZeroDivisionError("no repr")


class _Endless:
    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, at: object) -> float:
        return 0.0


class _Colour(enum.Enum):
    RED = 1


@functools.cache
def hostile() -> list[Any]:
    """Values that no argument should trust."""
    endless: list[Any] = []
    endless.append(endless)
    wide: list[Any] = []
    wide.extend([wide] * 50)
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    inside = np.empty(1, object)
    inside[0] = inside
    return [
        *(None, True, False, "", "x" * 10_000_000, b"bytes", "nan", "1", _Word("ramp"), 1j, object(), _Hostile()),
        *(10**400, -(10**400), 2**63, 2**31, -1, 0, 10**12, 1e300, -1e300, 1e-300, 5e-324, 1e160, 1e200, 0.5, 2.5),
        *(
            float("nan"),
            float("inf"),
            -float("inf"),
            -0.0,
            np.float64("nan"),
            np.float32("inf"),
            np.longdouble("1e4000"),
        ),
        *(np.timedelta64(1, "s"), np.datetime64("2020-01-01"), datetime.timedelta(1), np.timedelta64("NaT")),
        *(decimal.Decimal(1), decimal.Decimal("NaN"), fractions.Fraction(1, 3), fractions.Fraction(10**400, 1)),
        *([], [[]], [[], [1.0]], {}, set(), {1.0, 2.0}, {"a": 1}, (), iter([1.0]), range(3), _Endless(), _Colour.RED),
        *(endless, wide, deep, inside, [0.1, endless], [None] * 3, [[1.0, 2.0], [3.0]], [10**400] * 3, ["a", "b", "c"]),
        *([True, 0.5, 0.5], [1j, 1.0, 2.0], ["0.1"] * 3, [b"1"] * 3, [float("nan")] * 3, [1e308] * 3, [-1.0, 1.0, 1.0]),
        *(np.array(["1", "2", "3"]), np.array(["1", "2"], object), np.array([b"1", b"2", b"3"], object), np.array("x")),
        *(np.ma.masked_array([0.2, 0.3, 0.5], [True, False, False]), np.ma.masked, np.array(None), np.array(0.5)),
        *(np.zeros(3, complex), np.zeros(3, "m8[s]"), np.zeros(3, "M8[s]"), np.zeros(3, "V4"), np.zeros(3, "f4,f4")),
        *(
            np.full(3, np.nan),
            np.full(3, np.inf),
            np.full((2, 2), np.nan),
            np.zeros(0),
            np.zeros((0, 2)),
            np.zeros((2, 0)),
        ),
        *(np.zeros((1,) * 9), np.zeros((2, 3, 4, 5)), np.zeros(1), np.zeros(5), np.zeros((5, 5)), np.full(3, 1e308)),
        *(
            np.full((3, 2), -1e300),
            np.full((3, 2), 5e-324),
            np.ones(3, bool),
            np.zeros(3, bool),
            np.array([2**63], "u8"),
        ),
        *(scipy.sparse.csr_array(np.eye(3)), scipy.sparse.csr_array((10**9, 10**9)), np.broadcast_to(0.5, (10**6,))),
        *(int, len, lambda *_: None, lambda *_: "x", lambda *_: float("nan"), np, mb, type, Ellipsis, NotImplemented),
        *(mb.Decision(0, 0.5), mb.Decision(-1, 0.5), mb.Decision(True, 0.5), mb.Decision(0, float("nan"))),
        *(mb.Decision(10**400, 0.5), mb.Decision("x" * 10**6, 0.5), mb.Decision(0, np.timedelta64(1, "s"))),  # type: ignore[arg-type]
        *([mb.Decision(0, 0.5), None], np.random.RandomState(0), np.random.default_rng(0), np.eye(3)[:, ::2]),
    ]
