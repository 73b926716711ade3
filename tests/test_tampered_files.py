"""Files that were tampered with, damaged or never ours are refused, and nothing in them is run."""

import io
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from tests.files import put_together, taken_apart, written


@pytest.fixture(scope="module")
def content() -> bytes:
    return written()


# What is refused.

EXECUTED: list[str] = []


def detonate(text: str) -> None:
    EXECUTED.append(text)


class Bomb:
    """Unpickling this would leave a trace."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return detonate, ("executed",)


def deep() -> Any:
    inner: Any = {"class": "Identity", "parameters": {}}
    for _ in range(200):
        inner = {"class": "Chain", "parameters": {"maps": [inner]}}
    return inner


def field(*path: Any, to: Any = None) -> Callable[[Any, Any], None]:
    """Set a field of the header; without a value, delete it."""

    def tamper(header: Any, arrays: Any) -> None:
        for key in path[:-1]:
            header = header[key]
        if to is None:
            del header[path[-1]]
        else:
            header[path[-1]] = to

    return tamper


def array(name: str, change: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    """Put another array in place of one."""

    def tamper(header: Any, arrays: Any) -> None:
        arrays[name] = change(arrays[name])

    return tamper


def entry(name: str, at: Any, value: Any) -> Callable[[Any, Any], None]:
    """Change one number."""

    def change(values: Any) -> Any:
        values = values.copy()
        values[at] = value
        return values

    return array(name, change)


def missing(header: Any, arrays: Any) -> None:
    del arrays["ridge.theta"]


def extra(header: Any, arrays: Any) -> None:
    arrays["more"] = arrays["ridge.theta"]


def rows(*which: int) -> Callable[[Any, Any], None]:
    def tamper(header: Any, arrays: Any) -> None:
        arrays["ridge.theta@rows"] = np.array(which, np.int64)

    return tamper


ENVIRONMENT = {"class": "LinearRealizable", "parameters": {"n_actions": 3, "n_features": 2, "n_rounds": 10}}
TAMPERED: dict[str, tuple[Callable[[Any, Any], None], str]] = {
    "an older format": (field("format", to=1), "format 1; this version reads format 2"),
    "a format that only equals one": (field("format", to=2.0), "format 2.0"),
    "no format": (field("format"), "not a marginbandits file"),
    "no class": (field("class"), "unknown Learner None"),
    "a function": (field("class", to="os.system"), "unknown Learner 'os.system'"),
    "no learner": (field("class", to="Hinge"), "it is a Hinge, not a Learner"),
    "the full name": (field("class", to="marginbandits.LinUCB"), "unknown Learner"),
    "an abstract class": (field("class", to="Learner"), "Learner"),
    "another learner": (field("class", to="LinTS"), "alpha"),
    "a bad parameter": (field("parameters", "alpha", to=-1), "alpha must be"),
    "a huge parameter": (field("parameters", "alpha", to=10**400), "alpha must be"),
    "an unknown parameter": (field("parameters", "beta", to=1), "beta"),
    "parameters that are none": (field("parameters", to=[1, 2]), "mapping"),
    "more actions than fit": (field("parameters", "n_actions", to=10**7), "takes"),
    "an environment for features": (
        field("parameters", "features", to=ENVIRONMENT),
        "it is a LinearRealizable, not a Part",
    ),
    "two hundred maps deep": (field("parameters", "features", to=deep()), "cannot be loaded|not a marginbandits file"),
    "constants it has not": (field("constants", to={"STEP": 1.0}), "constants must be"),
    "no constants": (field("constants"), "constants"),
    "no context": (field("context", to=[]), "cannot be loaded"),
    "a layout that is none": (field("context", 0, to=1), "context must be a layout"),
    "a width that is none": (field("context", 1, to=-4), "context must be a layout"),
    "half a width": (field("context", 1, to=4.5), "context must be a layout"),
    "more width than fits": (field("context", 1, to=10**12), "takes"),
    "a little less width": (field("context", 1, to=3), "must be"),
    "no generators": (field("generators"), "generators"),
    "a generator that is none": (field("generators", "draws", to="x"), "damaged"),
    "another generator": (field("generators", "draws", "bit_generator", to="MT19937"), "bit_generator must be PCG64"),
    "a number too wide": (field("generators", "draws", "uinteger", to=2**40), "32-bit"),
    "a missing array": (missing, "ridge.theta is missing"),
    "one too many": (extra, r"unknown \['more'\]"),
    "too long": (array("ridge.theta", lambda a: np.concatenate([a, a])), "ridge.theta must be float64 of shape"),
    "too wide": (array("ridge.theta", lambda a: np.hstack([a, a])), "ridge.theta must be float64 of shape"),
    "half as precise": (array("ridge.theta", lambda a: a.astype(np.float32)), "ridge.theta must be float64"),
    "objects": (array("ridge.theta", lambda a: np.array([Bomb()], object)), "not plain numbers"),
    "text": (array("ridge.theta", lambda a: np.array(["x"])), "not plain numbers"),
    "another byte order": (array("ridge.theta", lambda a: a.astype(">f8")), "not plain numbers"),
    "rows twice": (rows(0, 0, 1), "ridge.theta must be"),
    "rows that are not there": (rows(0, 1, 3), "ridge.theta must be"),
    "a row before the first": (rows(-1, 0, 1), "ridge.theta must be"),
    "no number": (entry("ridge.theta", (0, 0), np.nan), "ridge.theta must be finite"),
    "infinity": (entry("ridge.factor", (0, 0), np.inf), "ridge.factor must be finite"),
    "a factor that grew": (entry("ridge.factor", (0, 5), 100.0), "columns no longer"),
    "a negative factor": (entry("ridge.factor", (0, 0), -1.0), "diagonal"),
    "weights that no rewards give": (entry("ridge.theta", (0, 0), 1e80), "rewards"),
    "a column that is not there": (entry("features.1.1.columns", (0, 0), 99), "within 0 and 3"),
    "a negative count": (entry("features.0.moments", (5, 0), -1.0), "counts"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_tampered_files_are_refused(what: str, content: bytes, tmp_path: Path) -> None:
    tamper, words = TAMPERED[what]
    header, arrays = taken_apart(content)
    assert mb.loads(put_together(header, arrays)).dumps() == content
    tamper(header, arrays)
    path = tmp_path / "agent.npz"
    path.write_bytes(put_together(header, arrays))
    with pytest.raises(ValueError, match=words) as refusal:
        mb.load(path)
    assert "agent.npz" in str(refusal.value)
    assert len(str(refusal.value)) < 500
    assert EXECUTED == []


def test_the_bomb_works() -> None:
    """Negative control: unpickling it does execute."""
    pickle.loads(pickle.dumps(Bomb()))
    assert EXECUTED.pop() == "executed"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(share: float, content: bytes) -> None:
    with pytest.raises(ValueError, match="not a marginbandits file"):
        mb.loads(content[: int(share * len(content))])


def test_flipped_bytes_never_load_silently_wrong(content: bytes) -> None:
    """Every flip either is refused, or hit something that does not matter: the numbers are the same."""
    for position in np.random.default_rng(0).integers(len(content), size=60):
        flipped = bytearray(content)
        flipped[position] ^= 0xFF
        try:
            assert mb.loads(bytes(flipped)).dumps() == content
        except ValueError:
            continue


@pytest.mark.parametrize("data", [b"", b"hello", pickle.dumps({"a": 1}), b"PK\x03\x04 nothing"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a marginbandits file"):
        mb.loads(data)


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED], ids=["compressed", "twice"])
def test_members_are_stored_once_and_as_they_are(kind: int, content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = [(one.filename, file.read(one)) for one in file.infolist()]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as file:
        for name, data in members:
            file.writestr(name, data)
        if kind == zipfile.ZIP_STORED:
            with pytest.warns(UserWarning, match="Duplicate"):
                file.writestr(members[1][0], members[1][1])
    with pytest.raises(ValueError, match="compressed, encrypted, or there twice"):
        mb.loads(out.getvalue())


def test_a_header_that_nests_without_end_is_just_refused() -> None:
    out = io.BytesIO()
    np.savez(out, header=np.frombuffer(b"[" * 100_000, np.uint8))
    with pytest.raises(ValueError, match="not a marginbandits file"):
        mb.loads(out.getvalue())


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mb.load(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["n_particles", "memory", "n_actions"])
def test_sizes_are_refused_before_they_are_asked_for(name: str) -> None:
    agent = mb.HingeLMC(2, features="raw", memory=20, seed=0)
    agent.learn([1.0], agent.act([1.0]), 1.0)
    header, arrays = taken_apart(agent.dumps())
    header["parameters"][name] = 2**30
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"takes|at most"):
        mb.loads(put_together(header, arrays))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
