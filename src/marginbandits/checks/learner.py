"""What every learner promises. `check_learner` runs all of it; a class may exempt itself only with a written reason.

Statistical checks have fixed seeds; the error rate of each is stated beside it (a correct learner fails that rarely
over the choice of seed), and each is proved by a negative control in the tests.
"""

import math
import tracemalloc
from typing import Any

import numpy as np
from scipy import sparse, stats

from marginbandits.checks import parameters, whole
from marginbandits.checks.common import check_parameters, expect, refuses, same_arrays
from marginbandits.checks.rounds import (
    LEARNER_CHECKS,
    Build,
    D,
    K,
    any_number_of_rows,
    laws_of,
    learner_check,
    snapshot,
    stream,
    train,
)
from marginbandits.types import Decision, Learner
from marginbandits.validation import validated

__all__ = ["check_learner"]


@validated
def check_learner(learner: Build, **arguments: object) -> dict[str, str]:
    """Check a learner class (or any function of `n_actions` and `seed` that builds one) against the contract.

    `arguments` go to every construction. Raises an AssertionError that names the check and what went wrong. Returns
    the checks that were skipped because the class exempts itself, each with its reason.
    """

    def build(**more: object) -> Learner:
        return learner(**{"n_actions": K, "seed": 0, **arguments, **more})

    exempt: dict[str, str] = getattr(build(), "exempt", {})
    for one in (whole.a_failed_round_changes_nothing, parameters.parameters_are_settled_or_obeyed):
        assert one.__name__ in LEARNER_CHECKS  # importing them puts them on the list
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
    return dict(exempt)


DRAWS = 600
"""Of each law, to be compared with it."""


@learner_check
def bad_parameters(build: Build) -> None:
    """Every bad value of every declared parameter is refused by name."""
    agent = build()
    valid = agent.parameters()
    check_parameters(type(agent), {**valid, "seed": 0} if "seed" in valid else valid)


@learner_check
def bad_inputs(build: Build) -> None:
    """Bad contexts, decisions, losses and masks are refused by name, and nothing learnt changes."""
    for trained in (0, 30):
        agent = build()
        train(agent, trained)
        before = snapshot(agent)
        x, good = np.ones(D), Decision(0, 0.5)
        contexts: list[Any] = [
            "red",
            np.full(D, np.nan),
            [1.0, np.inf, 1.0, 1.0],
            np.full(D, -1e300),
            np.ones((1, 1, D)),
            [],
        ]
        wide: list[Any] = [np.ones(D + 1), np.ones((K, D))] if trained else []
        bad: Any
        for bad in [*contexts, *wide, *([] if trained or any_number_of_rows(agent) else [np.ones((K + 1, D))])]:
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
            refuses("action", bad, agent.learn, x, Decision(bad, 0.5), 0.5)
        for bad in (0.0, -0.5, 1.5, math.nan, "half", None):
            refuses("probability", bad, agent.learn, x, Decision(0, bad), 0.5)
        refuses("decision", 0, agent.learn, x, 0, 0.5)
        refuses("decisions", None, agent.learn_many, [x, x], [good], [0.5, 0.5])
        for bad in ([True] * (K + 1), [0, 1, 2], [False] * K, "all"):
            refuses("available", bad, agent.act, x, available=bad)
            refuses("available", bad, agent.law, x, available=bad)
            refuses("available", bad, agent.learn, x, good, 0.5, available=bad)
        refuses("action", None, agent.learn, x, good, 0.5, available=[False, *[True] * (K - 1)])
        expect(same_arrays(before, agent.state()), f"refused input changed what was learnt (after {trained} rounds)")


@learner_check
def act_learns_nothing(build: Build) -> None:
    """Acting, on any context, changes no learnt state."""
    for trained in (0, 50):
        agent = build()
        train(agent, trained)
        before = snapshot(agent)
        laws_of(agent)
        agent.act(np.full(D, 1e12))
        expect(same_arrays(before, agent.state()), f"act changed what was learnt (after {trained} rounds)")


@learner_check
def probabilities_are_exact(build: Build) -> None:
    """Distributions are distributions, and actions come up as often as they say (error rate 1e-6 per learner)."""
    tests = 0
    for matrix in (False, True):
        for trained, mask in ((0, None), (20, None), (120, None), (120, np.array([True, False, True]))):
            agent = build()
            train(agent, trained, matrix=matrix)
            context, _ = next(stream(1, matrix=matrix, seed=7))
            counts = np.zeros(K)
            fixed = agent.law(context, available=mask)
            expect(fixed.shape == (K,) and (fixed >= 0).all(), f"distribution must be K non-negative numbers: {fixed}")
            expect(abs(fixed.sum() - 1.0) < 1e-9, f"distribution must sum to 1: {fixed}")
            for _ in range(DRAWS):
                decision = agent.act(context, available=mask)
                law = decision.distribution
                if law is None:
                    raise AssertionError("decisions must carry their law")
                expect(np.array_equal(law, fixed), "the law must depend on nothing but the context and what was learnt")
                expect(decision.probability == law[decision.action], "probability must be that of the action")
                counts[decision.action] += 1
            tests += 1
            likely = fixed > 0
            expect(counts[~likely].sum() == 0, "an action of probability 0 was played")
            if likely.sum() > 1:
                p = stats.chisquare(counts[likely], fixed[likely] * counts.sum() / fixed[likely].sum()).pvalue
                expect(p > 1e-6 / 8, f"frequencies {counts / DRAWS} do not match probabilities {fixed}")
    expect(tests == 8, "every setting must have been tested")


@learner_check
def same_seed_same_run(build: Build) -> None:
    """Two learners of one seed do the same, bit for bit."""
    for matrix in (False, True):
        one, two = build(seed=5), build(seed=5)
        expect((train(one, 80, matrix=matrix) == train(two, 80, matrix=matrix)).all(), "losses differ")
        expect(same_arrays(one.state(), two.state()), "states differ")


@learner_check
def relabelling_permutes_the_law(build: Build) -> None:
    """Renaming the actions renames the law and nothing else, on average over seeds (error rate 1e-8 if random)."""
    order = np.array([2, 0, 1])  # new name of each action
    for matrix in (False, True):
        gap = []
        for seed in range(8):
            one, two = build(seed=seed), build(seed=100 + seed)
            rng = np.random.default_rng(seed)
            for context, losses in stream(60, matrix=matrix):
                action = int(rng.integers(K))
                renamed = context[np.argsort(order)] if matrix else context
                one.learn(context, Decision(action, 1 / K), losses[action])
                two.learn(renamed, Decision(int(order[action]), 1 / K), losses[action])
            for context, _ in stream(10, matrix=matrix, seed=99):
                renamed = context[np.argsort(order)] if matrix else context
                gap.append(one.law(context) - two.law(renamed)[order])
        gaps = np.array(gap).reshape(8, 10, K)
        spread = gaps.mean(1).std(0, ddof=1) / math.sqrt(8)
        allowed = 1e-9 + stats.t.ppf(1 - 1e-8, 7) * spread
        expect((np.abs(gaps.mean((0, 1))) <= allowed).all(), f"the law moved by {gaps.mean((0, 1))} under renaming")


@learner_check
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
                law = agent.law(context)
                expect(np.isfinite(law).all() and abs(law.sum() - 1) < 1e-9, f"law {law} at scale {scales}")
                agent.learn(context, decision, float(rng.random()))
            finite = all(np.isfinite(array).all() for array in agent.state().values())
            expect(finite, f"the state is not finite after contexts of scale {scales}")


@learner_check
def any_order_and_delay(build: Build) -> None:
    """Feedback may come late, shuffled, from a log, as loss or as reward, dense or sparse."""
    agent = build()
    waiting = []
    for context, losses in stream(60):
        decision = agent.act(context)
        waiting.append((context, decision, losses[decision.action]))
    for i in np.random.default_rng(0).permutation(60):
        context, decision, loss = waiting[i]
        agent.learn(context, Decision(decision.action, decision.probability), loss)
    expect(np.isfinite(laws_of(agent)).all(), "laws must stay finite")
    one, two, three = build(), build(), build()
    for context, decision, loss in waiting:
        one.learn(context, decision, loss)
        two.learn(context, decision, reward=1.0 - loss)
        three.learn(sparse.csr_array(context[None]), decision, loss)
    expect(same_arrays(one.state(), two.state()), "a reward must teach what 1 - loss teaches")
    if getattr(one, "takes_sparse", False) and getattr(one, "sparse_from", 1) == 1:  # scaled and kept in their own way
        found = np.array([three.law(sparse.csr_array(context[None])) for context, _, _ in waiting])
        expect(np.isfinite(found).all() and np.allclose(found.sum(1), 1.0), "laws of sparse rows must stay laws")
    else:
        expect(same_arrays(one.state(), three.state()), "sparse rows must teach what dense ones teach")


@learner_check
def memory_does_not_grow(build: Build) -> None:
    """After 300 rounds the state has its final size, by its own arrays and by the interpreter's count."""
    agent = build()
    train(agent, 300)
    size = sum(array.nbytes for array in agent.state().values())
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    train(agent, 600, seed=1)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    expect(size == sum(array.nbytes for array in agent.state().values()), "the state's arrays grew")
    expect(grown < 32_768, f"{grown} bytes were kept over 600 rounds")


@learner_check
def better_than_uniform(build: Build) -> None:
    """On an easy stream the mean loss of the second half is below uniform's by six standard errors (rate 1e-9)."""
    for matrix in (False, True):
        losses = train(build(), 600, matrix=matrix)[300:]
        limit = (1 - 1 / K) - 6 * math.sqrt((1 / K) * (1 - 1 / K) / len(losses))
        expect(losses.mean() < limit, f"mean loss {losses.mean():.3f} is not below {limit:.3f}")
