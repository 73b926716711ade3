"""Saved learners: files are small, whole, and the same wherever they are written; what was tampered with is refused."""

import io
import json
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import saving
from marginbandits.state import Field


@pytest.fixture(scope="module")
def content() -> bytes:
    agent = mb.LinUCB(3, features="fourier", seed=0)
    mb.simulate(agent, mb.Classification.bundled("iris", seed=0))
    return agent.dumps()


def taken_apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("header").tobytes().decode()), arrays


def put_together(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    np.savez(out, allow_pickle=True, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    return out.getvalue()


# What is written.


def test_a_file_says_what_it_is_of(content: bytes) -> None:
    header, _ = taken_apart(content)
    assert header["format"] == 2
    assert header["class"] == "LinUCB"
    assert header["version"] == mb.__version__
    assert header["context"] == [False, 4, False]
    again = mb.loads(content)
    assert type(again) is mb.LinUCB
    assert (again.features, again.n_actions) == ("fourier", 3)
    assert again.dumps() == content


def test_the_same_learner_is_the_same_bytes_by_every_door(content: bytes, tmp_path: Path) -> None:
    agent, path, file = mb.loads(content), tmp_path / "agent.npz", io.BytesIO()
    agent.save(path)
    agent.save(str(tmp_path / "other.npz"))
    agent.save(file)
    assert path.read_bytes() == (tmp_path / "other.npz").read_bytes() == file.getvalue() == content
    file.seek(0)
    assert mb.load(path).dumps() == mb.load(str(path)).dumps() == mb.load(file).dumps() == content
    with path.open("rb") as opened:
        assert mb.LinUCB.load(opened).dumps() == content


@pytest.mark.parametrize("bad", [3, None, ["agent.npz"]])
def test_what_is_no_file_is_refused(bad: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be a path or a file"):
        mb.Uniform(2).save(bad)
    with pytest.raises(ValueError, match="must be a path or a file"):
        mb.load(bad)
    with pytest.raises(ValueError, match="content must be bytes"):
        mb.loads(bad)
    with pytest.raises(ValueError, match="open for reading bytes"):
        mb.load(io.StringIO("text"))  # type: ignore[arg-type]  # refused on purpose


def test_only_what_is_filled_is_stored() -> None:
    agent = mb.HingeLMC(4, seed=0)
    for context in np.eye(3):
        agent.learn(context, agent.act(context), 1.0)
    live = sum(array.nbytes for array in agent.state().values())
    assert live > 25e6
    assert len(agent.dumps()) < 400e3
    small = mb.NearestNeighbours(2, seed=0)
    small.learn([1.0, 2.0], small.act([1.0, 2.0]), 0.5)
    assert len(small.dumps()) < 4000


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 4)),
        np.full((3, 2, 2), -0.0),
        np.arange(12.0).reshape(3, 2, 2),
        np.array([[0.0, 1.0], [2.0, 2.0], [0.0, 0.0]]),
        np.array([0, 5, 0], np.int64),
    ],
    ids=["nothing", "minus nothing", "everything", "a row as it began", "a vector"],
)
def test_what_is_stored_comes_back_bit_for_bit(array: Any) -> None:
    begun = np.full(array.shape[1:], 2, array.dtype)
    archive = saving.Archive({}, {})
    archive.put("x", Field(array, initial=begun if array.ndim > 1 else None), whole=False)
    live = np.full_like(array, 7)
    archive.get("x", Field(live, initial=begun if array.ndim > 1 else None))
    assert live.tobytes() == array.tobytes()
    archive.done()


def test_custom_feature_recipes_survive() -> None:
    recipe = mb.Chain([mb.Standardise(clip=2.0), mb.Concatenate([mb.Identity(), mb.Fourier(7, width=2.0)])])
    agent = mb.EpsilonGreedy(3, features=recipe, seed=1)
    mb.simulate(agent, mb.Classification.bundled("iris", seed=0))
    again = mb.loads(agent.dumps())
    assert repr(again.features) == repr(recipe)
    assert np.array_equal(agent.law(np.ones(4)), again.law(np.ones(4)))


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_any_numpy_generator_survives(bits: str) -> None:
    agent = mb.Uniform(50, seed=np.random.Generator(getattr(np.random, bits)(3)))
    again = mb.loads(agent.dumps())
    assert [agent.act([1.0]).action for _ in range(20)] == [again.act([1.0]).action for _ in range(20)]


def test_a_learner_given_a_generator_forgets_it_when_loaded() -> None:
    assert mb.loads(mb.Uniform(2, seed=np.random.default_rng(0)).dumps()).seed is None
    assert mb.loads(mb.Uniform(2, seed=5).dumps()).seed == 5


def test_a_remembered_seed_repeats_the_run() -> None:
    first = mb.Uniform(1000)
    again = mb.Uniform(1000, seed=first.seed)
    assert [first.act([1.0]).action for _ in range(5)] == [again.act([1.0]).action for _ in range(5)]


def test_constants_are_those_the_learner_was_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> mb.HingeLMC:
        agent = mb.HingeLMC(2, margin="adapt", n_particles=4, features="raw", memory=50, seed=0)
        for x in np.random.default_rng(0).standard_normal((30, 2)):
            agent.learn(x, agent.act(x), float(x[0] > 0))
        return agent

    old = made().dumps()
    monkeypatch.setattr(mb.HingeLMC, "MARGINS", (0.5, 1.0))
    monkeypatch.setattr(mb.HingeLMC, "HOPE", 1.0)
    again = mb.HingeLMC.loads(old)
    assert (again.MARGINS, again.HOPE) == ((0.6, 1.2, 2.4), 2.0)
    assert again.dumps() == old
    assert taken_apart(made().dumps())[0]["constants"]["MARGINS"] == [0.5, 1.0]


# Where it is written.


def test_a_failed_save_leaves_what_was_there_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*args: object) -> None:
        raise OSError("no space left on device")

    path = tmp_path / "agent.npz"
    agent = mb.Uniform(2)
    for _ in range(2):
        agent.save(path)
        assert [one.name for one in tmp_path.iterdir()] == ["agent.npz"]
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", full_disk)
    for target in (path, tmp_path / "new.npz"):
        with pytest.raises(OSError, match="no space"):
            agent.save(target)
    assert [one.name for one in tmp_path.iterdir()] == ["agent.npz"]
    assert path.read_bytes() == before


def test_every_save_has_a_temporary_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    replace = Path.replace

    def noted(self: Path, target: Path) -> Path:
        used.append(self.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", noted)
    for _ in range(3):
        mb.Uniform(2).save(tmp_path / ("a" * 200))
    assert len(set(used)) == 3


# Which class it is.


def test_a_subclass_of_the_same_name_is_not_mistaken_for_the_class(content: bytes) -> None:
    other = type("LinUCB", (mb.LinUCB,), {})
    assert type(mb.loads(content)) is mb.LinUCB
    assert other.__name__ == "LinUCB"


def test_a_class_defined_again_is_meant_as_defined_last() -> None:
    for _ in range(2):
        latest = type("Mine", (mb.Uniform,), {"__module__": "notebook"})
    saved = latest(2).dumps()
    assert taken_apart(saved)[0]["class"] == "notebook.Mine"
    assert type(mb.loads(saved)) is latest


def test_loading_as_the_wrong_class_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="it is a LinUCB, not a LinTS"):
        mb.LinTS.loads(content)


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


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder: '.*nowhere'"):
        mb.LinUCB(2, seed=0).save(tmp_path / "nowhere" / "agent.npz")


def test_what_is_no_text_is_written_as_an_escape(tmp_path: Path) -> None:
    saving.write_text(tmp_path / "page.html", "a\udcff")
    assert (tmp_path / "page.html").read_text() == r"a\udcff"
