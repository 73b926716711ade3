"""Ways to damage a file: bits and lengths, members, fields of the header, numbers, types and shapes of arrays."""

import copy
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

import marginbandits as mb

__all__ = ["Files", "mutant"]

Files = list[tuple[str, int, str, bytes]]
Members = list[tuple[str, bytes]]
Rng = np.random.Generator

DEEP = {
    "@lists": "[" * 1000 + "]" * 1000,
    "@more lists": "[" * 100_000 + "]" * 100_000,
    "@mappings": '{"x":' * 1000 + "0" + "}" * 1000,
    "@maps": '{"class": "Chain", "parameters": {"maps": [' * 300 + '{"class": "Bias", "parameters": {}}' + "]}}" * 300,
}
"""Nested values, by the mark that stands for each."""

NUMBERS = [0, 1, -1, 2, 3, 4, 7, 63, 64, 100, 2**31, 10**9, 2**62, 2**63 - 1, 2**63, 10**30, 10**400]
FLOATS = [0.0, 0.5, -0.5, 1.5, -1.0, 1e-300, 1e-12, 1e6, 1e12, 1e50, 1e100, 1e150, 1e200, 1e290, 1e300, 1.7e308, -1e300]
OTHERS: list[Any] = [
    None,
    True,
    False,
    "",
    "adapt",
    "x" * 5000,
    [],
    {},
    [1],
    [[]],
    {"class": "Identity"},
    {"array": "x"},
]


def _weird(rng: Rng) -> Any:
    kind = rng.integers(6)
    if kind < 2:
        return NUMBERS[rng.integers(len(NUMBERS))]
    if kind < 4:
        return FLOATS[rng.integers(len(FLOATS))] * (1 if rng.random() < 0.8 else -1)
    if kind == 4:
        return OTHERS[rng.integers(len(OTHERS))]
    return list(DEEP)[rng.integers(len(DEEP))]


# Files, taken apart and put together with correct check sums.


def _apart(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [(one.filename, file.read(one)) for one in file.infolist()]


def _together(members: Members, compressed: set[int] = frozenset()) -> bytes:  # type: ignore[assignment]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for i, (name, content) in enumerate(members):
            kind = zipfile.ZIP_DEFLATED if i in compressed else zipfile.ZIP_STORED
            file.writestr(zipfile.ZipInfo(name), content, kind)
    return out.getvalue()


def _npy(array: Any, *, pickled: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=pickled)
    return out.getvalue()


def _read(content: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _header(members: Members) -> Any:
    return json.loads(_read(members[0][1]).tobytes())


def _with_header(members: Members, header: Any) -> Members:
    text = json.dumps(header)
    for mark, deep in DEEP.items():  # too deep for the encoder
        text = text.replace(json.dumps(mark), deep)
    return [(members[0][0], _npy(np.frombuffer(text.encode(), np.uint8))), *members[1:]]


def _pick(rng: Rng, members: Members) -> int:
    """A member that is not the header, if there is one."""
    return int(rng.integers(1, len(members))) if len(members) > 1 else 0


# The header.


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(tree, dict):
        for key, value in tree.items():
            found += _places(value, (*path, key))
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            found += _places(value, (*path, i))
    return found


def _edit(rng: Rng, header: Any, places: list[tuple[Any, ...]]) -> str:
    path = places[rng.integers(len(places))]
    node = header
    for key in path[:-1]:
        node = node[key]
    kind, old = rng.integers(10), node[path[-1]]
    if kind == 0 and isinstance(node, dict):
        del node[path[-1]]
        return f"without {path}"
    if kind == 1 and isinstance(node, dict):
        node[str(rng.choice(["x", "seed", "features", "oracle", "space", "horizon", "array"]))] = _weird(rng)
        return f"more beside {path}"
    if kind < 5 and isinstance(old, int | float) and not isinstance(old, bool):
        factor = [2, 10, 0.5, 1e-3, -1, 1e9][rng.integers(6)]
        node[path[-1]] = type(old)(old * factor) if rng.random() < 0.5 else old + int(rng.integers(-3, 4))
    else:
        node[path[-1]] = _weird(rng)
    return f"{path} = {str(node[path[-1]])[:40]}"


def _any_field(rng: Rng, members: Members) -> tuple[Members, str]:
    header = _header(members)
    what = _edit(rng, header, _places(header))
    return _with_header(members, header), what


def _parameter(rng: Rng, members: Members) -> tuple[Members, str]:
    header = _header(members)
    what = _edit(rng, header, [path for path in _places(header) if path[0] in ("parameters", "constants", "context")])
    return _with_header(members, header), what


def _class(rng: Rng, members: Members) -> tuple[Members, str]:
    header = _header(members)
    header["class"] = str(rng.choice([*mb.__all__, "os.system", "Learner", "builtins.object", ""]))
    return _with_header(members, header), f"class {header['class']}"


def _text(rng: Rng, members: Members) -> tuple[Members, str]:
    text = bytearray(_read(members[0][1]).tobytes())
    for _ in range(rng.integers(1, 4)):
        text[rng.integers(len(text))] = rng.integers(32, 127)
    return [(members[0][0], _npy(np.frombuffer(bytes(text), np.uint8))), *members[1:]], "text of the header"


def _other_header(rng: Rng, members: Members) -> tuple[Members, str]:
    kind = int(rng.integers(5))
    content = [b"", b"[" * 100_000, b"null", b'{"format": 2}', b"{}"][kind]
    return [(members[0][0], _npy(np.frombuffer(content, np.uint8))), *members[1:]], f"header {content[:10]!r}"


# Arrays.


def _special(rng: Rng, array: Any) -> Any:
    if array.dtype.kind == "b":
        return bool(rng.integers(2))
    if array.dtype.kind in "iu":
        whole = [0, 1, -1, 2, len(array) if array.ndim else 1, 2**31, 2**53, 2**62, 2**62 + 1, 2**63 - 1, -(2**63)]
        return whole[rng.integers(len(whole))]
    more = [np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.0, -1.0, 1.0 + 1e-12, 2.0**53, 0.999]
    value = rng.choice([*FLOATS, *more])
    return value if rng.random() < 0.7 else -value


def _values(rng: Rng, members: Members) -> tuple[Members, str]:
    at = _pick(rng, members)
    name, content = members[at]
    array = _read(content).copy()
    if not array.size:
        return _shape(rng, members)
    kind, flat = int(rng.integers(8)), array.reshape(-1)
    some = rng.integers(flat.size, size=int(rng.integers(1, 4)))
    with np.errstate(all="ignore"):
        if kind == 0:
            flat[:] = _special(rng, array)
        elif kind == 1 and array.dtype.kind != "b":
            flat[some] += rng.integers(-2, 3)
        elif kind == 2 and array.dtype.kind == "f":
            flat *= 10.0 ** rng.integers(-200, 200) if rng.random() < 0.5 else -1.0
        elif kind == 3 and array.dtype.kind == "f":
            flat[some] *= 10.0 ** rng.integers(-20, 20)
        elif kind == 4:
            rng.shuffle(flat)
        elif kind == 5 and array.ndim > 1:
            array[rng.integers(len(array))] = _special(rng, array)
        else:
            flat[some] = [_special(rng, array) for _ in some]
    told = f"{name}[{some.tolist() if kind in (1, 3, 6, 7) else kind}] {flat[some][:3]}"
    return [*members[:at], (name, _npy(array)), *members[at + 1 :]], told


def _shape(rng: Rng, members: Members) -> tuple[Members, str]:
    at = _pick(rng, members)
    name, content = members[at]
    array = _read(content)
    changes: list[Callable[[], Any]] = [
        lambda: array[1:] if array.ndim else array,
        lambda: array[..., 1:] if array.ndim else array,
        lambda: np.concatenate([array, array]) if array.ndim else array,
        lambda: np.concatenate([array, array], axis=-1) if array.ndim else array,
        lambda: array[None],
        lambda: array.reshape(-1),
        lambda: array.T.copy(),
        lambda: array[:0] if array.ndim else array,
        lambda: array.reshape(-1)[0] if array.size else np.float64(1.0),
        lambda: np.zeros((*array.shape[:1], 0), array.dtype),
        lambda: np.pad(array, [(0, 1)] * array.ndim),
        lambda: np.asfortranarray(np.pad(array, [(0, 1)] * array.ndim)),
    ]
    kind = int(rng.integers(len(changes)))
    changed = changes[kind]()
    return [*members[:at], (name, _npy(changed)), *members[at + 1 :]], f"{name} of shape {np.shape(changed)}"


def _claimed(rng: Rng, members: Members) -> tuple[Members, str]:
    """A shape, or a type, that the content does not have."""
    at = int(rng.integers(len(members)))
    name, content = members[at]
    array = _read(content)
    shapes = ["(1000000000,)", "(-1,)", "(4611686018427387904, 4)", "(0,)", "(1e3,)", "('x',)", "(True,)", "()", "3"]
    types = ["'<f8'", "'>f8'", "'O'", "'<f2'", "'<c16'", "'<U9'", "[('a', '<f8')]", "'V8'", "'<M8[s]'", "1", "'|b1'"]
    shape = str(rng.choice(shapes)) if rng.random() < 0.5 else str(array.shape)
    kind = str(rng.choice(types)) if rng.random() < 0.5 else repr(array.dtype.str)
    text = f"{{'descr': {kind}, 'fortran_order': {rng.random() < 0.2}, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    made = b"\x93NUMPY" + bytes([int(rng.choice([1, 1, 1, 2, 3, 9])), 0]) + struct.pack("<H", len(text)) + text
    return [*members[:at], (name, made + array.tobytes()), *members[at + 1 :]], f"{name} says {text[:70]!r}"


def _type(rng: Rng, members: Members) -> tuple[Members, str]:
    at = _pick(rng, members)
    name, content = members[at]
    kind = str(rng.choice(["f4", "f8", "i4", "i8", "u8", "u1", "b1", "c16", ">f8", "f2", "g", "O", "U3"]))
    with np.errstate(all="ignore"):
        array = _read(content).astype(kind)
    return [*members[:at], (name, _npy(array, pickled=kind == "O")), *members[at + 1 :]], f"{name} as {kind}"


def _rows(rng: Rng, members: Members) -> tuple[Members, str]:
    """Which rows or places of an array are stored: others, too many, none, twice."""
    at, kind = _pick(rng, members), str(rng.choice(["@rows", "@places"]))
    name = members[at][0].removesuffix(".npy").partition("@")[0]
    n = int(rng.integers(0, 6))
    rows = [
        np.arange(n),
        np.arange(n)[::-1].copy(),
        np.zeros(n, np.int64),
        np.arange(n) - 1,
        np.arange(n) + 10**9,
        np.arange(n, dtype=float),
        np.arange(n)[None],
        np.array([0, 2**62]),
    ][rng.integers(8)]
    kept = [one for one in members if one[0] != f"{name}{kind}.npy"]
    return [*kept, (f"{name}{kind}.npy", _npy(rows))], f"{name}{kind} {rows.tolist()}"


# Members and bytes.


def _members(rng: Rng, members: Members) -> tuple[Members, str]:
    kind, a, b = int(rng.integers(6)), int(rng.integers(len(members))), int(rng.integers(len(members)))
    out = list(members)
    if kind == 0:
        out[a], out[b] = (members[a][0], members[b][1]), (members[b][0], members[a][1])
    elif kind == 1:
        del out[a]
    elif kind == 2:
        out.append((members[a][0], members[b][1]))
    elif kind == 3:
        out.append((str(rng.choice(["more.npy", "../x.npy", "", "header", "a" * 5000])), members[a][1]))
    elif kind == 4:
        out[a] = (members[b][0], members[a][1])
    else:
        out[a] = (members[a][0] + "x", members[a][1])
    return out, f"members {kind} {members[a][0]} {members[b][0]}"


def _inside(rng: Rng, members: Members) -> tuple[Members, str]:
    """Bits of one member, with a correct check sum."""
    at = int(rng.integers(len(members)))
    content = bytearray(members[at][1])
    for _ in range(rng.integers(1, 5)):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return [*members[:at], (members[at][0], bytes(content)), *members[at + 1 :]], f"bits of {members[at][0]}"


def _bytes(rng: Rng, content: bytes, members: Members) -> tuple[bytes, str]:
    kind = int(rng.integers(7))
    if kind < 3:
        flipped = bytearray(content)
        # Half of them in the directory at the end, where sizes and offsets are.
        low = 0 if rng.random() < 0.5 else max(0, len(content) - 100 * len(members))
        for _ in range(rng.integers(1, 6)):
            flipped[rng.integers(low, len(content))] ^= 1 << int(rng.integers(8))
        return bytes(flipped), "bits of the file"
    if kind == 3:
        return content[: rng.integers(len(content))], "cut short"
    if kind == 4:
        return rng.bytes(int(rng.integers(200))) + content, "with something before it"
    if kind == 5:
        return _together(members, {int(rng.integers(len(members)))}), "compressed"
    at = _pick(rng, members)
    bomb = [*members[:at], (members[at][0], _npy(np.zeros(5_000_000))), *members[at + 1 :]]
    return _together(bomb, {at}), "a zip bomb"


MUTATIONS: list[tuple[float, Callable[[Rng, Members], tuple[Members, str]]]] = [
    (3.0, _any_field),
    (4.0, _parameter),
    (1.0, _class),
    (0.3, _text),
    (0.1, _other_header),
    (8.0, _values),
    (2.0, _shape),
    (0.7, _claimed),
    (1.0, _type),
    (1.0, _rows),
    (1.0, _members),
    (1.0, _inside),
]


def mutant(files: Files, seed: int, number: int) -> tuple[str, str, bytes]:
    """What was done, the layout of contexts, and the bytes: the same for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    name, rounds, layout, content = files[rng.integers(len(files))]
    members = copy.copy(_apart(content))
    told = [f"{name} after {rounds}"]
    if rng.random() < 0.1:
        content, what = _bytes(rng, content, members)
        return f"{told[0]}: {what}", layout, content
    weights = np.array([weight for weight, _ in MUTATIONS])
    for _ in range(1 if rng.random() < 0.8 else int(rng.integers(2, 4))):
        change = MUTATIONS[rng.choice(len(MUTATIONS), p=weights / weights.sum())][1]
        try:
            members, what = change(rng, members)
        except Exception:
            break  # what a change before has left cannot be changed in this way
        told.append(what)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        return "; ".join(told), layout, _together(members)
