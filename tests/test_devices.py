"""Networks on devices: the same numbers wherever they compute, files that travel, and what is missing refused by name.

A stand-in for a GPU, whose arrays are copies, shows that nothing is forgotten on the way. Tests with PyTorch itself are
skipped where it is not installed.
"""

import copy
import importlib.util
import pickle
from types import SimpleNamespace
from typing import Any, ClassVar

import array_api_strict
import numpy as np
import pytest

import marginbandits as mb
from marginbandits.oracles.ensembles import Ensemble
from marginbandits.oracles.network_erm import NetworkERM
from marginbandits.oracles.steps import adamw, adamw_of_arrays, paced
from marginbandits.scores import devices, networks
from marginbandits.state import TooLargeError
from marginbandits.surrogates import TWO_SIDED

TOLERANCE = 1e-5
"""Of weights after one step from the same networks, on one device and another; docs/networks.md states it. Over whole
runs there is none: where rounding decides whether a unit is at work, AdamW makes a step of it."""

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra `torch` is not installed")


def _small(**more: Any) -> mb.Networks:
    return mb.Networks(**{"n_networks": 3, "width": 16, "minibatch": 32, **more})


def _taught(scores: mb.Networks, n: int = 120) -> mb.HingeLMC:
    agent, rng = mb.HingeLMC(2, scores=scores, seed=0), np.random.default_rng(0)
    for x in rng.uniform(-1, 1, (n, 2)):
        action = int(rng.integers(2))
        agent.learn(x, mb.Decision(action, 0.5), float((x[0] * x[1] > 0) != (action == 1)))
    return agent


def _weights(agent: mb.Learner) -> Any:
    return agent.state()["networks.ensemble.parameters"]


def _apart(device: str, *, rate: float = 0.003, surrogate: str = "squared_hinge", **more: Any) -> float:
    """The largest difference that one step makes between two devices, over 100 rounds that begin alike each time."""
    near, far = (
        Ensemble(_small(device=name, rate=h, **more), n_features=3, n_outputs=2, seed=0, surrogate=surrogate)
        for name, h in (("cpu", 0.003), (device, rate))
    )
    rng, largest = np.random.default_rng(0), 0.0
    for x in rng.uniform(-1, 1, (100, 3)):
        for to, array in zip(far._now.to_change(), near._now.here(), strict=True):
            to[...] = array
        action = int(rng.integers(2))
        for one in (near, far):
            one.learn(x, action, float((x[0] * x[1] > 0) != (action == 1)))
        largest = max(largest, float(np.abs(near.parameters - far.parameters).max()))
    return largest


# A device whose arrays are copies, and of another class than NumPy's as far as that matters.


class Far(devices.Device):
    name, shares = "far", False
    copied: ClassVar[list[tuple[str, int]]] = []
    """Which way, and how many numbers."""

    def there(self, array: Any) -> Any:
        self.copied.append(("sent", array.size))
        return array.copy()

    def here(self, array: Any) -> Any:
        self.copied.append(("fetched", array.size))
        return array.copy()


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """`device="torch:cpu"` is the stand-in."""
    monkeypatch.setattr(networks, "device", lambda name: devices.CPU if name == "cpu" else Far())


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize("sampler", ["bootstrap", "langevin", "preconditioned"])
def test_what_is_far_is_as_if_it_were_near(sampler: str) -> None:
    assert _apart("torch:cpu", sampler=sampler) < TOLERANCE
    assert _apart("torch:cpu", sampler=sampler, rate=0.0031) > TOLERANCE  # the comparison can fail


@pytest.mark.usefixtures("far")
def test_rounds_that_fail_leave_what_is_far_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, x = _taught(_small(device="torch:cpu")), [[0.1, 0.2], [0.3, 0.4], [-0.5, 0.1], [0.2, 0.2]]
    expected = agent.predict(x[0])
    for repeated in range(2):  # the second time it was asked for between: what is here is then the newer one
        before = agent.dumps() if repeated else None
        step, steps = Ensemble._step, iter(range(10))

        def failing(self: Ensemble, chance: Any, step: Any = step, steps: Any = steps) -> None:
            step(self, chance)
            if next(steps) == 2:
                raise MemoryError("as on a full device")

        with monkeypatch.context() as patch:
            patch.setattr(Ensemble, "_step", failing)
            with pytest.raises(MemoryError):
                agent.learn_many(x, [mb.Decision(0, 0.5)] * 4, [1.0] * 4)
        assert np.array_equal(agent.predict(x[0]), expected)
        assert before is None or agent.dumps() == before


@pytest.mark.usefixtures("far")
def test_what_is_only_looked_at_is_not_sent_back() -> None:
    """Weights are fetched once however often they are looked at, and none is sent."""
    Far.copied.clear()
    agent = _taught(_small(device="torch:cpu"), 40)
    weights = len(_weights(agent))
    assert Far.copied.count(("sent", weights)) > 0
    for loss in (0.0, 1.0, 0.0):
        agent.learn([0.3, -0.2], mb.Decision(1, 0.5), loss)
        Far.copied.clear()
        _weights(agent), agent.dumps(), agent.predict([0.1, 0.1])
        agent.learn([0.3, -0.2], mb.Decision(1, 0.5), loss)
        assert Far.copied.count(("sent", weights)) == 0
        assert Far.copied.count(("fetched", weights)) == 1
    Far.copied.clear()
    told: Any = agent
    for array in told._networks.ensemble._now.to_change():  # who changes something says so, and it is sent
        array += 0.5
    before = agent.predict([0.3, -0.2])
    assert Far.copied.count(("sent", weights)) == 1
    assert np.array_equal(agent.predict([0.3, -0.2]), before)
    assert np.array_equal(mb.loads(agent.dumps()).predict([0.3, -0.2]), before)


@pytest.mark.usefixtures("far")
def test_copies_and_files_go_on_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = _taught(_small(device="torch:cpu"))
    others = [copy.deepcopy(agent), mb.loads(agent.dumps()), pickle.loads(pickle.dumps(agent))]
    for one in (agent, *others):
        for loss in (0.0, 1.0, 0.0):
            one.learn([0.3, -0.2], mb.Decision(1, 0.5), loss)
    assert all(one.dumps() == agent.dumps() for one in others)
    monkeypatch.undo()
    near = mb.loads(agent.dumps(), device="cpu")
    assert np.array_equal(_weights(near), _weights(agent))
    assert isinstance(near, mb.HingeLMC)
    assert near.scores is not None
    assert near.scores.device == "cpu"


@pytest.mark.usefixtures("far")
def test_an_oracle_finds_the_same_networks_there() -> None:
    rng = np.random.default_rng(0)
    rows, blocks = rng.standard_normal((60, 2)), rng.integers(2, size=60)
    found = [
        NetworkERM(0.5, networks=_small(device=one), passes=5)
        .fit(rows, blocks, (rows[:, 0] > 0).astype(float), np.ones(60), np.zeros((2, 2)))
        .scores(rows)
        for one in ("cpu", "torch:cpu")
    ]
    assert np.allclose(found[0], found[1], atol=1e-4)


def test_two_forms_of_adamw_are_one() -> None:
    rng = np.random.default_rng(0)
    start, slopes = rng.standard_normal(50).astype(np.float32), rng.standard_normal((9, 50)).astype(np.float32)

    def moved(step: Any) -> Any:
        now, adam = start.copy(), np.zeros((2, 50), np.float32)
        for t, slope in enumerate(slopes):
            out, out_adam = np.empty_like(now), np.empty_like(adam)
            step(now, adam, slope, *paced(0.1, 0.01, t + 1), out, out_adam)
            now, adam = out, out_adam
        return now

    assert np.allclose(moved(adamw), moved(adamw_of_arrays), atol=1e-6)
    assert not np.allclose(moved(adamw), start, atol=1e-2)


@pytest.mark.parametrize("step", [adamw, adamw_of_arrays])
def test_a_decay_too_small_to_be_seen_beside_one_counts(step: Any) -> None:
    """Alone neither it nor the slope's 2e-8 would move a weight of 1; together they do."""
    one, none = np.ones(1, np.float32), np.zeros((2, 1), np.float32)
    for lost, expected in ((2.9e-8, np.nextafter(np.float32(1), np.float32(0))), (0.0, np.float32(1))):
        out, out_adam = np.empty_like(one), np.empty_like(none)
        step(one, none, one, 2e-7, 1e3, lost, out, out_adam)
        assert out[0] == expected


class Strict(devices.Device):
    """One whose arrays have what the array API standard has, and nothing else."""

    name, shares, writes = "strict", False, False

    @property
    def xp(self) -> Any:
        return array_api_strict

    def there(self, array: Any) -> Any:
        return array_api_strict.asarray(array, copy=True)

    def here(self, array: Any) -> Any:
        return np.asarray(array)


@pytest.mark.parametrize("surrogate", TWO_SIDED)
@pytest.mark.parametrize("sampler", ["bootstrap", "langevin", "preconditioned"])
def test_a_step_is_written_in_the_array_api_standard(
    sampler: str, surrogate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replay, forward, backward and step of an ensemble, on arrays that have nothing else."""
    monkeypatch.setattr(networks, "device", lambda name: devices.CPU if name == "cpu" else Strict())
    same: dict[str, Any] = {"sampler": sampler, "norm": 3.0, "surrogate": surrogate}
    assert _apart("torch:cpu", **same) < TOLERANCE
    assert _apart("torch:cpu", **same, rate=0.0031) > TOLERANCE  # the comparison can fail


class OutOfRoomError(RuntimeError):
    """What PyTorch would raise."""


class Full(Far):
    """It has room for so many arrays more."""

    left: ClassVar[float] = np.inf
    _full = (OutOfRoomError,)

    def there(self, array: Any) -> Any:
        Full.left -= 1
        if Full.left < 0:
            raise OutOfRoomError("CUDA out of memory.\n Tried to allocate 2.00 GiB")
        return array.copy()


def test_a_device_that_is_full_within_a_round_says_so_and_nothing_has_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever in the round it comes: every array more that there is room for is a later place."""
    monkeypatch.setattr(networks, "device", lambda name: devices.CPU if name == "cpu" else Full())
    monkeypatch.setattr(Full, "left", np.inf)
    agent, twin = _taught(_small(device="torch:cpu")), _taught(_small(device="torch:cpu"))
    before, told, failed = (
        agent.dumps(),
        "device='far' has no memory left for the networks: CUDA out of memory. Tried",
        0,
    )
    for room in range(20):
        Full.left = room
        try:
            agent.learn([0.3, -0.2], mb.Decision(1, 0.5), 1.0)
        except TooLargeError as error:
            failed += told in str(error)
        Full.left = np.inf
        if failed <= room:
            break
        assert agent.dumps() == before
    assert failed > 4
    twin.learn([0.3, -0.2], mb.Decision(1, 0.5), 1.0)
    assert agent.dumps() == twin.dumps()
    Full.left = 0
    rows = np.zeros((40, 2))
    with pytest.raises(TooLargeError, match="no memory left"):
        NetworkERM(0.5, networks=_small(device="torch:cpu")).fit(
            rows, np.zeros(40, int), np.ones(40), np.ones(40), np.zeros((2, 2))
        )


# What is missing.


def test_without_pytorch_its_name_and_extra_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"device='torch:cpu' needs PyTorch: pip install \"marginbandits\[torch\]\""):
        _small(device="torch:cpu")
    with pytest.raises(ValueError, match="device must be one of"):
        _small(device="tpu")


def _gpu(monkeypatch: pytest.MonkeyPatch, *, available: bool, free: int = 0, reserved: int = 0) -> None:
    cuda = SimpleNamespace(
        is_available=lambda: available,
        mem_get_info=lambda: (free, free),
        memory_reserved=lambda: reserved,
        memory_allocated=lambda: 0,
        OutOfMemoryError=OutOfRoomError,
    )
    torch = SimpleNamespace(cuda=cuda, get_num_threads=lambda: 1, set_num_threads=lambda n: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(devices.Torch, "xp", property(lambda self: torch))


def test_without_a_gpu_it_is_refused_and_a_file_from_one_loads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = _taught(_small())
    assert agent.scores is not None
    vars(agent.scores)["device"] = "torch:cuda"  # as if it had been saved there
    saved = agent.dumps()
    _gpu(monkeypatch, available=False)
    with pytest.raises(ValueError, match="cannot be loaded: device='torch:cuda' needs a GPU that PyTorch can use"):
        mb.loads(saved)
    assert np.array_equal(_weights(mb.loads(saved, device="cpu")), _weights(agent))
    with pytest.raises(ValueError, match="and this one has none"):
        mb.loads(mb.LinUCB(2).dumps(), device="cpu")


class Gauge(mb.Identity):
    """Features of a user's own, with a device that is none of ours."""

    def __init__(self, device: str = "gauge 7") -> None:
        self.device = device


def test_another_device_is_one_of_networks_only() -> None:
    agent = mb.HingeLMC(2, scores=_small(), features=Gauge(), seed=0)
    again = mb.loads(agent.dumps(), device="cpu")
    assert isinstance(again.features, Gauge)
    assert again.features.device == "gauge 7"


def test_too_little_memory_is_told_and_nothing_has_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    _gpu(monkeypatch, available=True, free=2**10)
    agent = mb.HingeLMC(2, scores=_small(device="torch:cuda"), seed=0)
    before = agent.dumps()
    with pytest.raises(ValueError, match=r"networks take 0\.00 GiB, and the GPU has 0\.00 GiB free"):
        agent.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)
    assert agent.dumps() == before


def test_pytorch_s_own_word_for_no_memory_is_understood_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    _gpu(monkeypatch, available=True)
    gpu = devices.device("torch:cuda")
    with (
        pytest.raises(TooLargeError, match="device='torch:cuda' has no memory left for the networks: CUDA"),
        gpu.working(),
    ):
        raise OutOfRoomError("CUDA out of memory")
    with pytest.raises(RuntimeError, match="another"), gpu.working():
        raise RuntimeError("another")


def test_what_pytorch_has_reserved_and_does_not_use_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a second learner would be refused what the first has given back."""
    _gpu(monkeypatch, available=True, free=2**10, reserved=2**20)
    devices.device("torch:cuda").refuse(2**20)
    with pytest.raises(ValueError, match="GPU has"):
        devices.device("torch:cuda").refuse(2**20 + 2**10 + 1)


def test_room_to_work_in_counts() -> None:
    shape = mb.Networks(n_networks=2, width=4)._shaped(3, 2)
    room = shape.room(5)
    assert shape.roomy(5) == sum(one.size for one in (*room.values, *room.slopes, room.gradient))


# PyTorch itself.


@needs_torch
@pytest.mark.parametrize("sampler", ["bootstrap", "langevin", "preconditioned"])
def test_pytorch_on_the_cpu_agrees_with_numpy_and_with_itself(sampler: str) -> None:
    scores = _small(sampler=sampler, norm=3.0, device="torch:cpu")
    assert _apart("torch:cpu", sampler=sampler, norm=3.0) < TOLERANCE
    assert _apart("torch:cpu", sampler=sampler, norm=3.0, rate=0.0031) > TOLERANCE  # the comparison can fail
    assert _taught(scores).dumps() == _taught(scores).dumps()


@needs_torch
def test_files_go_from_one_library_to_the_other_and_back() -> None:
    there = _taught(_small(device="torch:cpu"))
    here = mb.loads(there.dumps(), device="cpu")
    back = mb.loads(here.dumps(), device="torch:cpu")
    assert back.dumps() == there.dumps() != here.dumps()
    for one in (there, here, back):
        one.learn([0.3, 0.4], mb.Decision(0, 0.5), 1.0)
    assert np.allclose(_weights(here), _weights(there), atol=TOLERANCE)
    assert back.dumps() == there.dumps() == pickle.loads(pickle.dumps(back)).dumps()


@needs_torch
def test_experts_and_oracles_take_a_device_too() -> None:
    experts = [mb.RidgeExpert(), mb.NetworksExpert(networks=_small(device="torch:cpu"), after=20)]
    agent = mb.Mixture(3, experts=experts, seed=0)
    mb.simulate(agent, mb.Classification.bundled("wine", seed=0))
    assert mb.loads(agent.dumps()).dumps() == agent.dumps()
    rng = np.random.default_rng(0)
    rows, blocks = rng.standard_normal((60, 2)), rng.integers(2, size=60)
    given = rows, blocks, (rows[:, 0] > 0).astype(float), np.ones(60), np.zeros((2, 2))
    found = [NetworkERM(0.5, networks=_small(device=one), passes=5).fit(*given) for one in ("cpu", "torch:cpu")]
    assert np.allclose(found[0].scores(rows), found[1].scores(rows), atol=1e-4)
