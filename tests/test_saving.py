"""Saved learners: files are small, whole, and the same wherever they are written."""

import copy
import gc
import hashlib
import io
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits import filled, saving
from marginbandits.state import Field
from tests.files import taken_apart, written


@pytest.fixture(scope="module")
def content() -> bytes:
    return written()


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
    agent = mb.HingeLMC(4, memory=5000, seed=0)
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
        np.where(np.arange(3000).reshape(3, 1000) % 7, 2.0, -0.0),
        np.where(np.arange(3000) % 7, 0.0, -0.0),
    ],
    ids=["nothing", "minus nothing", "everything", "a row as it began", "a vector", "places", "places of a vector"],
)
def test_what_is_stored_comes_back_bit_for_bit(array: Any) -> None:
    begun = np.full(array.shape[1:], 2, array.dtype)
    arrays: dict[str, Any] = {}
    filled.put(arrays, "x", Field(array, initial=begun if array.ndim > 1 else None), whole=False)
    assert ("x@places" in arrays) == (array.size > 1000)
    live = np.full_like(array, 7)
    filled.get(arrays, "x", Field(live, initial=begun if array.ndim > 1 else None))
    assert live.tobytes() == array.tobytes()
    assert not arrays


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
        agent = mb.HingeLMC(2, n_particles=4, features="raw", memory=50, seed=0)
        for x in np.random.default_rng(0).standard_normal((30, 2)):
            agent.learn(x, agent.act(x), float(x[0] > 0))
        return agent

    old = made().dumps()
    monkeypatch.setattr(mb.HingeLMC, "EARLY", 64)
    again = mb.HingeLMC.loads(old)
    assert again.EARLY == 256
    assert again.dumps() == old
    assert taken_apart(made().dumps())[0]["constants"]["EARLY"] == 64


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


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder: '.*nowhere'"):
        mb.LinUCB(2, seed=0).save(tmp_path / "nowhere" / "agent.npz")


def test_what_is_no_text_is_written_as_an_escape(tmp_path: Path) -> None:
    saving.write_text(tmp_path / "page.html", "a\udcff")
    assert (tmp_path / "page.html").read_text() == r"a\udcff"


@pytest.mark.parametrize("beside", [0, 100])
def test_a_file_has_room_for_all_that_loading_it_makes(beside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field almost empty, and what is made with it: just within what its file may make of itself, and just beyond."""
    monkeypatch.setattr(saving, "_FREE", 1000)
    hardly = np.zeros(125)
    hardly[0] = 1.0
    archive = saving.Archive({}, {})
    archive.put_state({"hardly": Field(hardly, 0.0)}, 1000 + beside)
    read = saving.Archive.from_bytes(archive.to_bytes(), "it")
    assert read.room >= 1000 + beside
    assert archive.arrays["hardly"].size == (125 if beside else 1)


@pytest.mark.parametrize("learner", [mb.LinUCB, mb.HingeLMC, mb.SquareCB, mb.EpochGreedy])
def test_what_was_learnt_is_given_back_when_its_learner_goes(learner: Any) -> None:
    agent, x = learner(2, seed=0), np.ones(3)
    agent.learn(x, agent.act(x), 0.5)
    copied = copy.deepcopy(agent)
    assert agent._journal.records
    assert not {*agent._journal.records} & {*copied._journal.records}
    records = [weakref.ref(one) for two in (agent, copied) for one in two._journal.records]
    gc.disable()
    try:
        del agent, copied
        assert not any(record() for record in records)
    finally:
        gc.enable()


def test_bytes_are_the_same_under_every_python() -> None:
    """A hash of a file speaks of what was learnt: of no release of Python, and of no system."""
    archive = saving.Archive({"learner": "x"}, {"a": np.arange(3.0), "b": np.zeros((2, 2), np.float32)})
    digest = hashlib.sha256(archive.to_bytes()).hexdigest()
    assert digest == "0455ddd33728417222e7f7c936bf6e69d43fb94e116f30f69085ab0d256dac4b"
