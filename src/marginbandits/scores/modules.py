"""A user's own `torch.nn.Module` as the body of networks: an ensemble of copies of it, each with a linear head.

    f_e(x) = body(x; θ_e) W_e + b_e,   e = 1 … E:   a score for each action, or one for a row of K x d

All copies are computed at once, by `torch.func.functional_call` and `vmap`, and all their weights are one flat array:
parameter after parameter, in the body's order, E of each; then the heads (`scores.networks.Perceptrons`). So ensembles
learn, keep and save them as they do perceptrons. PyTorch itself is reached through `scores.devices`.

A recipe keeps a copy of the body (`taken`), which nothing computes with: what is done to the module afterwards is of no
concern. Bodies begin with its weights, so that what is pretrained is kept; heads are drawn, and with the bootstrap are
what makes copies differ. What is frozen (`requires_grad_(False)`) stays as it is. A body is asked as in evaluation:
dropout does nothing, and buffers (the statistics of batch normalisation) stay what they were.

Files hold names, shapes and weights of a body (`saved`), never its code: who loads one hands in a module that is made
the same (`restored`), whatever its weights are by then.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.scores.devices import Device
from marginbandits.scores.networks import BODY, Perceptrons, Room
from marginbandits.state import zeros
from marginbandits.validation import cleaned, quoted

__all__ = ["Modules", "restored", "saved", "taken"]

Small = npt.NDArray[np.float32]
TRIED = 3
"""Rows that a body is tried on before anything is learnt."""


def taken(body: Any) -> Any:
    """A copy of a module, in single precision on the CPU, that nothing else holds."""
    module: Any = cleaned(BODY, "body", body)
    try:
        return copy.deepcopy(module).eval().to("cpu").float()
    except Exception as error:  # whatever a stranger's module raises
        raise ValueError(f"body cannot be copied: {error}") from error


def _named(body: Any) -> dict[str, Any]:
    """All that a module is made of, parameters and then buffers."""
    return {name: one.detach() for name, one in (*body.named_parameters(), *body.named_buffers())}


def saved(body: Any) -> dict[str, Any]:
    """Names and shapes of what a body is made of, and its numbers, one after the other."""
    parts = {name: one.numpy() for name, one in _named(body).items()}
    numbers = [np.ravel(one).astype(np.float64) for one in parts.values()]
    return {
        "module": {name: list(one.shape) for name, one in parts.items()},
        "numbers": np.concatenate([np.empty(0), *numbers]),
    }


def restored(body: Any, was: Mapping[str, Any]) -> Any:
    """A copy of a body that is made as the one that was saved, with the weights it had then."""
    shapes, numbers, ours = was["module"], was.get("numbers"), taken(body)
    parts = _named(ours)
    if not isinstance(shapes, dict) or list(parts) != list(shapes):
        raise ValueError(f"body must have the parameters {quoted(list(shapes))}, got {quoted(list(parts))}")
    for name, part in parts.items():
        if list(part.shape) != shapes[name]:
            raise ValueError(f"body must have {name} of shape {quoted(shapes[name])}, got {list(part.shape)}")
    size = sum(part.numel() for part in parts.values())
    if not isinstance(numbers, np.ndarray) or numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise ValueError(f"a saved body must have {size} finite numbers, got {quoted(numbers)}")
    at = 0
    for part in parts.values():
        part.copy_(part.new_tensor(numbers[at : at + part.numel()].tolist()).reshape(part.shape))
        at += part.numel()
    return ours


class Modules:
    """E copies of a body for rows of so many columns, and where in one flat array the parameters of each are."""

    exact: npt.DTypeLike = np.float32
    """The precision that scores are computed in where rows are to score as they do in a batch."""

    def __init__(
        self,
        body: Any,
        device: Device,
        n_networks: int,
        n_inputs: int,
        n_outputs: int,
        image: Sequence[int] | None = None,
    ) -> None:
        self.device, self.n_networks, self.sizes = device, n_networks, (n_inputs, n_outputs)
        self.image, self.seen = image, image or (n_inputs,)  # what the body is given of each row
        self.recipe, self.body = body, copy.deepcopy(body)
        trained = {name: one for name, one in body.named_parameters() if one.requires_grad}
        self.first = {name: device.here(one).copy() for name, one in trained.items()}
        self.at_head = n_networks * sum(one.size for one in self.first.values())
        self.head = Perceptrons(n_networks, (self._tried(n_inputs), n_outputs))
        self.dimension = self.at_head + self.head.dimension

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "body": None}  # a stranger's module may keep what it computed last

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.body = copy.deepcopy(self.recipe)

    def _tried(self, n_inputs: int) -> int:
        """How wide the body's rows are; refused if it cannot be computed, or learnt, as an ensemble."""
        rows, flat = np.zeros((TRIED, n_inputs), np.float32), self._bodies()
        try:
            with _learning(self.device.xp):
                weights = self.device.there(flat).requires_grad_(True)
                found = self._hidden(weights, self.device.there(rows))
                if self.first:
                    self.device.xp.autograd.grad(found.sum(), weights)
        except Exception as error:  # whatever a stranger's module raises
            images = "" if self.image is None else f", as images of shape {tuple(self.image)}"
            raise ValueError(f"body cannot learn from rows of {n_inputs} columns{images}: {error}") from error
        kind, shape = str(found.dtype).removeprefix("torch."), list(found.shape[1:])
        if kind != "float32" or len(shape) != 2 or shape[0] != TRIED or shape[1] < 1:
            raise ValueError(f"body must give a row of float32 for each row, got {kind} of shape {shape} for {TRIED}")
        return int(shape[1])

    def _bodies(self) -> Small:
        copies = [np.broadcast_to(one, (self.n_networks, *one.shape)).ravel() for one in self.first.values()]
        return np.concatenate([np.empty(0, np.float32), *copies])

    def drawn(self, rng: np.random.Generator) -> Small:
        """Bodies as they were handed in, and heads of their own."""
        return np.concatenate([self._bodies(), self.head.drawn(rng)])

    def room(self, n: int, dtype: npt.DTypeLike = np.float32, device: Device | None = None) -> Room:
        """Where slopes are put; PyTorch sees to the rest."""
        return Room([], [(device or self.device).there(zeros((self.n_networks, n, self.sizes[-1]), dtype))], None)

    def roomy(self, n: int) -> int:
        """Numbers that a step takes beside the weights, as far as that can be known."""
        return self.n_networks * n * self.sizes[-1] + self.dimension

    def forward(self, parameters: Any, x: Any, room: Room | None = None) -> list[Any]:
        """The scores last, E x n x outputs; with `room`, before them what `backward` needs."""
        if room is None:
            with self.device.xp.no_grad():
                return [self._scores(parameters, x)]
        with _learning(self.device.xp):
            leaf = parameters.detach().requires_grad_(True)
            scores = self._scores(leaf, x)
        return [leaf, scores, scores.detach()]

    def backward(self, parameters: Any, values: list[Any], slopes: Any, room: Room | None = None) -> Any:
        """The gradient, flat, of what has these `slopes` in the scores that `forward` gave with `room`."""
        return self.device.xp.autograd.grad(values[1], values[0], slopes)[0]

    def _scores(self, parameters: Any, x: Any) -> Any:
        return self.head.forward(parameters[self.at_head :], self._hidden(parameters, x))[-1]

    def _hidden(self, parameters: Any, x: Any) -> Any:
        """What the bodies make of the rows, E x n x width."""
        torch, at, weights = self.device.xp, 0, {}
        for name, first in self.first.items():
            end = at + self.n_networks * first.size
            weights[name] = parameters[at:end].reshape(self.n_networks, *first.shape)
            at = end
        # Copies, because a module may write into what it is given.
        fixed = {name: one.to(x.device, copy=True) for name, one in _named(self.body).items() if name not in weights}

        given = x.reshape(len(x), *self.seen)

        def one(own: Any) -> Any:
            return torch.func.functional_call(self.body, (own, fixed), (given,))

        return torch.func.vmap(one)(weights) if weights else one({}).expand(self.n_networks, -1, -1)

    def adopt(self, new: Small, before: "Modules", old: Small, places: npt.NDArray[np.int64]) -> None:
        """Fill `new` with the weights of networks whose score of action `places[i]` is that of our i, if it is any."""
        new[: self.at_head] = old[: self.at_head]
        self.head.adopt(new[self.at_head :], before.head, old[self.at_head :], places)


@contextmanager
def _learning(torch: Any) -> Iterator[None]:
    """Slopes are kept, whatever mode the caller is in."""
    with torch.inference_mode(False), torch.enable_grad():
        yield
