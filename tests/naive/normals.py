"""The twins of draws: NumPy's own generator, from where the compiled code began."""

import math
from typing import Any

import numpy as np

from marginbandits import normals
from marginbandits.held import chance
from marginbandits.learners import swift
from marginbandits.types import Array
from tests.naive.twin import pick, twin

_BEGUN: dict[int, tuple[np.random.Generator, int]] = {}
"""Generators by where they draw from, which must live, and their seeds."""


def source(rng: np.random.Generator) -> Any:
    seed = int(rng.integers(2**32))
    generator = np.random.default_rng(seed)
    begun = chance(generator)
    _BEGUN[_name(begun)] = generator, seed
    return begun


def _name(source: Any) -> int:
    return source[0] if isinstance(source, tuple) else id(source)


def _again(source: Any) -> np.random.Generator:
    return np.random.default_rng(_BEGUN[_name(source)][1])


@twin(normals.fill, lambda rng: (source(rng), np.empty(pick(rng, 0, 1, 1000))))
def fill(source: Any, out: Array) -> None:
    out[:] = _again(source).standard_normal(len(out))


@twin(swift._shares, lambda rng: (source(rng), np.empty(pick(rng, 0, 1, 1000)), ()), tolerance=0.0, scratch=["state"])
def shares(source: Any, out: Array, state: Any) -> None:
    out[:] = _again(source).random(len(out))


@twin(normals._normal, lambda rng: (source(rng),))
def normal(source: Any) -> float:
    return float(_again(source).standard_normal())


@twin(normals._beyond, lambda rng: (source(rng), pick(rng, -1.0, 1.0)))
def beyond(source: Any, sign: float) -> float:
    rng, end = _again(source), 3.6541528853610088
    while True:
        x, y = -math.log(1.0 - rng.random()) / end, -math.log(1.0 - rng.random())
        if 2.0 * y > x * x:
            return sign * (end + x)
