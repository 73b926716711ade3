"""Where arrays lie in memory changes no bit of what a kernel computes."""

import copy
import re
from typing import Any

import numba
import numpy as np
import pytest

from marginbandits.compiled import _FAST_MATH, kernel
from marginbandits.lanes import across
from marginbandits.oracles.online_regression import _learn_one
from marginbandits.types import Array
from tests.naive import TWINS


def blocks(code: str) -> dict[str, list[str]]:
    """The lines of every block of a kernel's machine-independent code, by the block's name."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in code.splitlines():
        head = re.match(r"^([\w.]+):", line)
        if head:
            name = head[1]
        found.setdefault(name, []).append(line)
    return found


def body(all_blocks: dict[str, list[str]], first: str) -> list[str]:
    """The lines of a loop that takes several columns at once, from its first block to where it is left."""
    seen: dict[str, list[str]] = {}
    left = [first]
    while left:
        name = left.pop()
        if name not in seen:
            seen[name] = all_blocks[name]
            targets = re.findall(r"label %([\w.]+)", "\n".join(seen[name]))
            left += [one for one in targets if re.match(r"(vec\.epilog\.)?vector\.body|pred\.", one)]
    return [line for lines in seen.values() for line in lines]


def sums_while_it_writes(function: Any, *given: Any) -> list[str]:
    """Loops that do both and take several columns at once, which is guarded by where arrays lie; as kernels compile."""
    fresh: Any = numba.njit(fastmath=_FAST_MATH, error_model="numpy")(function.py_func)
    fresh(*given)
    code = blocks(fresh.inspect_llvm(fresh.signatures[0]))
    found = []
    for name in code:
        if re.match(r"(vec\.epilog\.)?vector\.body", name):
            text = "\n".join(body(code, name))
            if re.search(r"%vec\.phi\S* = phi <\d+ x (double|float)>", text) and re.search(r"^\s+store ", text, re.M):
                found.append(name)
    return found


@kernel
def _careless(x: Array, out: Array) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        out[i] = x[i] * x[i]
        total += out[i]
    return total


@kernel
def _careful(x: Array, out: Array) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        out[i] = x[i] * x[i]
    for i in range(x.shape[0]):
        total += out[i]
    return total


def test_a_sum_in_a_loop_that_writes_is_found() -> None:
    x = np.ones(50)
    assert sums_while_it_writes(_careless, x, x.copy())
    assert not sums_while_it_writes(_careful, x, x.copy())


@pytest.mark.soak
def test_no_kernel_sums_while_it_writes() -> None:
    found = {
        name: sums_while_it_writes(twin.kernel, *copy.deepcopy(twin.inputs(np.random.default_rng(0))))
        for name, twin in TWINS.items()
    }
    assert {name: guards for name, guards in found.items() if guards} == {}


@pytest.mark.parametrize("d", [9, 20, 101])
def test_a_step_of_online_regression_is_the_same_wherever_its_arrays_lie(d: int) -> None:
    rng, wide = np.random.default_rng(0), across(d)
    before = np.zeros((3, 3, wide))
    before[..., :d] = np.abs(rng.normal(size=(3, 3, d)))
    parts = [before.ravel(), np.array([10.0, 9.0]), np.array([0.0, 1.0]), rng.normal(size=d)]
    parts += [np.zeros(2 * wide), np.zeros(3 * wide + 6)]
    learnt = set()
    for _ in range(500):
        pool, at, placed = np.zeros(20 * wide + 500), int(rng.integers(8)), {}
        for part in rng.permutation(len(parts)):
            placed[part] = pool[at : at + len(parts[part])]
            placed[part][:] = parts[part]
            at += len(parts[part]) + int(rng.integers(40))
        state, totals, span, values, work, last = (placed[part] for part in range(len(parts)))
        _learn_one(state.reshape(3, 3, wide), totals, span, values[None], 0, 1, 0.3, 1.0, 0.5, work, last, 4)
        learnt.add((state.tobytes(), totals.tobytes()))
    assert len(learnt) == 1
