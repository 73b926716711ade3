"""Objects as data: an `.npz` of plain arrays with a JSON header. Loading reads numbers and runs nothing.

The header names the class by its public name, the package's version, the constructor's arguments and every constant
that shapes play. A class is looked up among those the package exports or the user has imported, never imported by name.
Members are stored as they are, uncompressed, so that nothing in a file can grow beyond the file; names, types, shapes
and limits are checked before anything is believed. Whatever is wrong with a file is a `ValueError`.

Of an array only what is filled is written (`filled`).
"""

import errno
import io
import json
import os
import secrets
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from marginbandits import filled
from marginbandits.exports import exported
from marginbandits.parametrised import Parametrised
from marginbandits.settled import unsettled
from marginbandits.state import Field
from marginbandits.validation import quoted

__all__ = [
    "FORMAT",
    "Archive",
    "Part",
    "Source",
    "constant",
    "describe",
    "like",
    "public_name",
    "read_arrays",
    "read_source",
    "rebuild",
    "restore_generator",
    "told",
    "version",
    "write_target",
]

FORMAT = 2
_HEADER = "header"
_FREE = 2**29  # what any file may make of itself: most of a sparse learner is empty

T = TypeVar("T", bound=Parametrised)
Numbers = npt.NDArray[Any]
Source = str | os.PathLike[str] | IO[bytes]


class Part(Parametrised):
    """What a learner may be built with, and is saved with: made again from its parameters, which are `settled`."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, unsettled(self, name, value) if name[0] != "_" and name in vars(self) else value)

    def as_data(self) -> dict[str, Any]:
        """The parameters as a file keeps them."""
        return self.parameters()


class Archive:
    """A header and named arrays, to and from bytes."""

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, Numbers], size: int = 0) -> None:
        self.header, self.arrays, self.size = header, dict(arrays), size

    def to_bytes(self) -> bytes:
        """The file's content."""
        text = json.dumps({"format": FORMAT, **self.header}, default=_plain, allow_nan=False)
        contents = {_HEADER: np.frombuffer(text.encode(), np.uint8), **self.arrays}
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
            for name, array in contents.items():
                # Of 1980, and written at once, as sizes that are not known yet are written differently by each Python
                # 3.11: the same state is the same bytes.
                member, whole = zipfile.ZipInfo(f"{name}.npy"), io.BytesIO()
                member.create_system = 3
                np.lib.format.write_array(whole, np.ascontiguousarray(array), allow_pickle=False)
                file.writestr(member, whole.getbuffer())
        return out.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> "Archive":
        """What `to_bytes` wrote; anything else is refused, in no more memory than the content takes."""
        try:
            arrays = _members(content)
            if _HEADER not in arrays:
                raise ValueError("it has no header")
            header = json.loads(arrays.pop(_HEADER).tobytes().decode())
            version = header["format"]
        except Exception as error:  # whatever a damaged file makes its readers raise
            raise ValueError(f"{name} is not a marginbandits file: {told(error)}") from error
        if type(version) is not int or version != FORMAT:
            raise ValueError(f"{name} has format {quoted(version)}; this version reads format {FORMAT}")
        return cls(header, arrays, len(content))

    @property
    def room(self) -> int:
        """Bytes that what is loaded may take: files that hold little of a large state hold all of it (`put_state`)."""
        return _FREE + 2 * self.size

    def put_state(self, fields: Mapping[str, Field], taken: int) -> None:
        """Store every field: what is filled of it, or all where loading would not believe that it grows so much.

        `taken` is what the state took when it was made, arrays that are not among its fields included.
        """
        for whole in (False, True):
            for name, field in fields.items():
                filled.put(self.arrays, name, field, whole=whole)
            if taken <= _FREE + 2 * sum(array.nbytes for array in self.arrays.values()):
                return

    def take_given(self) -> dict[str, Any]:
        """The description of the object, with the arrays it was built with in place."""
        parameters = self.header.get("parameters")
        return {**self.header, "parameters": _filled(parameters, self.arrays)}

    def constants(self, known: Iterable[str]) -> dict[str, Any]:
        """The constants kept, which must be those that are known."""
        kept = self.header["constants"]
        if not isinstance(kept, dict) or kept.keys() != set(known):
            raise ValueError(f"constants must be {sorted(known)}, got {quoted(kept)}")
        return kept

    def get(self, name: str, field: Field) -> None:
        """Fill a live array from what was stored; nothing changes if it does not fit."""
        filled.get(self.arrays, name, field)

    def take(self, name: str, n: int) -> list[int]:
        """Which of n things an array of booleans marks."""
        marked = self.arrays.pop(name)
        if marked.dtype != bool or marked.ndim != 1 or len(marked) > n:
            raise ValueError(f"{name} must be at most {n} booleans, got {quoted(marked)}")
        return np.flatnonzero(marked).tolist()

    def done(self) -> None:
        """Every array must have been asked for."""
        if self.arrays:
            raise ValueError(f"arrays do not match the model: unknown {quoted(sorted(self.arrays))}")


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Numbers]:
    """Every array of anyone's `.npz` file; one that is damaged, or holds pickled objects, is refused."""
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged file makes its readers raise
        raise ValueError(f"{path} is no readable .npz of plain arrays: {told(error)}") from error


def read_source(source: Source) -> tuple[bytes, str]:
    """All of a file, by its path or as it is, and what to call it."""
    if isinstance(source, str | os.PathLike):
        return Path(source).read_bytes(), str(source)
    if not callable(getattr(source, "read", None)):
        raise ValueError(f"source must be a path or a file open for reading bytes, got {quoted(source)}")
    content = source.read()
    if not isinstance(content, bytes):
        raise ValueError(f"source must be a file open for reading bytes, got one of {type(content).__name__}")
    return content, "the file"


def write_target(target: Source, content: bytes) -> None:
    """Write to a file that is open, or to a path: what is there is replaced only once the new file is whole.

    However many write to one path at a time, each has a temporary file of its own, and the last one stays.
    """
    if not isinstance(target, str | os.PathLike):
        if not callable(getattr(target, "write", None)):
            raise ValueError(f"target must be a path or a file open for writing bytes, got {quoted(target)}")
        target.write(content)
        return
    if Path(target).exists() and not Path(target).is_file():  # a pipe, a device
        Path(target).write_bytes(content)
        return
    path = Path(os.path.realpath(target))  # a link goes on pointing where it did
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    partial = path.with_name(f".{secrets.token_hex(12)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            partial.chmod(path.stat().st_mode & 0o777)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """As `write_target`; what is no text, as in names of files that are not UTF-8, is written as an escape."""
    write_target(path, text.encode("utf-8", "backslashreplace"))


def change(description: Mapping[str, Any], name: str, to: Callable[[Any], Any]) -> bool:
    """Make something else of every parameter of this name, of every part, where `to` gives more than None.

    Returns whether there is any.
    """
    return _changed(description.get("parameters"), name, to)


def describe(thing: object) -> Any:
    """A parametrised object, or a plain value holding some, as JSON and arrays."""
    if isinstance(thing, Parametrised):
        given = thing.as_data() if isinstance(thing, Part) else thing.parameters()
        arguments = {name: describe(value) for name, value in given.items()}
        return {"class": public_name(type(thing)), "parameters": arguments}
    if isinstance(thing, list | tuple):
        return [describe(item) for item in thing]
    return thing


def version() -> str:
    """Of the package that writes."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def like(name: str, value: Any, known: Any, high: float) -> Any:
    """A constant from a file: of the kind it is known to be, above 0, and not above its limit."""
    if isinstance(known, tuple):
        if not isinstance(value, list) or not 0 < len(value) <= 100:
            raise ValueError(f"{name} must be a short list, got {quoted(value)}")
        return tuple(like(name, one, known[0], high) for one in value)
    if type(value) is not type(known) or not 0.0 < value <= high:
        raise ValueError(f"{name} must be a {type(known).__name__} above 0 and at most {high:g}, got {quoted(value)}")
    return value


def constant(owner: object, name: str, high: float) -> Any:
    """A constant as a file keeps it; one that could not be loaded again is refused now."""
    value, known = getattr(owner, name), getattr(type(owner), name)
    plain = list(value) if isinstance(value, tuple) else value
    like(name, plain, known, high)
    return plain


def public_name(cls: type) -> str:
    """What a class is called in files: its name alone if it is ours, wherever it lives; else its full name."""
    ours = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
    return cls.__qualname__ if ours else f"{cls.__module__}.{cls.__qualname__}"


def rebuild(description: Any, family: type[T]) -> T:
    """The inverse of `describe` for a member of `family`, among what is exported or has been imported.

    Its arguments may hold a `Part`, and no other object.
    """
    if not isinstance(description, dict):
        raise ValueError(f"a {family.__name__} must be described by a mapping, got {quoted(description)}")
    name, arguments = description.get("class"), description.get("parameters")
    another = exported(name) if isinstance(name, str) else None  # imported when first asked for: now, if not before
    found = [one for one in _subclasses(family) if public_name(one) == name]
    if isinstance(another, type) and not found:
        raise ValueError(f"it is a {name}, not a {family.__name__}")
    if not found:
        raise ValueError(f"unknown {family.__name__} {quoted(name)}: import the module that defines it, then load")
    if not isinstance(arguments, dict):
        raise ValueError(f"the parameters of {name} must be a mapping, got {quoted(arguments)}")
    try:
        # A class defined twice, as in a notebook, is meant as it was defined last.
        return found[-1](**{key: _revived(value) for key, value in arguments.items()})
    except TypeError as error:
        raise ValueError(f"{name} cannot be built from {quoted(arguments)}: {told(error)}") from error


def restore_generator(state: Any) -> np.random.Generator:
    """A PCG64 generator in a saved state; every number is checked, because NumPy does not."""
    bits = np.random.PCG64(0)
    try:
        if state["bit_generator"] != "PCG64":
            raise ValueError(f"bit_generator must be PCG64, got {quoted(state['bit_generator'])}")
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": _whole(state["state"]["state"], 128), "inc": _whole(state["state"]["inc"], 128)},
            "has_uint32": _whole(state["has_uint32"], 1),
            "uinteger": _whole(state["uinteger"], 32),
        }
    except (KeyError, TypeError) as error:
        raise ValueError(f"the saved state of a generator is damaged: {error!r}") from error
    return np.random.Generator(bits)


def _members(content: bytes) -> dict[str, Numbers]:
    """Every array of an archive whose members are stored as they are."""
    found: dict[str, Numbers] = {}
    size = 0
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        for member in file.infolist():
            name = member.filename.removesuffix(".npy")
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 or name in found:
                raise ValueError(f"{quoted(member.filename)} is compressed, encrypted, or there twice")
            size += member.file_size
            if size > len(content):
                raise ValueError("its members say that they are larger than the file")
            found[name] = _array(file.read(member))
    return found


def _array(content: bytes) -> Numbers:
    """What `np.lib.format` wrote: only numbers and booleans, and as many bytes as its shape needs."""
    raw = io.BytesIO(content)
    version = np.lib.format.read_magic(raw)
    readers: dict[Any, Callable[..., Any]] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, fortran, dtype = readers[version](raw, max_header_size=10_000)
    if (fortran and len(shape) > 1) or dtype.kind not in "biuf" or not dtype.isnative:
        raise ValueError(f"an array of {dtype} is not plain numbers")
    size = 1
    for n in shape:
        size *= n
    if min(shape, default=0) < 0 or size * dtype.itemsize != len(content) - raw.tell():
        raise ValueError(f"an array of shape {shape} is {size * dtype.itemsize} bytes, not {len(content) - raw.tell()}")
    return np.frombuffer(content, dtype, offset=raw.tell()).reshape(shape)


def _whole(value: object, bits: int) -> int:
    if type(value) is not int or not 0 <= value < 2**bits:
        raise ValueError(f"the saved state of a generator is damaged: {quoted(value)} is no {bits}-bit number")
    return value


def told(error: Exception) -> str:
    """What an error says, on one line or two."""
    text = " ".join(str(error)[:1000].split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + "…"


def lifted(value: Any, arrays: dict[str, Numbers], name: str = "given") -> Any:
    """A description without its arrays, which are put where they are found again by the path to them."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, dict):
        return {key: lifted(one, arrays, f"{name}.{key}") for key, one in value.items()}
    if isinstance(value, list):
        return [lifted(one, arrays, f"{name}.{i}") for i, one in enumerate(value)]
    return value


def _filled(value: Any, arrays: dict[str, Numbers]) -> Any:
    """What was `lifted`, with its arrays, each of which is taken out."""
    if isinstance(value, dict) and value.keys() == {"array"}:
        if value["array"] not in arrays:
            raise ValueError(f"{quoted(value['array'])} must be one of the arrays")
        return arrays.pop(value["array"]).copy()
    if isinstance(value, dict):
        return {key: _filled(one, arrays) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, arrays) for one in value]
    return value


def _changed(value: Any, name: str, to: Callable[[Any], Any]) -> bool:
    """`Archive.change`, in what describes a part, or holds descriptions of some."""
    if isinstance(value, list):
        return sum(_changed(one, name, to) for one in value) > 0  # all of them, not only as far as the first
    if not isinstance(value, dict):
        return False
    given, found = value.get("parameters"), sum(_changed(one, name, to) for one in value.values()) > 0
    if "class" in value and isinstance(given, dict) and name in given:
        new = to(given[name])
        if new is not None:
            given[name], found = new, True
    return found


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
    raise ValueError(f"cannot save {quoted(value)}: it is not plain data")


def _subclasses(family: type[T]) -> Iterator[type[T]]:
    yield family
    for one in family.__subclasses__():
        yield from _subclasses(one)
