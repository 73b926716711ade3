"""What every learner promises. `check_learner` runs all of it; a class may exempt itself only with a written reason.

Statistical checks have fixed seeds; the error rate of each is stated beside it (a correct learner fails that rarely
over the choice of seed), and each is proved by a negative control in the tests.
"""

import copy
import math
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, stats

from marginbandits.checks.common import check_parameters, expect, refuses, same_arrays
from marginbandits.types import Array, Decision
from marginbandits.validation import validated

__all__ = ["LEARNER_CHECKS", "check_learner"]

K, D = 3, 4
Build = Callable[..., Any]

LEARNER_CHECKS: dict[str, Callable[[Build], None]] = {}
"""Every check by name."""


@validated
def check_learner(learner: Build, **arguments: object) -> None:
    """Check a learner class (or any function of `n_actions` and `seed` that builds one) against the contract.

    `arguments` go to every construction. Raises an AssertionError that names the check and what went wrong.
    """

    def build(**more: object) -> Any:
        return learner(**{"n_actions": K, "seed": 0, **arguments, **more})

    exempt = getattr(build(), "exempt", {})
    for name, reason in exempt.items():
        expect(name in LEARNER_CHECKS, f"exempt names an unknown check {name!r}")
        expect(reason.strip(), f"the exemption from {name!r} needs a reason")
    for name, check in LEARNER_CHECKS.items():
        if name not in exempt:
            try:
                check(build)
            except Exception as error:  # whatever a learner raises here breaks the contract
                title = getattr(learner, "__name__", repr(learner))
                raise AssertionError(f"{title} breaks {name!r}: {error}") from error


def _check(function: Callable[[Build], None]) -> Callable[[Build], None]:
    LEARNER_CHECKS[function.__name__] = function
    return function


def _stream(n: int, *, matrix: bool = False, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """An easy problem: contexts of uneven scale and offset, the label the best of K linear scores, in the same span."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((K, D))
    for _ in range(n):
        x = rng.standard_normal((K, D) if matrix else D)
        scores = x @ weights[0] if matrix else weights @ x
        context = 10.0 * x + 5.0
        yield context, (np.arange(K) != scores.argmax()).astype(float)


def _train(agent: Any, n: int, *, matrix: bool = False, seed: int = 0) -> Array:
    """Play n rounds; return the losses."""
    out = []
    for context, losses in _stream(n, matrix=matrix, seed=seed):
        decision = agent.act(context)
        agent.learn(context, decision, losses[decision.action])
        out.append(losses[decision.action])
    return np.array(out)


def _laws(agent: Any, *, matrix: bool = False, seed: int = 99) -> Array:
    return np.array([agent.act(context).distribution for context, _ in _stream(10, matrix=matrix, seed=seed)])


def _snapshot(agent: Any) -> Any:
    return copy.deepcopy(agent.state())


@_check
def bad_parameters(build: Build) -> None:
    """Every bad value of every declared parameter is refused by name."""
    agent = build()
    valid = agent.parameters()
    check_parameters(type(agent), {**valid, "seed": 0} if "seed" in valid else valid)


@_check
def bad_inputs(build: Build) -> None:
    """Bad contexts, decisions, losses and masks are refused by name, and nothing learnt changes."""
    for trained in (0, 30):
        agent = build()
        _train(agent, trained)
        before = _snapshot(agent)
        x, good = np.ones(D), Decision(0, 0.5)
        contexts = ["red", np.full(D, np.nan), [1.0, np.inf, 1.0, 1.0], np.full(D, -1e300), np.ones((1, 1, D)), []]
        for bad in [*contexts, *([np.ones(D + 1), np.ones((K, D))] if trained else [np.ones((K + 1, D))])]:
            refuses("context", bad, agent.act, bad)
            refuses("context", bad, agent.learn, bad, good, 0.5)
            refuses("context", bad, agent.act_many, [bad])
            refuses("context", bad, agent.learn_many, [bad], [good], [0.5])
        refuses("context", None, agent.act, 3.0)
        for bad in (-0.1, 1.1, math.nan, math.inf, "low", [0.5]):
            refuses("loss", bad, agent.learn, x, good, bad)
            refuses("reward", bad, agent.learn, x, good, reward=bad)
            refuses("loss", bad, agent.learn_many, [x, x], [good, good], [0.5, bad])
        refuses("loss", None, agent.learn, x, good)
        refuses("loss", 0.5, agent.learn, x, good, 0.5, reward=0.5)
        for bad in (-1, K, 0.5, "0", True, None):
            refuses("action", bad, agent.learn, x, Decision(bad, 0.5), 0.5)  # type: ignore[arg-type]  # on purpose
        for bad in (0.0, -0.5, 1.5, math.nan, "half", None):
            refuses("probability", bad, agent.learn, x, Decision(0, bad), 0.5)  # type: ignore[arg-type]  # on purpose
        refuses("decision", 0, agent.learn, x, 0, 0.5)
        refuses("decisions", None, agent.learn_many, [x, x], [good], [0.5, 0.5])
        for bad in ([True] * (K + 1), [0, 1, 2], [False] * K, "all"):
            refuses("available", bad, agent.act, x, available=bad)
        expect(same_arrays(before, agent.state()), f"refused input changed what was learnt (after {trained} rounds)")


@_check
def act_learns_nothing(build: Build) -> None:
    """Acting, on any context, changes no learnt state."""
    for trained in (0, 50):
        agent = build()
        _train(agent, trained)
        before = _snapshot(agent)
        _laws(agent)
        agent.act(np.full(D, 1e12))
        expect(same_arrays(before, agent.state()), f"act changed what was learnt (after {trained} rounds)")


@_check
def probabilities_are_exact(build: Build) -> None:
    """Distributions are distributions, and actions come up as often as they say (error rate 1e-6 per learner)."""
    tests = 0
    for matrix in (False, True):
        for trained in (0, 20, 120):
            agent = build()
            _train(agent, trained, matrix=matrix)
            context, _ = next(_stream(1, matrix=matrix, seed=7))
            expected, counts = np.zeros(K), np.zeros(K)
            fixed = agent.act(context).distribution
            for _ in range(600):
                decision = agent.act(context)
                law = decision.distribution
                expect(np.array_equal(law, fixed), "the law must depend on nothing but the context and what was learnt")
                expect(law.shape == (K,) and (law >= 0).all(), f"distribution must be K non-negative numbers: {law}")
                expect(abs(law.sum() - 1.0) < 1e-9, f"distribution must sum to 1: {law}")
                expect(decision.probability == law[decision.action], "probability must be that of the action")
                expected += law
                counts[decision.action] += 1
            tests += 1
            likely = expected > 0
            expect(counts[~likely].sum() == 0, "an action of probability 0 was played")
            if likely.sum() > 1:
                p = stats.chisquare(counts[likely], expected[likely] * counts.sum() / expected[likely].sum()).pvalue
                expect(p > 1e-6 / 6, f"frequencies {counts / 600} do not match probabilities {expected / 600}")
    expect(tests == 6, "every setting must have been tested")


@_check
def same_seed_same_run(build: Build) -> None:
    """Two learners of one seed do the same, bit for bit."""
    for matrix in (False, True):
        one, two = build(seed=5), build(seed=5)
        expect((_train(one, 80, matrix=matrix) == _train(two, 80, matrix=matrix)).all(), "losses differ")
        expect(same_arrays(one.state(), two.state()), "states differ")


@_check
def save_load_continue(build: Build) -> None:
    """A learner saved and loaded, fresh or trained, continues bit for bit as if nothing had happened."""
    with tempfile.TemporaryDirectory() as folder:
        for matrix in (False, True):
            for trained in (0, 60):
                one = build(seed=np.random.default_rng(3))
                _train(one, trained, matrix=matrix)
                path = Path(folder) / "agent.npz"
                one.save(path)
                two = type(one).load(path)
                expect(same_arrays(one.state(), two.state()), "the loaded state differs")
                more = [_train(agent, 60, matrix=matrix, seed=1) for agent in (one, two)]
                expect((more[0] == more[1]).all(), "the continued runs differ")
                expect(same_arrays(one.state(), two.state()), "the continued states differ")


@_check
def relabelling_permutes_the_law(build: Build) -> None:
    """Renaming the actions renames the law and nothing else, on average over seeds (error rate 1e-8 if random)."""
    order = np.array([2, 0, 1])  # new name of each action
    for matrix in (False, True):
        gap = []
        for seed in range(8):
            one, two = build(seed=seed), build(seed=100 + seed)
            rng = np.random.default_rng(seed)
            for context, losses in _stream(60, matrix=matrix):
                action = int(rng.integers(K))
                renamed = context[np.argsort(order)] if matrix else context
                one.learn(context, Decision(action, 1 / K), losses[action])
                two.learn(renamed, Decision(int(order[action]), 1 / K), losses[action])
            for context, _ in _stream(10, matrix=matrix, seed=99):
                renamed = context[np.argsort(order)] if matrix else context
                law = two.act(renamed).distribution
                gap.append(one.act(context).distribution - law[order])
        gaps = np.array(gap).reshape(8, 10, K)
        spread = gaps.mean(1).std(0, ddof=1) / math.sqrt(8)
        allowed = 1e-9 + stats.t.ppf(1 - 1e-8, 7) * spread
        expect((np.abs(gaps.mean((0, 1))) <= allowed).all(), f"the law moved by {gaps.mean((0, 1))} under renaming")


@_check
def finite_on_extreme_contexts(build: Build) -> None:
    """Zero, huge and tiny contexts leave every law finite and the learner able to learn."""
    for matrix in (False, True):
        shape = (K, D) if matrix else (D,)
        for scales in ((0.0,), (1e12,), (1e-12,), (1.0, 1e90, 0.0, 1e-90, 1e12)):
            agent = build()
            rng = np.random.default_rng(0)
            for t in range(40):
                context = scales[t % len(scales)] * rng.standard_normal(shape)
                decision = agent.act(context)
                law = decision.distribution
                expect(np.isfinite(law).all() and abs(law.sum() - 1) < 1e-9, f"law {law} at scale {scales}")
                agent.learn(context, decision, float(rng.random()))
            finite = all(np.isfinite(array).all() for array in agent.state().values())
            expect(finite, f"the state is not finite after contexts of scale {scales}")


@_check
def any_order_and_delay(build: Build) -> None:
    """Feedback may come late, shuffled, from a log, as loss or as reward, dense or sparse."""
    agent = build()
    waiting = []
    for context, losses in _stream(60):
        decision = agent.act(context)
        waiting.append((context, decision, losses[decision.action]))
    for i in np.random.default_rng(0).permutation(60):
        context, decision, loss = waiting[i]
        agent.learn(context, Decision(decision.action, decision.probability), loss)
    expect(np.isfinite(_laws(agent)).all(), "laws must stay finite")
    one, two = build(), build()
    for context, decision, loss in waiting:
        one.learn(context, decision, loss)
        two.learn(sparse.csr_array(context[None]), decision, reward=1.0 - loss)
    expect(same_arrays(one.state(), two.state()), "a reward must teach what 1 - loss teaches, sparse or dense")


@_check
def batches_equal_single_rounds(build: Build) -> None:
    """`act_many` and `learn_many` do what `act` and `learn` do one by one; a bad row refuses the whole batch."""
    for matrix in (False, True):
        one, two = build(), build()
        _train(one, 20, matrix=matrix)
        _train(two, 20, matrix=matrix)
        contexts, losses = zip(*_stream(15, matrix=matrix, seed=4), strict=True)
        single = [one.act(context) for context in contexts]
        batch = two.act_many(np.array(contexts))
        expect([d.action for d in single] == [d.action for d in batch], "act_many differs from act")
        costs = [loss[d.action] for loss, d in zip(losses, single, strict=True)]
        for context, decision, cost in zip(contexts, single, costs, strict=True):
            one.learn(context, decision, cost)
        two.learn_many(np.array(contexts), batch, costs)
        expect(same_arrays(one.state(), two.state()), "learn_many differs from learn")
        spoilt = np.array(contexts)
        spoilt[-1] = np.nan
        refuses("context", np.nan, two.learn_many, spoilt, batch, costs)
        expect(same_arrays(one.state(), two.state()), "a refused batch changed what was learnt")


@_check
def unavailable_actions_are_not_played(build: Build) -> None:
    """A masked action has probability exactly 0, and the rest is a distribution."""
    for matrix in (False, True):
        for trained in (0, 40):
            agent = build()
            _train(agent, trained, matrix=matrix)
            for context, _ in _stream(5, matrix=matrix, seed=3):
                for mask in np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0]], bool):
                    law = agent.act(context, available=mask).distribution
                    expect((law[~mask] == 0).all() and abs(law.sum() - 1) < 1e-9, f"law {law} under mask {mask}")


@_check
def memory_does_not_grow(build: Build) -> None:
    """After 300 rounds the state has its final size, by its own arrays and by the interpreter's count."""
    agent = build()
    _train(agent, 300)
    size = sum(array.nbytes for array in agent.state().values())
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    _train(agent, 600, seed=1)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    expect(size == sum(array.nbytes for array in agent.state().values()), "the state's arrays grew")
    expect(grown < 32_768, f"{grown} bytes were kept over 600 rounds")


@_check
def better_than_uniform(build: Build) -> None:
    """On an easy stream the mean loss of the second half is below uniform's by six standard errors (rate 1e-9)."""
    for matrix in (False, True):
        losses = _train(build(), 600, matrix=matrix)[300:]
        limit = (1 - 1 / K) - 6 * math.sqrt((1 / K) * (1 - 1 / K) / len(losses))
        expect(losses.mean() < limit, f"mean loss {losses.mean():.3f} is not below {limit:.3f}")
