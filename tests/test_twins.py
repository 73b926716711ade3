"""Every compiled kernel against its slow twin, on random inputs with ties, masks, zeros, single and missing rows."""

import copy
import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import marginbandits as mb
from marginbandits.pointed import Pointed
from tests.naive import TWINS, Twin


def kernels() -> dict[str, Any]:
    """Every compiled function of the package, by name."""
    modules = [m.name for m in pkgutil.walk_packages(mb.__path__, "marginbandits.") if not m.name.endswith("__main__")]
    return {
        f"{module}.{name}": thing
        for module in modules
        for name, thing in vars(importlib.import_module(module)).items()
        if isinstance(thing, Dispatcher) and thing.__module__ == module
    }


def flat(value: Any) -> Any:
    """The numbers of an array, or of all of a tuple; of a kernel none."""
    if isinstance(value, tuple):
        return np.concatenate([np.empty(0), *(np.ravel(flat(one)) for one in value if not isinstance(one, Pointed))])
    return value


def differences(twin: Twin, fast: Any, n: int) -> list[str]:
    """What came out differently on n random inputs; a kernel that returns False may leave its answer half written."""
    found = []
    for seed in range(n):
        given = twin.inputs(np.random.default_rng(seed))
        one, other = copy.deepcopy(given), copy.deepcopy(given)
        with np.errstate(all="ignore"):
            returned, wanted = fast(*one), twin.slow(*other)
        pairs = {"answer": (returned, wanted)}
        if wanted is not False:
            names = [name for name in inspect.signature(twin.slow).parameters if name not in twin.scratch]
            places = list(inspect.signature(twin.slow).parameters)
            pairs |= {name: (one[places.index(name)], other[places.index(name)]) for name in names}
        for name, (got, expected) in pairs.items():
            if (got is None) != (expected is None):
                found.append(f"seed {seed}: {name} is {got}, not {expected}")
            elif got is not None and not np.allclose(
                flat(got), flat(expected), rtol=twin.tolerance, atol=twin.tolerance, equal_nan=True
            ):
                found.append(f"seed {seed}: {name} is {got}, not {expected}, of {given}")
    return found


def test_every_kernel_has_a_twin() -> None:
    assert len(kernels()) > 40
    assert sorted(kernels()) == sorted(TWINS)


@pytest.mark.parametrize("name", TWINS)
def test_kernels_agree_with_their_twins(name: str) -> None:
    found = differences(TWINS[name], TWINS[name].kernel, 120)
    assert not found, found[0]
