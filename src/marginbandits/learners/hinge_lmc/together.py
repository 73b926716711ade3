"""Learners of networks, many at once: S of them as one batched program, on a CPU or a GPU.

No chance depends on what is played: features of contexts, minibatches, how often a network counts a round, the draws of
actions. All that is made by the learners' own parts, some hundred rounds ahead (`_Ahead`). What is left of a round is
arrays of all learners at once, on the device of their networks, and nothing is waited for until these rounds are over:

    play    the largest mean + hope · deviation of the scores of E networks, S·E at once, over a floor
    learn   A⁻¹ <- A⁻¹ - ggᵀ/(1 + <z, g>),  g = A⁻¹z, of the action played;  one step of AdamW of S·E networks

It plays what each learner would alone, but for rounding. Widths come from A⁻¹ in double precision, where a learner has
its factor in single. Networks on NumPy are, bit for bit, those of the learner alone as long as the same was played; on
PyTorch the paces of AdamW are rounded otherwise, and on a GPU products add in another order. That grows with the steps
that are taken of it. From the round on where rounding decides between two actions, two runs are two draws of one law.
How many are together changes nothing on a CPU, and nothing but rounding on a GPU.

`alike` says which learners may be played together. A⁻¹ is as good as a factor only where features are about 1 in size,
so they are those that scale their rows.

>>> from marginbandits.environments import Classification
>>> from marginbandits.scores import Networks
>>> agents = [HingeLMC(2, scores=Networks(n_networks=2, width=8), seed=seed) for seed in range(3)]
>>> met = [Classification(x, x[:, 0] > 0) for x in np.random.default_rng(0).standard_normal((3, 200, 2))]
>>> runs = together(agents, met)
>>> len(runs), runs[0].laws.shape
(3, (200, 2))
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from marginbandits.contexts import Shape
from marginbandits.features import Chain, Concatenate, Fourier, Standardise
from marginbandits.learners import early
from marginbandits.learners.hinge_lmc.networks import BEYOND, RIDGE, SPREAD, WIDTH
from marginbandits.learners.hinge_lmc.practical import HingeLMC
from marginbandits.learners.hinge_lmc.stacks import of_each, stacked, stretches
from marginbandits.oracles.ensembles import FARTHEST
from marginbandits.oracles.steps import adamw_of_arrays, adamw_of_each, paced
from marginbandits.scores.networks import Perceptrons
from marginbandits.state import refuse_large
from marginbandits.surrogates import two_sided_slope
from marginbandits.types import Array

__all__ = ["Played", "alike", "together"]

AHEAD = 256
"""Rounds that are made ready at once."""
_SHARED = "n_networks", "width", "depth", "minibatch", "every", "memory", "norm", "device"
"""What networks that are played together have in common; rates and decays are each one's own."""
_LEAST = 1e-6
"""With a floor that is scaled by less, a law may be certain, and no draw is used up."""


class Fixed(Protocol):
    """What is asked of an environment: an `Oblivious` one, whose arrays were checked."""

    contexts: Any
    losses: Array


class Played(NamedTuple):
    """What a learner played; None in place of it says that its networks' numbers were no longer finite."""

    actions: npt.NDArray[np.int64]
    laws: Array


def alike(learner: object) -> tuple[object, ...] | None:
    """What must be equal of learners that are played together; None of one that is to be played alone."""
    if type(learner) is not HingeLMC or learner.scores is None:
        return None
    recipe = learner.scores
    pace = recipe.sampler == "bootstrap" and not recipe.background
    plain = recipe.body is None and recipe.bag is None and recipe.image is None and learner.actions is None
    new = learner._map is None and learner._scale is None and learner.window is None
    first = min(recipe.memory, AHEAD) >= learner.EARLY and learner.smoothing >= _LEAST
    if not (pace and plain and new and first and _scaled(learner.features)):
        return None
    own = learner.n_actions, learner.surrogate, learner.EARLY, repr(learner.features)
    return *own, *(getattr(recipe, name) for name in _SHARED)


def _scaled(features: object) -> bool:
    """Whether rows are about 1 in size, whatever comes."""
    if isinstance(features, Chain):
        return _scaled(features.maps[-1])
    if isinstance(features, Concatenate):
        return all(map(_scaled, features.maps))
    return isinstance(features, str | Standardise | Fourier)


def together(
    learners: Sequence[object],
    environments: Sequence[Fixed],
    progress: Callable[[int], object] | None = None,
) -> list[Played | None]:
    """Play learners that are `alike`, each in an environment of its own; all have as many rounds and columns.

    `progress` is told how many rounds more all have played. The learners are used up: what they learn stays here.
    """
    own = [one for one in learners if isinstance(one, HingeLMC)]
    if not own or len(own) < len(learners) or len({alike(one) for one in own}) != 1 or alike(own[0]) is None:
        raise ValueError("learners must be alike to be played together, and new")
    if len(set(map(id, own))) < len(own):
        raise ValueError("learners must be one object each to be played together")
    if len(environments) != len(own):
        raise ValueError(f"{len(own)} learners need as many environments, got {len(environments)}")
    contexts, losses = [one.contexts for one in environments], [one.losses for one in environments]
    for x, y in zip(contexts, losses, strict=True):
        if x.shape != contexts[0].shape or x.ndim != 2 or y.shape[1] != own[0].n_actions:
            wanted = f"as many rounds, vectors as wide, and {own[0].n_actions} actions"
            raise ValueError(f"environments must all have {wanted}, got shapes {x.shape} and {y.shape}")
    with own[0].scores._device().working():  # type: ignore[union-attr]  # `alike` saw it
        return _played(own, contexts, losses, progress)


def _played(
    own: Sequence[HingeLMC],
    contexts: Sequence[Array],
    losses: Sequence[Array],
    progress: Callable[[int], object] | None,
) -> list[Played | None]:
    n_rounds, n_actions = losses[0].shape
    ahead = [_Ahead(learner, rows) for learner, rows in zip(own, contexts, strict=True)]
    program = _Program(own, ahead, n_rounds)
    actions, laws = np.empty((n_rounds, len(ahead)), np.int64), np.empty((n_rounds, len(ahead), n_actions))
    finite = np.ones(len(ahead), bool)
    chunks = [slice(first, min(first + AHEAD, n_rounds)) for first in range(0, n_rounds, AHEAD)]
    coming = [one.rounds(chunks[0]) for one in ahead]
    for some, then in zip(chunks, [*chunks[1:], None], strict=True):
        program.prepare(coming, np.stack([one[some] for one in losses], 1))
        with np.errstate(all="ignore"):  # what is no longer finite is found below, whatever the device
            for t in range(some.start, some.stop):
                program.play(t, [one.anew[t] for one in ahead] if t in ahead[0].anew else None)
            if then is not None:  # while a GPU still plays
                coming = [one.rounds(then) for one in ahead]
            finite &= program.finite()
        actions[some], laws[some] = program.played(some.stop - some.start)
        finite &= np.isfinite(laws[some]).all((0, 2))
        if progress is not None:
            progress(some.stop - some.start)
    return [Played(actions[:, s], laws[:, s]) if finite[s] else None for s in range(len(ahead))]


class _Coming(NamedTuple):
    """Of some hundred rounds, round by round: all that does not depend on what is played."""

    seen: Any  # features when the learner acts
    rows: Any  # and when it learns
    counted: Any
    chosen: Any
    draws: Any
    place: Any
    learnt: Any  # how many rounds it has learnt: 0 only in the first
    pace: Any  # of the step, if there is one, and the scale of its squares
    steps: list[bool]


class _Ahead:
    """What a learner's own parts say of rounds to come: its features, its networks' chance, its draws."""

    def __init__(self, learner: HingeLMC, rows: Array) -> None:
        learner._journal.begin()
        learner._start(Shape(False, rows.shape[1]))
        assert learner._map is not None
        assert learner._networks is not None
        assert learner._early is not None
        self.learner, self.given, self.map, self.ensemble = learner, rows, learner._map, learner._networks.ensemble
        self.most = min(learner.EARLY, len(learner._early.rows))  # wide rows are fewer
        self.anew: dict[int, Array] = {}

    def rounds(self, some: slice) -> _Coming:
        """These rounds, which follow those that were asked for before."""
        n, told, d = some.stop - some.start, self.ensemble, self.map.n_outputs
        seen, rows = np.empty((n, d)), np.empty((n, d))
        counted, chosen = np.empty((n, told.recipe.n_networks), np.float32), np.zeros((n, told.recipe.minibatch), int)
        place, learnt, pace, steps = np.empty(n, np.int64), np.empty(n), np.ones((n, 2), np.float32), []
        for i, t in enumerate(range(some.start, some.stop)):
            row = self.given[t : t + 1]
            seen[i], rows[i] = self.map.transform(row)[0], self.map.observe(row)[0]
            if early.FIRST <= t + 1 <= self.most and (t + 1) & t == 0:
                self.anew[t] = self.map.transform(self.given[:t])
            place[i], learnt[i] = told.place, t
            counted[i], looked_at = told.counted_elsewhere()
            steps.append(looked_at is not None)
            if looked_at is not None:
                chosen[i] = looked_at
                told.stepped_elsewhere()
                pace[i] = paced(1.0, 0.0, told.steps)[:2]
        return _Coming(seen, rows, counted, chosen, self.learner._draws.random(n), place, learnt, pace, steps)


class _Program:
    """The arrays of all learners on their device, and a round of them."""

    def __init__(self, learners: Sequence[HingeLMC], ahead: Sequence[_Ahead], n_rounds: int) -> None:
        first, S = ahead[0].ensemble, len(learners)
        recipe, self.device = first.recipe, first._device
        E, K, d = recipe.n_networks, learners[0].n_actions, ahead[0].map.n_outputs
        self.recipe, self.surrogate, self.S, self.E, self.K, self.d = recipe, learners[0].surrogate, S, E, K, d
        shape = self.shape = Perceptrons(E * S, first.shape.sizes)
        kept, P = min(n_rounds, len(first.rows)), shape.dimension
        widths = S * K * d * d + K * d * (3 * d + AHEAD)  # a learner's at a time when they are made anew
        size = 4 * (8 * P + shape.roomy(recipe.minibatch)) + 8 * (2 * widths + S * AHEAD * (2 * d + 3 * K))
        size += 4 * S * (kept * (d + E + 4) + AHEAD * 2 * recipe.minibatch)
        refuse_large(f"{S} learners at once" if S > 1 else "a learner", size)
        self.device.refuse(size)
        there, xp = self.device.there, self.device.xp
        self._scale = first._scale
        self.parameters = there(stacked(shape, [one.ensemble for one in ahead]))
        self.adam = there(np.zeros((2, P), np.float32))
        own = [one.ensemble.recipe for one in ahead]
        self.rates, self.decays = np.array([one.rate for one in own]), np.array([one.decay for one in own])
        self.steps, self.spare = 0, (np.zeros(0, np.float32), np.zeros((2, 0), np.float32))
        if self.device.name == "cpu":  # as a learner alone does it
            self.stretches, self.spare = stretches(shape, S), (np.zeros(P, np.float32), np.zeros((2, P), np.float32))
        else:
            rate, decay = of_each(shape, S, self.rates), of_each(shape, S, self.decays)
            self.rate, self.lost = there(rate), there(rate * decay)
        numbers = np.array([(one.margin, one.hope, one.smoothing) for one in learners])
        self.margin, self.hope, self.smoothing = (there(np.ascontiguousarray(one[:, None])) for one in numbers.T)
        self.margins = there(np.repeat(numbers[:, :1].astype(np.float32), E, 0))
        self.inverse = there(np.tile(np.eye(d) / RIDGE, (S, K, 1, 1)))
        self.rows, self.lanes = there(np.zeros((S, kept, d), np.float32)), there(np.arange(S))
        self.actions, self.losses = there(np.zeros((S, kept), np.int64)), there(np.zeros((S, kept), np.float32))
        self.counted = there(np.zeros((S, kept, E), np.float32))
        self.own = there(np.arange(S * E)[:, None]), there(np.arange(recipe.minibatch)[None])
        self.at, self.room = there(np.zeros(1, np.int64)), shape.room(recipe.minibatch, device=self.device)
        self.out_actions, self.out_laws = there(np.zeros((AHEAD, S), np.int64)), there(np.zeros((AHEAD, S, K)))
        self.now: _Coming | None = None
        self.table: Any = None
        self.xp = xp
        self._repeated: dict[bool, Callable[[], object]] = {}

    def prepare(self, coming: list[_Coming], losses: Array) -> None:
        """The rounds that are played next, and the losses of all their actions, rounds x learners x actions."""
        arrays = [np.stack([one[i] for one in coming], 1) for i in range(5)]  # the rest is the same for all
        arrays += [np.asarray(one) for one in coming[0][5:8]]
        if self.now is None:
            whole = [np.zeros((AHEAD, *one.shape[1:]), one.dtype) for one in (*arrays, losses)]
            *held, self.table = map(self.device.there, whole)
            self.now = _Coming._make([*held, []])
        self.now = self.now._replace(steps=coming[0].steps)
        n = len(losses)
        for to, new in zip((*self.now[:8], self.table), (*arrays, losses), strict=True):
            to[:n] = self.device.there(np.ascontiguousarray(new))
        self.at[...] = 0

    def play(self, t: int, anew: list[Array] | None) -> None:
        """The next round; `anew` are the rows of all rounds before, in the scales of today, when it is time."""
        assert self.now is not None
        step = self.now.steps[t % AHEAD]
        if t < AHEAD:  # what is learnt anew, and what a device makes ready when it is first asked for, is in these
            self._act()
            if anew is not None:
                self._anew(np.stack(anew))
            self._learn(step)
            return
        if step not in self._repeated:
            self._repeated[step] = self.device.repeated(lambda: self._round(step))
        self._repeated[step]()

    def played(self, n: int) -> tuple[npt.NDArray[np.int64], Array]:
        """Actions and laws of the rounds that were prepared last."""
        here = self.device.here
        return here(self.out_actions)[:n], here(self.out_laws)[:n]

    def finite(self) -> npt.NDArray[np.bool_]:
        """Of each learner whether its networks' numbers are; squares that were once too large stay so."""
        found = np.zeros(self.S)
        for kept in (self.parameters, *self.adam):
            for layer in self.shape.layers(kept):
                for one in layer:
                    found += self.device.here(one.reshape(self.S, -1).sum(-1))
        return np.isfinite(found)

    def _round(self, step: bool) -> None:
        self._act()
        self._learn(step)

    def _act(self) -> None:
        """Scores, widths, laws, and an action of each learner."""
        xp, now, at, S, E, K = self.xp, self.now, self.at, self.S, self.E, self.K
        assert now is not None
        z = now.seen[at][0]
        x = xp.repeat_interleave(self._small(z), E, 0) if xp is not np else np.repeat(self._small(z), E, 0)
        scores = self.shape.forward(self.parameters, x[:, None])[-1].reshape(S, E, K)
        scores = self._double(scores)
        margin = self.margin[:, None]
        counts = xp.minimum(xp.maximum(scores, -margin), margin) + BEYOND * scores
        mean = counts.mean(1)
        deviation = xp.sqrt(((counts - mean[:, None]) ** 2).mean(1))
        variance = (xp.matmul(self.inverse, z[:, None, :, None])[..., 0] * z[:, None]).sum(-1)
        width = WIDTH * self.margin * xp.sqrt(xp.maximum(variance, 0 * variance))
        hopeful = (mean + self.hope * (SPREAD * deviation + width)) * (now.learnt[at] > 0)  # first: all are equals
        best = self._double(hopeful == xp.amax(hopeful, -1, keepdims=True))
        floor = self.smoothing / (K * xp.sqrt(now.learnt[at] + (now.learnt[at] < 1)))
        floor = xp.where(floor > 1.0 / K, 0 * floor + 1.0 / K, floor)
        law = (1.0 - K * floor) * best / best.sum(-1, keepdims=True) + floor
        below = xp.cumsum(law, -1)
        action = (below <= now.draws[at][0][:, None] * below[:, -1:]).sum(-1)
        self.action = xp.where(action < K, action, 0 * action + K - 1)
        self.out_actions[at], self.out_laws[at] = self.action[None], law[None]

    def _learn(self, step: bool) -> None:
        """The round into what is kept of each learner, and a step of all networks, if it is time."""
        now, at, lanes, action = self.now, self.at, self.lanes, self.action
        assert now is not None
        z, place = now.rows[at][0], now.place[at]
        block = self.inverse[lanes, action]
        gain = self.xp.matmul(block, z[..., None])
        self.inverse[lanes, action] = block - gain * gain.mT / (1.0 + (gain[..., 0] * z).sum(-1))[:, None, None]
        self.rows[:, place], self.actions[:, place] = self._small(z)[:, None], action[:, None]
        self.losses[:, place] = self._single(self.table[at][0][lanes, action])[:, None]
        self.counted[:, place] = now.counted[at][0][:, None]
        if step:
            self._step(now.chosen[at][0], now.pace[at][0])
        self.at += 1

    def _step(self, chosen: Any, pace: Any) -> None:
        """One step of AdamW on rounds of each learner's own."""
        S, E, lanes, n = self.S, self.E, self.lanes[:, None], self.recipe.minibatch
        x, wanted = self._of_all(self.rows[lanes, chosen]), self._of_all(self.actions[lanes, chosen])
        values = self.shape.forward(self.parameters, x, self.room)
        own = (*self.own, wanted)
        lost = self._of_all(self.losses[lanes, chosen])
        slopes = two_sided_slope(self.surrogate, values[-1][own], lost, self.margins, self.xp)
        slopes = slopes * self.counted[lanes, chosen].mT.reshape(S * E, n)
        spread = self.room.slopes[-1]
        spread[...] = 0.0
        spread[own] = slopes / n
        gradient = self.shape.backward(self.parameters, values, spread, self.room)
        now = self.parameters, self.adam
        if self.device.name == "cpu":
            self.steps += 1
            h, wide, lost = paced(self.rates, self.decays, self.steps)
            adamw_of_each(*now, gradient, h, wide, lost, self.stretches, *self.spare)
            (self.parameters, self.adam), self.spare = self.spare, now
        else:
            adamw_of_arrays(*now, gradient, self.rate * pace[0], pace[1], self.lost, *now)
        if self.recipe.norm is not None:
            self.shape.bounded(self.parameters, self.recipe.norm)

    def _anew(self, rows: Array) -> None:
        """All rounds so far in the scales of today: those kept, and A of every action."""
        t, there, xp = rows.shape[1], self.device.there, self.xp
        self.rows[:, :t] = self._small(there(rows))
        for s, own in enumerate(rows):  # one at a time: of all together this would take several times their widths
            z = there(own)
            played = self._double(self.actions[s, :t, None] == there(np.arange(self.K)))
            sums = xp.matmul((played.mT[..., None] * z).mT, z)
            self.inverse[s] = xp.linalg.inv(sums + there(RIDGE * np.eye(self.d)))

    def _small(self, z: Any) -> Any:
        """As networks see features."""
        return self._single(self.xp.clip(z * self._scale, -FARTHEST, FARTHEST))

    def _of_all(self, of_each: Any) -> Any:
        """S x ... as S·E x ...: the same for each network of a learner."""
        there = self.xp.broadcast_to(of_each[:, None], (self.S, self.E, *of_each.shape[1:]))
        return there.reshape(self.S * self.E, *of_each.shape[1:])

    def _single(self, array: Any) -> Any:
        return array.astype(np.float32) if self.xp is np else array.to(self.xp.float32)

    def _double(self, array: Any) -> Any:
        return array.astype(float) if self.xp is np else array.to(self.xp.float64)
