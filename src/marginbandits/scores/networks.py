"""Networks as scores: several multilayer perceptrons at once, as batched matrix products.

    h_0 = x,   h_i = max(h_{i-1} W_i + b_i, 0),   f(x) = h_D W + b:   a score for each action, or one for a row of K x d

`Networks` is the recipe. All E networks are one flat array: layer after layer, E weight matrices, then E biases.
Forward and backward are a dozen products of E x n x width arrays, which any library of arrays does that follows the
array API standard: NumPy's, or PyTorch's on its devices (`scores.devices`).

Where no score is beyond the margin only differences are played, so they may be taken to sum to zero at no cost, as the
paper's class has it (`surrogates.centred`). With a `norm`, the (1, ∞) group norm of every layer is kept at most that:
the sum of what enters each unit, weights and bias, in absolute value. That is the class of `theory.networks`, and
bounds scores by

    |f(x)_a| <= norm^{D+1} max(1, max_j |x_j|)   if norm >= 1.

He, Zhang, Ren & Sun (2015), "Delving deep into rectifiers", for the weights to begin with; Neyshabur, Tomioka & Srebro
(2015), "Norm-based capacity control in neural networks".

>>> import numpy as np
>>> shape = Perceptrons(n_networks=2, sizes=(3, 16, 2))
>>> parameters = shape.drawn(np.random.default_rng(0))
>>> shape.forward(parameters, np.ones((5, 3), np.float32))[-1].shape  # networks, contexts, actions
(2, 5, 2)
"""

import math
import sys
from collections.abc import Hashable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from marginbandits.saving import Part
from marginbandits.scores.devices import CPU, NAMES, Device, device
from marginbandits.settled import rules
from marginbandits.state import zeros
from marginbandits.validation import (
    Choice,
    Constraint,
    Instance,
    Integer,
    ListOf,
    OneOf,
    Real,
    quoted,
    suggestion,
    validated,
)

__all__ = ["Networks", "Perceptrons", "namespace"]

Small = npt.NDArray[np.float32]
LAST = 0.1
"""The last layer begins with weights smaller by this, so that all actions begin nearly alike."""


@runtime_checkable
class Module(Protocol):
    """What is asked of a `torch.nn.Module`."""

    def named_parameters(self) -> Any:
        """Parameters by name."""

    def named_buffers(self) -> Any:
        """What else it has, by name."""


class _Body(Constraint):
    """A module, not its class: that has the same methods."""

    def __str__(self) -> str:
        return "an instance of torch.nn.Module, or None"

    def clean(self, value: object) -> object:
        if value is None or (isinstance(value, Module) and not isinstance(value, type)):
            return value
        raise ValueError

    def bad_values(self) -> Iterator[object]:
        yield from (object(), Module)


BODY = _Body()


class Networks(Part):
    """`n_networks` perceptrons of `depth` hidden layers of `width` units, taught by replay of rounds.

    A step looks at the newest `NEWEST` rounds and at others of the last `memory`, `minibatch` together; there is one
    every `every` rounds. With `sampler="bootstrap"` each network counts each round as often as a Poisson variable of
    mean 1 says, and AdamW moves it by `rate`, with `decay`; with "langevin" or "preconditioned" all count all rounds
    alike, and stochastic gradient Langevin dynamics moves them (`oracles.ensembles`), whose noise is scaled by
    `temperature`. A `norm` bounds every layer. They compute on a `device`: "cpu" is NumPy; "torch:cpu" and "torch:cuda"
    are PyTorch's, refused where there is none. There, a `body` of the user's own, a `torch.nn.Module` from rows to
    rows, takes the place of hidden layers (`scores.modules`). Where contexts are arrays of one shape, `image` says
    which: `HingeLMC` then takes them as they are, and a body is given them in it. Where they are sparse rows, as those
    of hashed text, `bag` says how many numbers networks see of one (`scores.bags`). In the `background`, steps are made
    by a thread while rounds go on: none waits, and the same seed is no longer the same run. Costs 4 E P (3 + 3) bytes
    for P weights of each, and 4 d `memory` for the rounds.
    """

    @validated
    def __init__(
        self,
        *,
        n_networks: Annotated[int, Integer(1, 1000)] = 8,
        width: Annotated[int, Integer(1, 10_000)] = 128,
        depth: Annotated[int, Integer(0, 20)] = 2,
        minibatch: Annotated[int, Integer(1, 10**6)] = 128,
        every: Annotated[int, Integer(1, 10**6)] = 1,
        memory: Annotated[int, Integer(1, 10**7)] = 20_000,
        sampler: Annotated[str, Choice("bootstrap", "langevin", "preconditioned")] = "bootstrap",
        rate: Annotated[float, Real(above=0, high=1e6)] = 0.003,
        decay: Annotated[float, Real(0, 1)] = 1e-4,
        temperature: Annotated[float, Real(0, 1e6)] = 0.1,
        norm: Annotated[float | None, OneOf(Real(above=0, high=1e6), Instance(type(None)))] = None,
        background: Annotated[bool, Instance(bool)] = False,
        image: Annotated[Sequence[int] | None, OneOf(ListOf(Integer(1, 10**6)), Instance(type(None)))] = None,
        device: Annotated[str, Choice(*NAMES)] = "cpu",
        body: Annotated[Module | None, BODY] = None,
        bag: Annotated[int | None, OneOf(Integer(1, 10_000), Instance(type(None)))] = None,
    ) -> None:
        if body is not None and device == "cpu":
            raise ValueError("body needs device='torch:cpu' or 'torch:cuda': NumPy cannot compute a module")
        if body is not None and norm is not None:
            raise ValueError(f"norm={norm:g} is for perceptrons: what bounds the layers of a body is not known")
        if bag is not None:
            _refuse_beside_a_bag(sampler=sampler, norm=norm, background=background, image=image, device=device)
        self.n_networks = n_networks
        self.width = width
        self.depth = depth
        self.minibatch = minibatch
        self.every = every
        self.memory = memory
        self.sampler = sampler
        self.rate = rate
        self.decay = decay
        self.temperature = temperature
        self.norm = norm
        self.background = background
        self.image = image
        self.device = device
        self.bag = bag
        self._device()
        self.body = None if body is None else _taken(body)

    def __setattr__(self, name: str, value: object) -> None:
        known = rules(cast(Hashable, type(self)))
        if name[0] != "_" and name not in known:
            raise ValueError(f"Networks has no parameter {quoted(name)}{suggestion(name[:80], known)}")
        super().__setattr__(name, value)

    def as_data(self) -> dict[str, Any]:
        """The parameters as a file keeps them: of a body names, shapes and weights."""
        if self.body is None:
            return self.parameters()
        from marginbandits.scores.modules import saved

        return {**self.parameters(), "body": saved(self.body)}

    def refuse_a_bag(self) -> None:
        """Raise a ValueError if they are for sparse rows."""
        if self.bag is not None:
            raise ValueError(f"networks must have no bag here, got bag={self.bag}: sparse rows are for HingeLMC")

    def _device(self) -> Device:
        """Where they compute; refused where it is not to be had."""
        return device(self.device)

    def _shaped(self, n_inputs: int, n_outputs: int) -> Any:
        """All of them, for rows of so many columns and so many scores: `Perceptrons`, or `Modules`."""
        if self.body is not None:
            from marginbandits.scores.modules import Modules

            return Modules(self.body, self._device(), self.n_networks, n_inputs, n_outputs, self.image)
        return Perceptrons(self.n_networks, (self.bag or n_inputs, *[self.width] * self.depth, n_outputs))


def _taken(body: Module) -> Any:
    from marginbandits.scores.modules import taken

    return taken(body)


def _refuse_beside_a_bag(**given: Any) -> None:
    reasons = {
        "sampler": "a table that all share is no chain",
        "norm": "the table has no bound",
        "background": "the table moves in the round itself",
        "image": "rows are sparse",
        "device": "the table is NumPy's",
    }
    usual = {"sampler": "bootstrap", "norm": None, "background": False, "image": None, "device": "cpu"}
    for name, reason in reasons.items():
        if given[name] != usual[name]:
            raise ValueError(f"{name}={given[name]!r} is not for networks with a bag: {reason}")


class Layer(NamedTuple):
    """Views into the parameters: E x inputs x outputs, and E x 1 x outputs."""

    weights: Any
    biases: Any


class Room(NamedTuple):
    """What `forward` gives, what `backward` comes by, and the gradient, for one number of rows."""

    values: list[Any]
    slopes: list[Any]
    gradient: Any


class Perceptrons:
    """E networks of layers of these sizes, and where in one flat array each layer is."""

    exact: npt.DTypeLike = np.float64
    """The precision that scores are computed in where rows are to score as they do in a batch."""

    def __init__(self, n_networks: int, sizes: Sequence[int]) -> None:
        self.n_networks, self.sizes = n_networks, tuple(sizes)
        self.dimension = n_networks * sum((a + 1) * b for a, b in self._steps())

    def _steps(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes[:-1], self.sizes[1:], strict=True))

    def layers(self, parameters: Any) -> list[Layer]:
        """The layers, as views of a flat array."""
        xp, E, at, found = namespace(parameters), self.n_networks, 0, []
        for a, b in self._steps():
            middle, end = at + E * a * b, at + E * (a + 1) * b
            weights, biases = (
                xp.reshape(parameters[at:middle], (E, a, b)),
                xp.reshape(parameters[middle:end], (E, 1, b)),
            )
            found.append(Layer(weights, biases))
            at = end
        return found

    def drawn(self, rng: np.random.Generator) -> Small:
        """Weights of variance 2/inputs, smaller in the last layer; no biases."""
        parameters: Small = np.zeros(self.dimension, np.float32)
        layers = self.layers(parameters)
        for i, (weights, _) in enumerate(layers):
            last = LAST if i == len(layers) - 1 else 1.0
            scale = last * math.sqrt(2.0 / weights.shape[1])
            weights[...] = scale * rng.standard_normal(weights.shape, np.float32)
        return parameters

    def room(self, n: int, dtype: npt.DTypeLike = np.float32, device: Device = CPU) -> "Room":
        """Arrays to work in, for n rows: memory that is asked for anew in every step costs more than products."""
        E, widths = self.n_networks, self.sizes[1:]
        values, slopes = ([device.there(zeros((E, n, width), dtype)) for width in widths] for _ in range(2))
        return Room(values, slopes, device.there(zeros((self.dimension,), dtype)))

    def roomy(self, n: int) -> int:
        """How many numbers a `room` for n rows has."""
        return 2 * self.n_networks * n * sum(self.sizes[1:]) + self.dimension

    def forward(self, parameters: Any, x: Any, room: "Room | None" = None) -> list[Any]:
        """What each layer gives for n rows, from the rows themselves to the scores, E x n x outputs."""
        xp, layers, values = namespace(parameters), self.layers(parameters), [x]
        zero = 0 * parameters[:1]
        for i, (weights, biases) in enumerate(layers):
            into = {} if room is None else {"out": room.values[i]}
            out = xp.matmul(values[-1], weights, **into)
            out += biases
            values.append(out if i == len(layers) - 1 else xp.maximum(out, zero, **into))
        return values

    def backward(self, parameters: Any, values: list[Any], slopes: Any, room: "Room | None" = None) -> Any:
        """The gradient, flat, of what has these `slopes` (E x n x outputs) in the scores of `values`."""
        xp, layers, parts = namespace(parameters), self.layers(parameters), []
        found = [Layer({}, {}) for _ in layers]
        if room is not None:
            found = [Layer({"out": one.weights}, {"out": one.biases}) for one in self.layers(room.gradient)]
        for i in range(len(layers) - 1, -1, -1):
            biases = xp.sum(slopes, axis=-2, keepdims=True, **found[i].biases)
            weights = xp.matmul(values[i].mT, slopes, **found[i].weights)
            parts += [biases, weights]
            if i:
                slopes = xp.matmul(
                    slopes, layers[i].weights.mT, **({} if room is None else {"out": room.slopes[i - 1]})
                )
                slopes *= xp.sign(values[i])  # 0 or 1: where the unit was at work
        return xp.concat([xp.reshape(one, (-1,)) for one in parts[::-1]]) if room is None else room.gradient

    def inward(self, parameters: Any, room: "Room") -> Any:
        """What the gradient that `backward` left in `room` is in the rows, of all networks together: n x inputs."""
        xp = namespace(parameters)
        return xp.sum(xp.matmul(room.slopes[0], self.layers(parameters)[0].weights.mT), axis=0)

    def adopt(self, new: Small, before: "Perceptrons", old: Small, places: npt.NDArray[np.int64]) -> None:
        """Fill `new` with the weights of networks whose score of action `places[i]` is that of our i, if it is any."""
        kept = np.flatnonzero(places >= 0)
        pairs = list(zip(self.layers(new), before.layers(old), strict=True))
        for layer, was in pairs[:-1]:
            layer.weights[...], layer.biases[...] = was.weights, was.biases
        last, was = pairs[-1]
        last.weights[..., kept], last.biases[..., kept] = was.weights[..., places[kept]], was.biases[..., places[kept]]

    def bounded(self, parameters: Any, norm: float) -> Any:
        """Each unit's weights and bias made smaller, in place, where their absolute sum is above `norm`."""
        xp = namespace(parameters)
        for weights, biases in self.layers(parameters):
            sums = xp.sum(xp.abs(weights), axis=-2, keepdims=True) + xp.abs(biases)
            share = norm / xp.maximum(sums, 0 * sums + norm)
            weights *= share
            biases *= share
        return parameters


def namespace(array: Any) -> Any:
    """The library that an array is of: what the array says, or the module of its class (PyTorch's says nothing)."""
    if isinstance(array, np.ndarray):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]
