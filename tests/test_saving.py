"""Saved learners: what was tampered with is refused with a clear error, and nothing is executed."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    agent = mb.LinUCB(3, features="fourier", seed=0)
    mb.simulate(agent, mb.Classification.bundled("iris", seed=0))
    path = tmp_path / "agent.npz"
    agent.save(path)
    return path


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("header").tobytes().decode()), arrays


def rewrite(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    text = json.dumps(header).encode()
    np.savez(path, allow_pickle=True, header=np.frombuffer(text, np.uint8), **arrays)


def test_load_finds_the_class_and_continues(saved: Path) -> None:
    agent = mb.load(saved)
    assert isinstance(agent, mb.LinUCB)
    assert agent.features == "fourier"
    assert agent.n_actions == 3
    header, _ = contents(saved)
    assert header["class"] == "marginbandits.learners.baselines.linucb.LinUCB"
    assert header["format"] == 1


def test_custom_feature_recipes_survive(tmp_path: Path) -> None:
    recipe = mb.Chain([mb.Standardise(clip=2.0), mb.Concatenate([mb.Identity(), mb.Fourier(7, width=2.0)])])
    agent = mb.EpsilonGreedy(3, features=recipe, seed=1)
    mb.simulate(agent, mb.Classification.bundled("iris", seed=0))
    agent.save(tmp_path / "agent.npz")
    again = mb.load(tmp_path / "agent.npz")
    assert repr(again.features) == repr(recipe)
    x = np.ones(4)
    assert np.array_equal(agent.act(x).distribution, again.act(x).distribution)  # type: ignore[arg-type]  # refused on purpose


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_any_numpy_generator_survives(bits: str, tmp_path: Path) -> None:
    agent = mb.Uniform(50, seed=np.random.Generator(getattr(np.random, bits)(3)))
    agent.save(tmp_path / "agent.npz")
    again = mb.load(tmp_path / "agent.npz")
    assert [agent.act([1.0]).action for _ in range(20)] == [again.act([1.0]).action for _ in range(20)]


def test_a_failed_save_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*args: object, **kwargs: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        mb.Uniform(2).save(tmp_path / "agent.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_learner_given_a_generator_forgets_it_when_loaded(tmp_path: Path) -> None:
    mb.Uniform(2, seed=np.random.default_rng(0)).save(tmp_path / "agent.npz")
    assert mb.load(tmp_path / "agent.npz").seed is None
    mb.Uniform(2, seed=5).save(tmp_path / "agent.npz")
    assert mb.load(tmp_path / "agent.npz").seed == 5


def test_a_subclass_of_the_same_name_is_not_mistaken_for_the_class(saved: Path) -> None:
    other = type("LinUCB", (mb.LinUCB,), {})
    assert type(mb.load(saved)) is mb.LinUCB
    assert other.__name__ == "LinUCB"


def test_a_class_defined_again_is_meant_as_defined_last(tmp_path: Path) -> None:
    for _ in range(2):
        latest = type("Mine", (mb.Uniform,), {"__module__": "notebook"})
    latest(2).save(tmp_path / "agent.npz")
    assert type(mb.load(tmp_path / "agent.npz")) is latest


def test_a_remembered_seed_repeats_the_run() -> None:
    first = mb.Uniform(1000)
    again = mb.Uniform(1000, seed=first.seed)
    assert [first.act([1.0]).action for _ in range(5)] == [again.act([1.0]).action for _ in range(5)]


def test_saving_over_a_file_leaves_no_debris_and_a_failed_save_keeps_the_old_one(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()
    agent = mb.load(saved)
    agent.save(saved)
    assert sorted(p.name for p in saved.parent.iterdir()) == ["agent.npz"]

    def full_disk(*args: object, **kwargs: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        agent.save(saved)
    assert saved.read_bytes() == before


EXECUTED: list[str] = []


def detonate(text: str) -> None:
    EXECUTED.append(text)


class Bomb:
    """Unpickling this would leave a trace."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return detonate, ("executed",)


def wrong_version(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["format"] = 2


def no_version(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    del header["format"]


def missing_array(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    del arrays["theta"]


def extra_array(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["theta2"] = arrays["theta"]


def wrong_shape(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["theta"] = arrays["theta"][:, 1:]


def wrong_type(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["theta"] = arrays["theta"].astype(np.float32)


def object_array(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["theta"] = np.array([Bomb()], object)


def object_header(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["factor"] = np.array([Bomb()], object)


def unknown_class(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["class"] = "os.system"


def other_family(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["class"] = "Hinge"


def abstract_class(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["class"] = "Learner"


def bad_parameter(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["parameters"]["alpha"] = -1


def unknown_parameter(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["parameters"]["beta"] = 1


def parameters_not_a_mapping(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["parameters"] = [1, 2]


def impossible_context(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["context_shape"] = [1, 2, 3]


def huge_width(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["context_shape"] = [10**12]


def negative_width(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["context_shape"] = [-4]


def other_learners_class(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["class"] = "elsewhere.LinUCB"


def environment_as_features(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arguments = {"n_actions": 3, "n_features": 2, "n_rounds": 10}
    header["parameters"]["features"] = {
        "class": "marginbandits.environments.synthetic.LinearRealizable",
        "parameters": arguments,
    }


def deep_features(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    inner: Any = {"class": "marginbandits.features.maps.Identity", "parameters": {}}
    for _ in range(200):
        inner = {"class": "marginbandits.features.maps.Chain", "parameters": {"maps": [inner]}}
    header["parameters"]["features"] = inner


def fractional_width(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["context_shape"] = [4.7]


def endless_width(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["context_shape"] = [float("inf")]


def true_version(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["format"] = True


def huge_parameter(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["parameters"]["alpha"] = 10**400


def nan_weights(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["theta"][0, 0] = np.nan


def infinite_weights(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["factor"][0, 0, 0] = np.inf


def text_generator(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["generators"]["draws"] = "x"


def wide_generator(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["generators"]["draws"]["uinteger"] = 2**40


def unknown_generator(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["generators"]["draws"]["bit_generator"] = "MT19937"


def damaged_generator(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["generators"]["draws"]["state"] = "x"


def no_generators(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    del header["generators"]


TAMPERED = {
    wrong_version: "format 2",
    no_version: "header",
    missing_array: r"missing \['theta'\]",
    extra_array: r"unknown \['theta2'\]",
    wrong_shape: "theta must be float64 of shape",
    wrong_type: "theta must be float64",
    object_array: "readable",
    object_header: "readable",
    unknown_class: "unknown Learner 'os.system'",
    other_family: "unknown Learner 'Hinge'",
    abstract_class: "Learner",
    bad_parameter: "alpha must be",
    unknown_parameter: "beta",
    parameters_not_a_mapping: "mapping",
    impossible_context: "shape",
    negative_width: "shape",
    huge_width: "allocate",
    other_learners_class: "unknown Learner",
    environment_as_features: "unknown Part",
    deep_features: "cannot be loaded",
    fractional_width: "context_shape",
    endless_width: "context_shape",
    true_version: "format True",
    huge_parameter: "alpha must be",
    nan_weights: "theta must be finite",
    infinite_weights: "factor must be finite",
    text_generator: "damaged",
    wide_generator: "32-bit",
    unknown_generator: "bit_generator",
    damaged_generator: "damaged",
    no_generators: "generators",
}


@pytest.mark.parametrize("tamper", TAMPERED)
def test_tampered_files_are_refused(tamper: Callable[..., None], saved: Path) -> None:
    header, arrays = contents(saved)
    tamper(header, arrays)
    rewrite(saved, header, arrays)
    with pytest.raises(ValueError, match=TAMPERED[tamper]) as refusal:
        mb.load(saved)
    assert "agent.npz" in str(refusal.value)
    assert EXECUTED == []


def test_the_bomb_works() -> None:
    """Negative control: unpickling it does execute."""
    pickle.loads(pickle.dumps(Bomb()))
    assert EXECUTED.pop() == "executed"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(share: float, saved: Path) -> None:
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"agent\.npz"):
        mb.load(saved)


def test_flipped_bytes_never_load_silently_wrong(saved: Path) -> None:
    """Every flip either is refused, or hit something that does not matter: the numbers are the same."""
    whole, good = bytearray(saved.read_bytes()), mb.load(saved).state()
    rng = np.random.default_rng(0)
    for position in rng.integers(len(whole), size=60):
        flipped = whole.copy()
        flipped[position] ^= 0xFF
        saved.write_bytes(bytes(flipped))
        try:
            state = mb.load(saved).state()
        except ValueError:
            continue
        assert all(np.array_equal(state[name], good[name]) for name in good)


@pytest.mark.parametrize("data", [b"", b"hello", pickle.dumps({"a": 1}), b"PK\x03\x04 nothing"])
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"agent\.npz"):
        mb.load(path)


def test_a_plain_npy_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(ValueError, match=r"agent\.npy"):
        mb.load(path)


def test_a_zip_bomb_of_a_header_is_just_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    buffer = io.BytesIO()
    np.save(buffer, np.frombuffer(b"[" * 100_000, np.uint8))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", buffer.getvalue())
    with pytest.raises(ValueError, match=r"agent\.npz"):
        mb.load(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mb.load(tmp_path / "none.npz")


def test_loading_as_the_wrong_class_is_refused(saved: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown LinTS 'marginbandits\.\S+LinUCB'"):
        mb.LinTS.load(saved)
