"""What every learner promises of its state: laws draw nothing, rounds are learnt whole; files, masks, threads."""

import copy
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from marginbandits.checks.common import expect, refuses, same_arrays
from marginbandits.checks.rounds import Build, D, K, any_number_of_rows, laws_of, learner_check, snapshot, stream, train
from marginbandits.types import Decision, Learner

__all__: list[str] = ["a_failed_round_changes_nothing"]


@learner_check
def save_load_continue(build: Build) -> None:
    """A learner saved and loaded, fresh or trained, continues bit for bit as if nothing had happened."""
    with tempfile.TemporaryDirectory() as folder:
        for matrix in (False, True):
            for trained in (0, 60):
                one = build(seed=np.random.default_rng(3))
                train(one, trained, matrix=matrix)
                path = Path(folder) / "agent.npz"
                one.save(path)
                two = getattr(type(one), "load")(path)  # noqa: B009  # not of the protocol: a class method
                expect(same_arrays(one.state(), two.state()), "the loaded state differs")
                more = [train(agent, 60, matrix=matrix, seed=1) for agent in (one, two)]
                expect((more[0] == more[1]).all(), "the continued runs differ")
                expect(same_arrays(one.state(), two.state()), "the continued states differ")


@learner_check
def copies_go_on_alike(build: Build) -> None:
    """A copy goes on bit for bit as what it was made of, and apart from it: on vectors, sparse rows and names."""
    layouts: list[Callable[[Any], Any]] = [lambda x: x, lambda x: sparse.csr_array(x[None])]
    if getattr(build(), "takes_names", True):
        layouts.append(lambda x: {f"x{i}": float(value) for i, value in enumerate(x)})
    for layout in layouts:
        one = build()
        rounds = [(layout(context), losses) for context, losses in stream(60)]
        _play(one, rounds[:40])
        two = copy.deepcopy(one)
        for agent in (one, two):
            _play(agent, rounds[40:])
        expect(same_arrays(one.state(), two.state()), "a copy learns otherwise than what it was made of")
        ahead = [agent.law(rounds[0][0]) for agent in (one, two, getattr(type(one), "loads")(two.dumps()))]  # noqa: B009  # as above
        expect(all(np.array_equal(law, ahead[0]) for law in ahead), "a copy, or its file, plays otherwise")


def _play(agent: Learner, rounds: Sequence[tuple[Any, Any]]) -> None:
    for context, losses in rounds:
        decision = agent.act(context)
        agent.learn(context, decision, losses[decision.action])


@learner_check
def batches_equal_single_rounds(build: Build) -> None:
    """`act_many` and `learn_many` do what `act` and `learn` do one by one; a bad row refuses the whole batch."""
    for matrix in (False, True):
        one, two = build(), build()
        train(one, 20, matrix=matrix)
        train(two, 20, matrix=matrix)
        contexts, losses = zip(*stream(15, matrix=matrix, seed=4), strict=True)
        single = [one.act(context) for context in contexts]
        batch = two.act_many(np.array(contexts))
        expect([d.action for d in single] == [d.action for d in batch], "act_many differs from act")
        costs = [loss[d.action] for loss, d in zip(losses, single, strict=True)]
        for context, decision, cost in zip(contexts, single, costs, strict=True):
            one.learn(context, decision, cost)
        two.learn_many(np.array(contexts), batch, costs)
        expect(same_arrays(one.state(), two.state()), "learn_many differs from learn")
        _masked_batch(one, two, matrix=matrix)
        spoilt = np.array(contexts)
        spoilt[-1] = np.nan
        refuses("context", np.nan, two.learn_many, spoilt, batch, costs)
        expect(same_arrays(one.state(), two.state()), "a refused batch changed what was learnt")


def _masked_batch(one: Learner, two: Learner, *, matrix: bool) -> None:
    """Two equal learners: one plays and learns under masks one by one, the other all at once, and from rewards."""
    contexts, losses = zip(*stream(12, matrix=matrix, seed=7), strict=True)
    masks = [np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0]], bool)[t % 4] for t in range(12)]
    alone = [one.law(context, available=mask) for context, mask in zip(contexts, masks, strict=True)]
    expect(np.array_equal(two.laws(np.array(contexts), available=masks), alone), "laws differ from law under masks")
    single = [one.act(context, available=mask) for context, mask in zip(contexts, masks, strict=True)]
    batch = two.act_many(np.array(contexts), available=masks)
    for first, second, law, mask in zip(single, batch, alone, masks, strict=True):
        expect(bool(mask[first.action]), "act played an action that is not available")
        expect(first.probability == law[first.action], "under a mask, probability must be that of the action")
        expect(np.array_equal(np.array(first.distribution), law), "under a mask, act must draw from the law")
        expect(first.action == second.action, "act_many differs from act under masks")
        expect(np.array_equal(np.array(second.distribution), law), "act_many must draw from the laws under masks")
    costs = [float(loss[decision.action]) for loss, decision in zip(losses, single, strict=True)]
    for context, decision, cost, mask in zip(contexts, single, costs, masks, strict=True):
        one.learn(context, decision, cost, available=mask)
    two.learn_many(np.array(contexts), batch, rewards=[1.0 - cost for cost in costs], available=masks)
    expect(same_arrays(one.state(), two.state()), "learn_many differs from learn under masks, or from rewards")


@learner_check
def runs_equal_rounds(build: Build) -> None:
    """A run in compiled code, where there is any, is bit for bit what its rounds are one by one, draws included.

    It begins once no more rounds are learnt anew.
    """
    one, two = build(), build()
    if not hasattr(two, "_run"):
        return
    first = max(1, getattr(two, "EARLY", 0)) if hasattr(two, "_compiled") else 1
    train(one, first)
    train(two, first)
    contexts, losses = map(np.array, zip(*stream(150, seed=6), strict=True))
    actions, probabilities, laws, done = np.empty(150, np.int64), np.empty(150), np.empty((150, K)), list[None]()
    if not two._run(0, contexts, losses, actions, probabilities, laws, lambda: done.append(None)):
        return
    expect(len(done) == 150, f"a run of 150 rounds told of {len(done)}")
    for t, (context, loss) in enumerate(zip(contexts, losses, strict=True)):
        decision = one.act(context)
        one.learn(context, decision, loss[decision.action])
        same = decision.action == actions[t] and decision.probability == probabilities[t]
        expect(same and np.array_equal(np.array(decision.distribution), laws[t]), f"round {t} of a run differs")
    expect(same_arrays(one.state(), two.state()), "a run has learnt something else than its rounds")
    again = [train(agent, 30, seed=7) for agent in (one, two)]
    expect((again[0] == again[1]).all(), "after a run, draws differ")


@learner_check
def unavailable_actions_are_not_played(build: Build) -> None:
    """A masked action has probability exactly 0, and the rest is a distribution."""
    for matrix in (False, True):
        for trained in (0, 40):
            agent = build()
            train(agent, trained, matrix=matrix)
            for context, _ in stream(5, matrix=matrix, seed=3):
                for mask in np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0]], bool):
                    law = agent.law(context, available=mask)
                    expect((law[~mask] == 0).all() and abs(law.sum() - 1) < 1e-9, f"law {law} under mask {mask}")


@learner_check
def laws_draw_nothing(build: Build) -> None:
    """`law` and `laws` say what `act` draws from, in any number at a time, bit for bit, and leave no trace."""
    for matrix in (False, True):
        for trained in (0, 50):
            one, two = build(), build()
            train(one, trained, matrix=matrix)
            train(two, trained, matrix=matrix)
            contexts = [context for context, _ in stream(12, matrix=matrix, seed=5)]
            before = snapshot(one)
            laws = np.array(one.laws(np.array(contexts)))
            expect(np.array_equal(laws, [one.law(context) for context in contexts]), "laws must be each context's law")
            expect(np.array_equal(one.laws(contexts[:1]), laws[:1]), "a batch of one must give the same law")
            expect(same_arrays(before, one.state()), "asking for laws changed what was learnt")
            for context, law in zip(contexts, laws, strict=True):
                first, second = one.act(context), two.act(context)
                expect(first.action == second.action, "asking for laws changed later draws")
                expect(np.array_equal(np.array(first.distribution), law), "act must draw from the law")


@learner_check
def a_failed_round_changes_nothing(build: Build) -> None:
    """Whatever fails inside `learn` or `learn_many`, at its very end, the learner is as before and goes on alike."""
    for matrix in (False, True):
        for trained in (0, 1, 40):
            one, two = build(), build()
            train(one, trained, matrix=matrix)
            train(two, trained, matrix=matrix)
            contexts, losses = zip(*stream(6, matrix=matrix, seed=8), strict=True)
            before = snapshot(one)
            for n in (1, 6):
                with _failing(one, n // 2):
                    decisions, costs = [Decision(0, 0.5)] * n, [float(loss[0]) for loss in losses[:n]]
                    try:
                        one.learn_many(list(contexts[:n]), decisions, costs)
                    except _InjectedError:
                        pass
                    else:
                        raise AssertionError("an error inside learn must reach the caller")
            expect(same_arrays(before, one.state()), f"a failed round changed what was learnt (after {trained} rounds)")
            again = [train(agent, 30, matrix=matrix, seed=9) for agent in (one, two)]
            expect((again[0] == again[1]).all(), "a failed round changed what came after")
            expect(same_arrays(one.state(), two.state()), "a failed round changed what was learnt after it")


class _InjectedError(Exception):
    """Stands for anything that can go wrong."""


@contextmanager
def _failing(agent: Learner, after: int) -> Iterator[None]:
    """While this lasts, every round but the first so many fails after everything was done.

    In compiled code nothing can fail: there it does before anything was done.
    """
    inner: Any = agent
    update, left, compiled = inner._update, [after], getattr(inner, "_swift", None)

    def fails(*args: object) -> None:
        update(*args)
        left[0] -= 1
        if left[0] < 0:
            raise _InjectedError

    class Failing:
        count, reads_names = np.zeros(1, np.int64), False

        def learn_all(self, *args: object) -> None:
            raise _InjectedError

        learn = learn_all

    hasten, made = inner._hasten, Failing()

    def hastened() -> None:
        hasten()
        inner._swift = made if inner._swift is not None else None

    inner._update, inner._hasten = fails, hastened
    if compiled is not None:
        inner._swift = made
    try:
        yield
    finally:
        del inner._update, inner._hasten
        inner._swift = compiled


@learner_check
def masked_rows_reach_nothing(build: Build) -> None:
    """Rows of actions that are not available, whatever they hold, change no law and nothing that is learnt."""
    rng = np.random.default_rng(6)
    one, two = build(), build()
    for context, losses in stream(40, matrix=True):
        mask, other = np.array([True, False, True]), context.copy()
        other[1] = 1e3 * rng.standard_normal(D)
        action = int(rng.choice([0, 2]))
        law = one.law(context, available=mask)
        expect(np.array_equal(law, two.law(other, available=mask)), "what a masked row holds changed the law")
        for agent, x in ((one, context), (two, other)):
            agent.learn(x, Decision(action, 1 / K), losses[action], available=mask)
    expect(same_arrays(one.state(), two.state()), "what a masked row holds changed what was learnt")
    if not any_number_of_rows(one):
        return
    one, two = build(), build()
    for context, losses in stream(40, matrix=True):
        padded = np.insert(context, [1, 3], 1e6 * rng.standard_normal((2, D)), axis=0)
        mask = np.array([True, False, True, True, False])
        action = int(rng.integers(K))
        law = two.law(padded, available=mask)
        expect(np.array_equal(law[mask], one.law(context)) and not law[~mask].any(), "a masked row changed the law")
        one.learn(context, Decision(action, 1 / K), losses[action])
        two.learn(padded, Decision([0, 2, 3][action], 1 / K), losses[action], available=mask)
    expect(same_arrays(one.state(), two.state()), "a masked row changed what was learnt")


@learner_check
def rows_may_come_and_go(build: Build) -> None:
    """K x d contexts may have another number of rows in every round, one at a time or many; else they are refused."""
    agent = build()
    rng = np.random.default_rng(4)
    if not any_number_of_rows(agent):
        refuses("context", None, agent.act, np.ones((K + 2, D)))
        return
    for t in range(60):
        context = 10.0 * rng.standard_normal((1 + t % 6, D))
        decision = agent.act(context)
        law = agent.law(context)
        expect(law.shape == (len(context),) and abs(law.sum() - 1.0) < 1e-9, f"law {law} of {len(context)} rows")
        agent.learn(context, decision, float(rng.random()))
    ragged = [10.0 * rng.standard_normal((n, D)) for n in (2, 5, 3)]
    for context, law in zip(ragged, agent.laws(ragged), strict=True):
        expect(np.array_equal(law, agent.law(context)), "laws of contexts of different sizes must be each one's law")


@learner_check
def threads_share_one_learner(build: Build) -> None:
    """Rounds learnt by four threads at a time, from the very first on, are all counted, and nothing breaks."""
    agent, twin = build(), build()
    rounds = list(stream(80))
    train(twin, 80)

    def some(part: int) -> None:
        for context, losses in rounds[part::4]:
            decision = agent.act(context)
            agent.learn(context, decision, losses[decision.action])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(some, range(4)))
    expect(_counts(agent) == _counts(twin), "rounds were lost between threads")
    expect(np.isfinite(laws_of(agent)).all(), "laws must stay finite")


def _counts(agent: Learner) -> dict[str, float]:
    """What counts rounds, whichever they were: the rows that scaling has seen."""
    return {name: float(a[-1, 0]) for name, a in agent.state().items() if name.endswith("moments")}
