"""What every oracle promises: a leader of finite scores, the same for the same rounds, and no worse than its start.

An oracle says by `exempt` which of these checks it is not made for, each with a reason, as learners do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from marginbandits.checks.common import check_parameters, expect, same_arrays
from marginbandits.oracles.leader import LinearLeader
from marginbandits.surrogates import centred
from marginbandits.types import Array, Leader, Oracle, Surrogate
from marginbandits.validation import validated

__all__ = ["check_oracle"]

Build = Callable[[], Oracle]
CLOSE = 1e-3
"""How near, relatively, two answers to one question must be where no certificate says better."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rounds:
    """What an oracle is asked about: rows of norm at most 1, blocks, losses, weights; and what it starts from."""

    rows: Array
    blocks: npt.NDArray[np.int64]
    losses: Array
    weights: Array
    start: Array

    def ask(self, oracle: Oracle) -> Leader:
        return oracle.fit(self.rows, self.blocks, self.losses, self.weights, self.start)

    def scores(self, leader: Leader) -> Array:
        """As learners use them: those of one context sum to zero."""
        scores = np.asarray(leader.scores(self.rows), float)
        return centred(scores) if self.start.shape[0] > 1 else scores

    def cost(self, leader: Leader, surrogate: Surrogate) -> float:
        """Σ weight·ℓ·(surrogate of the played action's score)."""
        values = surrogate(self.scores(leader))[np.arange(len(self.rows)), self.blocks]
        return float((self.weights * self.losses) @ values)


@validated
def check_oracle(oracle: Callable[..., Any], surrogate: Surrogate | None = None, /, **arguments: Any) -> dict[str, str]:
    """Check an oracle class, built with `arguments`; `surrogate` is what it minimises, if that is all it does.

    Raises an AssertionError that names the check. Returns those that were skipped, each with its reason.

    >>> from marginbandits.oracles.hinge_erm import HingeERM
    >>> from marginbandits.surrogates import Hinge
    >>> check_oracle(HingeERM, Hinge(0.5), margin=0.5)
    {}
    """

    def build() -> Oracle:
        made = oracle(**arguments)
        expect(isinstance(made, Oracle), "it must have a method `fit`")
        return made  # type: ignore[no-any-return]  # a class of the user's

    check_parameters(oracle, arguments)
    skipped: dict[str, str] = dict(getattr(build(), "exempt", {}))
    for name, reason in skipped.items():
        expect(name in _CHECKS, f"exempt names an unknown check {name!r}")
        expect(reason.strip(), f"the exemption from {name!r} needs a reason")
    for name, check in _CHECKS.items():
        if name not in skipped:
            try:
                impossible = check(build, surrogate)
            except Exception as error:  # whatever an oracle raises here breaks the contract
                raise AssertionError(f"{getattr(oracle, '__name__', oracle)!s} breaks {name!r}: {error}") from error
            if impossible:
                skipped[name] = impossible
    return skipped


def _problem(n: int, n_blocks: int, seed: int) -> _Rounds:
    """Played at random; an action loses in proportion to its own linear score, or not at all."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 3))
    rows /= 1e-9 + np.linalg.norm(rows, axis=1, keepdims=True)
    blocks = rng.integers(n_blocks, size=n)
    gain = (rows * rng.standard_normal((n_blocks, 3))[blocks]).sum(1)
    losses = np.clip(0.5 + gain, 0.0, 1.0) * (rng.random(n) < 0.8)
    return _Rounds(rows, blocks, losses, rng.integers(1, 6, n).astype(float), np.zeros((n_blocks, 3)))


def _answers(build: Build, rounds: _Rounds) -> None:
    given = {name: np.array(getattr(rounds, name)) for name in ("rows", "blocks", "losses", "weights", "start")}
    used = build()
    leader: object = rounds.ask(used)
    expect(same_arrays(given, {name: getattr(rounds, name) for name in given}), "it must not change what it is given")
    if not isinstance(leader, Leader):
        raise AssertionError(f"a leader must have scores, got {leader!r}")
    probe = np.concatenate([rounds.rows, _problem(4, 1, 9).rows, np.zeros((1, 3))])
    scores, wanted = np.asarray(leader.scores(probe)), (len(probe), len(rounds.start))
    expect(scores.shape == wanted, f"scores must be rows x blocks, {wanted}, got {scores.shape}")
    expect(np.isfinite(scores).all(), "scores must be finite")
    one_by_one = np.concatenate([leader.scores(row[None]) for row in probe])
    expect(np.allclose(scores, one_by_one, rtol=1e-9, atol=1e-9), "rows must score as the batch does")
    _problem(7, len(rounds.start), 5).ask(used)
    for again in (used, build()):
        same = np.array_equal(scores, np.asarray(rounds.ask(again).scores(probe)))
        expect(same, "the same rounds must give the same leader, whatever it was asked before")


def vector_contexts(build: Build, surrogate: Surrogate | None) -> str | None:
    """A block for each action: many rounds, one, one action only, nothing lost, equal rounds."""
    many = _problem(30, 3, 0)
    _answers(build, many)
    _answers(build, _problem(1, 3, 1))
    _answers(build, replace(many, blocks=np.zeros_like(many.blocks)))
    _answers(build, replace(many, losses=np.zeros_like(many.losses)))
    _answers(build, replace(many, rows=np.tile(many.rows[:1], (30, 1))))
    _answers(build, replace(many, weights=1e4 * many.weights))
    return None


def shared_contexts(build: Build, surrogate: Surrogate | None) -> str | None:
    """One block for all actions, whose rows are x_a - x̄."""
    _answers(build, _problem(30, 1, 2))
    _answers(build, _problem(1, 1, 3))
    return None


def better_than_its_start(build: Build, surrogate: Surrogate | None) -> str | None:
    """It costs no more than what it starts from, and less than liking all actions alike where that can be."""
    if surrogate is None:
        return "no surrogate was given to judge by"
    for seed in range(3):
        rounds = _problem(40, 3, seed)
        leader = rounds.ask(build())
        cost, nothing = rounds.cost(leader, surrogate), rounds.cost(LinearLeader(rounds.start), surrogate)
        expect(cost < nothing, f"it must find something better than nothing: {cost} against {nothing}")
        for other in (_problem(40, 3, seed + 10), replace(rounds, weights=rounds.weights[::-1].copy())):
            found = other.ask(build())
            if isinstance(found, LinearLeader):
                started = replace(rounds, start=found.weights).ask(build())
                best, ours = rounds.cost(found, surrogate), rounds.cost(started, surrogate)
                expect(ours <= best + 1e-9 * nothing, f"it must cost no more than its start: {ours} against {best}")
    return None


def weights_count_like_repetitions(build: Build, surrogate: Surrogate | None) -> str | None:
    """A round of weight 3 is that round three times, in any order."""
    if surrogate is None:
        return "no surrogate was given to judge by"
    for seed in range(3):
        rounds = _problem(25, 3, seed)
        leader, rng = rounds.ask(build()), np.random.default_rng(seed)
        at = rng.permutation(np.repeat(np.arange(25), rounds.weights.astype(int)))
        repeated = _Rounds(rounds.rows[at], rounds.blocks[at], rounds.losses[at], np.ones(len(at)), rounds.start)
        found = repeated.ask(build())
        one, other = rounds.cost(leader, surrogate), rounds.cost(found, surrogate)
        allowed = min(_gap(leader) + _gap(found), CLOSE * max(one, other)) + 1e-9
        expect(abs(one - other) <= allowed, f"weighted rounds cost {one}, the same repeated {other}")
    return None


def certificates_hold(build: Build, surrogate: Surrogate | None) -> str | None:
    """Where a leader has a value and a gap, the value is its cost, and no leader it ever finds is lower by more."""
    if surrogate is None:
        return "no surrogate was given to judge by"
    rounds = _problem(40, 3, 4)
    oracle = build()
    if not math.isfinite(_gap(rounds.ask(oracle))):
        return "its leaders have no gap"
    rng = np.random.default_rng(0)
    rivals = [replace(rounds, weights=rounds.weights * rng.uniform(0.5, 2.0, 40)).ask(oracle) for _ in range(4)]
    starts = [rival.weights for rival in rivals if isinstance(rival, LinearLeader)]
    found = [replace(rounds, start=start).ask(oracle) for start in (rounds.start, *starts)]
    least = min(rounds.cost(rival, surrogate) for rival in (*rivals, *found))
    for leader in found:
        cost, value = rounds.cost(leader, surrogate), float(getattr(leader, "value", math.nan))
        expect(abs(value - cost) <= 1e-6 * cost, f"the value must be what it costs: {value} against {cost}")
        expect(_gap(leader) >= 0.0, f"the gap must not be negative: {_gap(leader)}")
        expect(value - _gap(leader) <= least * (1 + 1e-9), f"a gap of {_gap(leader)}, yet {least} is below {value}")
    return None


def _gap(leader: Leader) -> float:
    return float(getattr(leader, "gap", math.inf))


_CHECKS: dict[str, Callable[[Build, Surrogate | None], str | None]] = {
    check.__name__: check
    for check in (
        vector_contexts,
        shared_contexts,
        better_than_its_start,
        certificates_hold,
        weights_count_like_repetitions,
    )
}
