"""A `torch.nn.Module` of the user's own as the body of networks: the same learner, files without code, clear refusals.

All of it is skipped where PyTorch is not installed, but for what is said then.
"""

import copy
import gc
import importlib.util
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.checks import LEARNER_CHECKS
from marginbandits.oracles.ensembles import Ensemble
from marginbandits.oracles.network_erm import NetworkERM
from tests.problems import exclusive_or

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra `torch` is not installed")


def _mlp(d: int = 2, width: int = 16, seed: int = 0) -> Any:
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(d, width), torch.nn.ReLU())


def _networks(body: Any, **more: Any) -> mb.Networks:
    return mb.Networks(**{"n_networks": 3, "minibatch": 32, "device": "torch:cpu", "body": body, **more})


class NotQuite:
    def named_parameters(self) -> list[Any]:
        return []

    def named_buffers(self) -> list[Any]:
        return []


def test_what_a_body_needs_is_said() -> None:
    with pytest.raises(ValueError, match="body needs device='torch:cpu' or 'torch:cuda'"):
        mb.Networks(body=NotQuite())
    with pytest.raises(ValueError, match="norm=1 is for perceptrons"):
        mb.Networks(body=NotQuite(), device="torch:cpu", norm=1.0)
    with pytest.raises(ValueError, match=r"body must be an instance of torch\.nn\.Module, or None, got 'resnet'"):
        mb.Networks(body="resnet", device="torch:cpu")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"body must be an instance of torch\.nn\.Module, or None, got"):
        mb.Networks(body=NotQuite, device="torch:cpu")  # type: ignore[arg-type]


@needs_torch
@pytest.mark.parametrize("sampler", ["bootstrap", "langevin", "preconditioned"])
def test_a_perceptron_as_a_body_steps_as_our_own(sampler: str) -> None:
    """From the same weights, one step of 100 rounds is the same within 1e-5, whoever computes it."""
    ours = mb.Networks(n_networks=3, width=16, depth=1, minibatch=32, sampler=sampler)
    theirs = _networks(_mlp(d=3), sampler=sampler)
    near, far = (Ensemble(one, n_features=3, n_outputs=2, seed=0) for one in (ours, theirs))
    E, d, h = 3, 3, 16

    def hand_over(to: Any, array: Any) -> None:
        first, last = near.shape.layers(array)
        parts = first.weights.transpose(0, 2, 1), first.biases, last.weights, last.biases
        to[...] = np.concatenate([np.ravel(one) for one in parts])

    def apart() -> float:
        expected = np.empty_like(near.parameters)
        hand_over(expected, near.parameters)
        return float(np.abs(expected - far.parameters).max())

    assert near.shape.dimension == far.shape.dimension == E * (d * h + h + h * 2 + 2)
    assert apart() > 0.1  # the comparison can fail
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1, 1, (100, 3)):
        hand_over(far.parameters, near.parameters)
        for to, array in zip(far.adam, near.adam, strict=True):
            hand_over(to, array)
        before, action = near.parameters.copy(), int(rng.integers(2))
        for one in (near, far):
            one.learn(x, action, float((x[0] * x[1] > 0) != (action == 1)))
        if sampler == "bootstrap":
            assert apart() < 1e-5
    if sampler != "bootstrap":  # noise falls on other weights: only what moves by slopes can be compared
        rows = np.arange(32)
        slopes = np.empty_like(near.parameters)
        hand_over(slopes, near._gradient(rows))
        hand_over(far.parameters, near.parameters)
        assert np.allclose(far._gradient(rows), slopes, atol=1e-5)
    assert np.abs(before - near.parameters).max() > 1e-4


def _of_any_width() -> Any:
    import torch

    class Wide(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: Any) -> Any:
            return torch.stack([x.mean(1), x.std(1, correction=0), x[:, 0]], 1) * self.scale

    return Wide()


APART = {
    "save_load_continue": "its files need the body again: tested below",
    "parameters_are_settled_or_obeyed": "so do these",
    "memory_does_not_grow": "PyTorch leaves cycles, which the collector takes away: tested below",
}


@needs_torch
@pytest.mark.parametrize("check", [name for name in LEARNER_CHECKS if name not in APART])
def test_the_learner_keeps_the_contract(check: str) -> None:
    scores = _networks(_of_any_width())
    LEARNER_CHECKS[check](lambda **more: mb.HingeLMC(**{"n_actions": 3, "seed": 0, "scores": scores, **more}))


@needs_torch
def test_memory_does_not_grow() -> None:
    agent = mb.HingeLMC(2, scores=_networks(_mlp()), seed=0)
    exclusive_or(agent, 300)
    tracemalloc.start()
    exclusive_or(agent, 600)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 32_768


@needs_torch
def test_it_learns_what_no_line_can_and_leaves_the_users_module_alone() -> None:
    body = _mlp(width=32)
    before = [one.detach().clone() for one in body.parameters()]
    agent = mb.HingeLMC(2, scores=_networks(body, minibatch=64), seed=0)
    exclusive_or(agent, 600)
    assert exclusive_or(agent, 200, seed=1) < 0.15
    assert all((one == was).all() for one, was in zip(body.parameters(), before, strict=True))
    assert body.training


@needs_torch
def test_saved_and_loaded_with_its_body_it_goes_on_alike() -> None:
    agent = mb.HingeLMC(2, scores=_networks(_mlp()), seed=0)
    exclusive_or(agent, 60)
    saved = agent.dumps()
    again = mb.loads(saved, body=_mlp(seed=1))  # its weights come from the file
    assert again.dumps() == saved
    twin = pickle.loads(pickle.dumps(agent))
    assert exclusive_or(agent, 40, seed=2) == exclusive_or(again, 40, seed=2) == exclusive_or(twin, 40, seed=2)
    assert agent.dumps() == again.dumps() == twin.dumps()
    assert mb.HingeLMC.loads(saved, body=_mlp(), device="torch:cpu").dumps() == saved


@needs_torch
def test_another_body_or_none_is_refused() -> None:
    agent = mb.HingeLMC(2, scores=_networks(_mlp()), seed=0)
    exclusive_or(agent, 20)
    saved = agent.dumps()
    with pytest.raises(ValueError, match="saved with a body of its own: hand it in again"):
        mb.loads(saved)
    with pytest.raises(ValueError, match=r"body must have 0.weight of shape \[16, 2\], got \[17, 2\]"):
        mb.loads(saved, body=_mlp(width=17))
    with pytest.raises(ValueError, match=r"body must have the parameters \['0.weight', '0.bias'\], got \['scale'\]"):
        mb.loads(saved, body=_of_any_width())
    with pytest.raises(ValueError, match="is for networks that were saved with one"):
        mb.loads(mb.LinUCB(2).dumps(), body=_mlp())
    with pytest.raises(ValueError, match="body needs device"):
        mb.loads(saved, body=_mlp(), device="cpu")


@needs_torch
def test_a_body_that_does_not_fit_is_refused_and_nothing_has_happened() -> None:
    agent = mb.HingeLMC(2, scores=_networks(_mlp(d=5)), seed=0)
    before = agent.dumps()
    with pytest.raises(ValueError, match="body cannot learn from rows of 2 columns"):
        agent.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)
    assert agent.dumps() == before


@needs_torch
def test_images_go_through_a_convolution_and_actions_come_and_go() -> None:
    import torch

    torch.manual_seed(0)
    body = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8, 8)),
        torch.nn.Conv2d(1, 4, 3, stride=2),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Dropout(),
        torch.nn.Flatten(),
    )
    agent = mb.HingeLMC(actions=list("abcdefghij"), scores=_networks(body), seed=0)
    for x in np.random.default_rng(0).random((40, 64)):
        agent.learn(x, agent.act(x), 0.0)
    image = np.linspace(0.0, 1.0, 64)
    before = agent.predict(image)
    agent.retire_action("a")
    assert np.allclose(agent.predict(image), before[1:], atol=1e-6)
    assert (agent.predict(image) == agent.predict(image)).all()  # no dropout


@needs_torch
def test_a_body_is_given_images_as_they_are() -> None:
    """The same as a body that gives rows their shape itself, and is refused where rows have other columns."""
    import torch

    def body() -> list[Any]:
        torch.manual_seed(0)
        return [torch.nn.Conv2d(1, 4, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten()]

    own = mb.HingeLMC(2, scores=_networks(torch.nn.Sequential(*body()), image=(1, 8, 8)), seed=0)
    usual = mb.HingeLMC(2, scores=_networks(torch.nn.Sequential(torch.nn.Unflatten(1, (1, 8, 8)), *body())), seed=0)
    for x in np.random.default_rng(0).random((40, 1, 8, 8)):
        own.learn(x, own.act(x), 0.0)
        usual.learn(x.ravel(), usual.act(x.ravel()), 0.0)
    assert own.predict(x).tolist() == usual.predict(x.ravel()).tolist()
    assert mb.loads(own.dumps(), body=torch.nn.Sequential(*body())).dumps() == own.dumps()
    wide = mb.HingeLMC(2, scores=_networks(torch.nn.Sequential(*body()), image=(1, 8, 8)), features="raw", seed=0)
    with pytest.raises(ValueError, match=r"body cannot learn from rows of 65 columns, as images of shape \(1, 8, 8\)"):
        wide.learn(x, mb.Decision(0, 0.5), 0.0)


@needs_torch
def test_experts_and_oracles_take_a_body_too() -> None:
    scores = _networks(_mlp())
    expert = mb.NetworksExpert(networks=scores, after=10, features=mb.Standardise(bias=False))
    agent = mb.Mixture(2, experts=[mb.RidgeExpert(), expert], seed=0)
    exclusive_or(agent, 60)
    assert mb.loads(agent.dumps(), body=_mlp()).dumps() == agent.dumps()
    oracle = NetworkERM(0.3, networks=scores, passes=3)
    follower = mb.FaithfulSmoothFTL(2, horizon=100, margin=0.3, oracle=oracle, features=mb.Standardise(bias=False))
    exclusive_or(follower, 40)
    assert mb.loads(follower.dumps(), body=_mlp()).dumps() == follower.dumps()


@needs_torch
def test_what_is_done_to_the_module_later_changes_nothing() -> None:
    """Nor does a file need its weights, or need it to be loaded at all but for its shape: a window begins anew."""
    import torch

    body = _mlp()
    oracle = NetworkERM(0.3, networks=_networks(body), passes=3)
    agents: list[mb.Learner] = [
        mb.HingeLMC(2, scores=_networks(body), window=50, seed=0),
        mb.FaithfulSmoothFTL(2, horizon=400, margin=0.3, oracle=oracle, features=mb.Standardise(bias=False), seed=0),
    ]
    for agent in agents:
        exclusive_or(agent, 40)
        saved, twin = agent.dumps(), pickle.loads(pickle.dumps(agent))
        with torch.no_grad():
            body[0].weight.add_(1.0)
        body[1] = torch.nn.Linear(16, 3)
        again = mb.loads(saved, body=_mlp(seed=1))
        body[1] = torch.nn.ReLU()
        assert agent.dumps() == again.dumps() == saved
        assert exclusive_or(agent, 120, seed=2) == exclusive_or(again, 120, seed=2) == exclusive_or(twin, 120, seed=2)
        assert agent.dumps() == again.dumps() == twin.dumps()


@needs_torch
def test_what_is_frozen_and_what_is_no_parameter_stays() -> None:
    import torch

    torch.manual_seed(0)

    class Body(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.frozen, self.trained = torch.nn.Linear(2, 8).requires_grad_(False), torch.nn.Linear(8, 8)
            self.register_buffer("asked", torch.zeros(1))
            self.last: Any = None

        def forward(self, x: Any) -> Any:
            self.asked.add_(1.0)
            self.last = torch.relu(self.trained(self.frozen(x.float()))) + self.asked
            return self.last

    agent: Any = mb.HingeLMC(2, scores=_networks(Body()), seed=0)
    exclusive_or(agent, 60)
    shape = agent._networks.ensemble.shape
    assert list(shape.first) == ["trained.weight", "trained.bias"]
    assert agent.predict([0.1, 0.2]).tolist() == agent.predict([0.1, 0.2]).tolist()
    twin, again = copy.deepcopy(agent), mb.loads(agent.dumps(), body=Body())
    assert exclusive_or(agent, 20) == exclusive_or(twin, 20) == exclusive_or(again, 20)
    still: Any = mb.HingeLMC(2, scores=_networks(Body().requires_grad_(False)), seed=0)
    exclusive_or(still, 40)
    follower = mb.FaithfulSmoothFTL(
        2, horizon=99, margin=0.3, oracle=NetworkERM(0.3, networks=_networks(Body()), passes=3), seed=0
    )
    exclusive_or(follower, 40)


@needs_torch
def test_each_body_of_several_is_handed_in() -> None:
    import torch

    def mixture() -> mb.Mixture:
        bodies = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh()), torch.nn.Linear(2, 4)
        experts: list[Any] = [
            mb.NetworksExpert(networks=_networks(body), after=10, features=mb.Standardise(bias=False))
            for body in bodies
        ]
        return mb.Mixture(2, experts=experts, seed=0)

    agent = mixture()
    exclusive_or(agent, 30)
    saved = agent.dumps()
    bodies = [torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh()), torch.nn.Linear(2, 4)]
    again = mb.loads(saved, body=bodies)
    assert exclusive_or(agent, 30) == exclusive_or(again, 30)
    with pytest.raises(ValueError, match="must be a list of the 2 it was saved with, in their order, got 1"):
        mb.loads(saved, body=bodies[1])


@needs_torch
def test_a_body_that_could_not_learn_is_refused_before_anything_is_learnt() -> None:
    import torch

    class Short(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self, rows: int | None, dtype: str = "float32", columns: int = 3) -> None:
            super().__init__()
            self.columns = columns
            self.linear, self.rows, self.dtype = torch.nn.Linear(2, 3), rows, dtype

        def forward(self, x: Any) -> Any:
            return self.linear(x)[: self.rows, : self.columns].to(getattr(torch, self.dtype))

    bad = {
        "cannot learn from rows": [
            torch.nn.TransformerEncoderLayer(2, 1, 8, batch_first=True),
            torch.nn.Embedding(5, 3),
        ],
        "must give a row of float32 for each row": [
            Short(2),
            Short(None, "float64"),
            Short(None, columns=0),
        ],
    }
    for message, bodies in bad.items():
        for body in bodies:
            agent = mb.Mixture(
                2,
                experts=[
                    mb.RidgeExpert(),
                    mb.NetworksExpert(networks=_networks(body), features=mb.Standardise(bias=False)),
                ],
                seed=0,
            )
            with pytest.raises(ValueError, match=message):
                agent.learn([0.1, 0.2], mb.Decision(0, 0.5), 1.0)


@needs_torch
@pytest.mark.parametrize("own", [False, True])
def test_the_caller_s_modes_are_of_no_concern(own: bool) -> None:
    import torch

    scores = _networks(_mlp()) if own else mb.Networks(n_networks=3, minibatch=32, device="torch:cpu")
    usual, other = (mb.HingeLMC(2, scores=scores, seed=0) for _ in range(2))
    exclusive_or(usual, 30)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            exclusive_or(other, 30)
            loaded = mb.loads(other.dumps(), body=_mlp() if own else None)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        again = pickle.loads(pickle.dumps(loaded))
        assert usual.dumps() == other.dumps() == again.dumps()
        lost = [exclusive_or(agent, 40, seed=1) for agent in (other, loaded, again)]
    assert lost == [exclusive_or(usual, 40, seed=1)] * 3
    assert usual.dumps() == other.dumps() == loaded.dumps() == again.dumps()
