"""A user's own `torch.nn.Module` as the body of networks: an ensemble of copies of it, each with a linear head.

    f_e(x) = body(x; θ_e) W_e + b_e,   e = 1 … E:   a score for each action, or one for a row of K x d

All copies are computed at once, by `torch.func.functional_call` and `vmap`, and all their weights are one flat array:
parameter after parameter, in the body's order, E of each; then the heads (`scores.networks.Perceptrons`). So ensembles
learn, keep and save them as they do perceptrons. PyTorch itself is reached through `scores.devices`.

Bodies begin as they were handed in, so that what is pretrained is kept; heads are drawn, and with the bootstrap are
what makes copies differ. A body is asked as in evaluation: dropout does nothing, and buffers (the statistics of batch
normalisation) stay what they were.

Files hold weights, and names and shapes of the body (`outline`), never its code: who loads one hands the body in again.
"""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.scores.devices import Device
from marginbandits.scores.networks import Perceptrons, Room
from marginbandits.state import zeros
from marginbandits.validation import quoted

__all__ = ["Modules", "like", "outline"]

Small = npt.NDArray[np.float32]


def outline(body: Any) -> dict[str, list[int]]:
    """Names and shapes of what a body is made of, parameters and then buffers."""
    return {name: list(one.shape) for name, one in (*body.named_parameters(), *body.named_buffers())}


def like(body: Any, saved: Mapping[str, Any]) -> Any:
    """The body, if it is made as the one that was saved."""
    if body is None:
        raise ValueError("it was saved with a body of its own: hand it in again, load(…, body=module)")
    ours = outline(body)
    if list(ours) != list(saved):
        raise ValueError(f"body must have the parameters {quoted(list(saved))}, got {quoted(list(ours))}")
    for name, shape in ours.items():
        if shape != saved[name]:
            raise ValueError(f"body must have {name} of shape {quoted(saved[name])}, got {shape}")
    return body


class Modules:
    """E copies of a body for rows of so many columns, and where in one flat array the parameters of each are."""

    def __init__(self, body: Any, device: Device, n_networks: int, n_inputs: int, n_outputs: int) -> None:
        self.device, self.n_networks, self.sizes = device, n_networks, (n_inputs, n_outputs)
        self.body = copy.deepcopy(body).eval().to("cpu").float()
        self.first = {name: device.here(one).copy() for name, one in self.body.named_parameters()}
        try:
            found = tuple(self.body(device.xp.zeros(2, n_inputs)).shape)
        except Exception as error:  # whatever a stranger's module raises
            raise ValueError(f"body cannot take rows of {n_inputs} columns: {error}") from error
        if len(found) != 2 or found[0] != 2:
            raise ValueError(f"body must give a row for each row, got shape {found} for two")
        self.head = Perceptrons(n_networks, (found[1], n_outputs))
        self.at_head = n_networks * sum(one.size for one in self.first.values())
        self.dimension = self.at_head + self.head.dimension

    def drawn(self, rng: np.random.Generator) -> Small:
        """Bodies as they were handed in, and heads of their own."""
        copies = [np.broadcast_to(one, (self.n_networks, *one.shape)).ravel() for one in self.first.values()]
        return np.concatenate([*copies, self.head.drawn(rng)]).astype(np.float32)

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
        leaf = parameters.detach().requires_grad_(True)
        scores = self._scores(leaf, x)
        return [leaf, scores, scores.detach()]

    def backward(self, parameters: Any, values: list[Any], slopes: Any, room: Room | None = None) -> Any:
        """The gradient, flat, of what has these `slopes` in the scores that `forward` gave with `room`."""
        return self.device.xp.autograd.grad(values[1], values[0], slopes)[0]

    def _scores(self, parameters: Any, x: Any) -> Any:
        torch, at, weights = self.device.xp, 0, {}
        for name, first in self.first.items():
            end = at + self.n_networks * first.size
            weights[name] = parameters[at:end].reshape(self.n_networks, *first.shape)
            at = end
        buffers = {
            name: one.to(parameters.device, parameters.dtype if one.is_floating_point() else one.dtype)
            for name, one in self.body.named_buffers()
        }

        def one(own: Any) -> Any:
            return torch.func.functional_call(self.body, (own, buffers), (x,))

        hidden = torch.func.vmap(one)(weights) if weights else self.body(x).expand(self.n_networks, -1, -1)
        return self.head.forward(parameters[at:], hidden)[-1]

    def adopt(self, new: Small, before: "Modules", old: Small, places: npt.NDArray[np.int64]) -> None:
        """Fill `new` with the weights of networks whose score of action `places[i]` is that of our i, if it is any."""
        new[: self.at_head] = old[: self.at_head]
        self.head.adopt(new[self.at_head :], before.head, old[self.at_head :], places)
