"""Objects as data: an `.npz` of plain arrays with a JSON header. Loading reads numbers and runs nothing.

The header names the class and its constructor's arguments. A class is looked up among those that the package exports
and those already imported, never imported by a name from the file; arrays are read with pickling off; every array must
have exactly the type and shape that the rebuilt object expects. Anything else is a `ValueError` that says what is wrong
with the file.
"""

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from marginbandits.exports import exported
from marginbandits.validation import Parametrised

__all__ = ["Part", "describe", "read", "read_arrays", "rebuild", "restore_arrays", "restore_generator", "write"]

FORMAT = 1
_HEADER = "header"

T = TypeVar("T", bound=Parametrised)
Arrays = Mapping[str, npt.NDArray[Any]]


class Part(Parametrised):
    """What a learner may be built with, and is saved with: made again from its own parameters alone."""


def write(path: str | os.PathLike[str], header: Mapping[str, object], arrays: Arrays) -> None:
    """Write header and arrays to `path`; a file already there is replaced only once the new one is whole."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, **header}, default=_plain)
    partial = target.with_name(target.name + ".partial")
    contents: dict[str, npt.NDArray[Any]] = {_HEADER: np.frombuffer(text.encode(), np.uint8), **arrays}
    try:
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **contents)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read_arrays(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """Every array of an `.npz` file; one that is damaged, or holds pickled objects, is refused."""
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no readable .npz of plain arrays: {error}") from error


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays of a file written by `write`."""
    arrays = read_arrays(path)
    try:
        header = json.loads(arrays.pop(_HEADER).tobytes().decode())
        version = header["format"]
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a marginbandits file: it has no readable header") from error
    if type(version) is not int or version != FORMAT:
        raise ValueError(f"{path} has format {version!r}; this version reads format {FORMAT}")
    return header, arrays


def describe(thing: object) -> Any:
    """A parametrised object, or a plain value holding some, as JSON."""
    if isinstance(thing, Parametrised):
        arguments = {name: describe(value) for name, value in thing.parameters().items()}
        return {"class": _full_name(type(thing)), "parameters": arguments}
    if isinstance(thing, list | tuple):
        return [describe(item) for item in thing]
    return thing


def rebuild(description: Mapping[str, Any], family: type[T]) -> T:
    """The inverse of `describe` for a member of `family`, found by its full name among the subclasses imported so far.

    Its arguments may hold a `Part`, and no other object.
    """
    name, arguments = description.get("class"), description.get("parameters")
    exported(str(name).rpartition(".")[2])  # imported when first asked for: now, if it has not been yet
    found = [one for one in _subclasses(family) if _full_name(one) == name]
    if not found:
        raise ValueError(f"unknown {family.__name__} {name!r}: import the module that defines it, then load again")
    if not isinstance(arguments, dict):
        raise ValueError(f"the parameters of {name} must be a mapping, got {arguments!r}")
    try:
        # A class defined twice, as in a notebook, is meant as it was defined last.
        return found[-1](**{key: _revived(value) for key, value in arguments.items()})
    except TypeError as error:
        raise ValueError(f"{name} cannot be built from {arguments}: {error}") from error


def restore_arrays(live: Arrays, saved: Arrays) -> None:
    """Copy saved arrays into live ones of the same names, types and shapes; change nothing if any differs."""
    missing, unknown = sorted(live.keys() - saved.keys()), sorted(saved.keys() - live.keys())
    if missing or unknown:
        raise ValueError(f"arrays do not match the model: missing {missing}, unknown {unknown}")
    for name, array in live.items():
        other = saved[name]
        if (other.dtype, other.shape) != (array.dtype, array.shape):
            raise ValueError(f"{name} must be {array.dtype} of shape {array.shape}, got {other.dtype} {other.shape}")
        if not np.isfinite(other).all():
            raise ValueError(f"{name} must be finite, got {other[~np.isfinite(other)][0]}")
    for name, array in live.items():
        array[...] = saved[name]


def restore_generator(state: Any) -> np.random.Generator:
    """A PCG64 generator in a saved state; every number is checked, because NumPy does not."""
    bits = np.random.PCG64(0)
    try:
        if state["bit_generator"] != "PCG64":
            raise ValueError(f"bit_generator must be PCG64, got {state['bit_generator']!r}")
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": _whole(state["state"]["state"], 128), "inc": _whole(state["state"]["inc"], 128)},
            "has_uint32": _whole(state["has_uint32"], 1),
            "uinteger": _whole(state["uinteger"], 32),
        }
    except (KeyError, TypeError) as error:
        raise ValueError(f"the saved state of a generator is damaged: {error!r}") from error
    return np.random.Generator(bits)


def _whole(value: object, bits: int) -> int:
    if type(value) is not int or not 0 <= value < 2**bits:
        raise ValueError(f"the saved state of a generator is damaged: {value!r} is no {bits}-bit number")
    return value


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _revived(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"class", "parameters"}:
        return rebuild(value, Part)
    if isinstance(value, list):
        return [_revived(item) for item in value]
    return value


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"cannot save {value!r}: it is not plain data")


def _subclasses(family: type[T]) -> Iterator[type[T]]:
    yield family
    for one in family.__subclasses__():
        yield from _subclasses(one)
