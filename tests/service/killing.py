"""Load, kills, and what must hold of the journal that is left.

Every client asks for decisions with ids of its own, and rewards each with a key; what was not answered when the service
was killed is asked again, word for word, of the next.
"""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from typing import Any, Protocol

import msgspec

from marginbandits.service.journal import DECISION, REWARD, START, Journal, unbroken
from marginbandits.service.loop import Loop, answer, read, rebuilt
from marginbandits.service.records import Decided, decode
from marginbandits.service.replay import verified
from marginbandits.service.serving import opened
from tests.service.child import Child, Line

__all__ = ["Asking", "Load", "check", "checked", "killed"]

ACTIONS = ["hat", "shoe", "coat"]


class Asking(Protocol):
    """A connection: what is asked becomes an answer, or an OSError."""

    def ask(self, what: dict[str, Any]) -> Any:
        """The answer."""
        ...


class Load:
    """Clients that go on from service to service; `answered` says that the present one has answered.

    A reward is `repeated` if it was on disk when its service was killed, and nobody had been told.
    """

    def __init__(self, seed: int, clients: int = 4) -> None:
        self.decisions: dict[str, Any] = {}
        self.rewards: dict[str, float] = {}
        self.errors = self.repeated = 0
        self.answered = threading.Event()
        self._waiting: list[dict[str, Any] | None] = [None] * clients
        self._asked = [0] * clients
        self._rngs = [random.Random(f"{seed}-{k}") for k in range(clients)]
        self._lock = threading.Lock()

    def run(self, connected: Callable[[], AbstractContextManager[Asking]], end: Callable[[], None]) -> None:
        """Ask until `end`, which kills the service, has come back and all connections are gone."""
        ended = threading.Event()
        self.answered.clear()
        threads = [threading.Thread(target=self._client, args=(k, connected, ended)) for k in range(len(self._waiting))]
        for thread in threads:
            thread.start()
        end()
        ended.set()
        for thread in threads:
            thread.join()

    def _client(self, k: int, connected: Callable[[], AbstractContextManager[Asking]], ended: threading.Event) -> None:
        try:
            with connected() as line:
                while not ended.is_set():
                    asked = self._waiting[k] = self._waiting[k] or self._next(k)
                    told = line.ask(asked)
                    if "error" in told:  # it may be in the journal or not, as if there had been no answer
                        self.errors += 1
                        time.sleep(0.02)
                        continue
                    self._waiting[k] = None
                    self._keep(asked, told)
        except OSError:
            return

    def _next(self, k: int) -> dict[str, Any]:
        n, rng = self._asked[k], self._rngs[k]
        self._asked[k] += 1
        if n % 2:
            return {"kind": "reward", "event_id": f"{k}-{n - 1}", "value": rng.random(), "key": f"{k}-{n}"}
        context = {"likes": rng.choice(ACTIONS), "age": rng.random()}
        return {"kind": "decide", "context": context, "actions": ACTIONS, "event_id": f"{k}-{n}"}

    def _keep(self, asked: dict[str, Any], told: Any) -> None:
        with self._lock:
            if asked["kind"] == "decide":
                self.decisions[asked["event_id"]] = told
            else:
                self.rewards[asked["key"]] = asked["value"]
                self.repeated += told["status"] == "repeated"
        self.answered.set()


def killed(where: str, seed: int, kills: int, processes: int = 1) -> Load:
    """A service under load is killed so often, at random moments; what was asked of it, if all holds.

    Where it has several processes, the others go on without the one that is killed, which is replaced; but at every
    tenth time, before the journal is looked at, all are killed at once.
    """
    rng, load, children, learnt = random.Random(seed), Load(seed), list[Child](), 0
    for kill in range(kills):
        children += [Child(where) for _ in range(processes - len(children))]
        looks = kill % 10 == 0 or kill == kills - 1
        doomed = children[:] if looks else [rng.choice(children)]
        ports = itertools.cycle([child.port for child in children])

        def end(doomed: list[Child] = doomed) -> None:
            if rng.random() < 0.8:  # else it may be killed before anything is answered
                load.answered.wait(60)
            time.sleep(rng.uniform(0.005, 0.3))
            for child in doomed:
                child.kill()

        load.run(lambda ports=ports: Line(next(ports)), end)  # type: ignore[misc]
        children = [child for child in children if child not in doomed]
        learnt = checked(where, load) if looks else learnt
    assert len(load.decisions) > 3 * kills
    assert len(load.rewards) > 3 * kills
    assert load.errors == 0 or processes > 1
    assert learnt > kills
    return load


def checked(where: str, load: Load) -> int:
    """`check` of the journal that is there."""
    with closing(opened(where, serving=False)) as journal:
        return check(journal, load)


def check(journal: Journal, load: Load) -> int:
    """Nothing acknowledged is lost or there twice, the chain holds, the model is the journal's: how much it has learnt.

    The journal is verified, too, as `replay --verify` does: every law and draw, and what was kept, to the last byte.
    """
    before, last = START, 0
    decided, rewarded = Counter[str](), Counter[str | None]()
    for entry in read(journal):
        assert unbroken(before, entry), f"entry {entry.seq} should follow {last}"
        assert entry.body is not None
        before, last = entry.sha256, entry.seq
        if entry.kind == DECISION:
            decided[entry.id] += 1
            if entry.id in load.decisions:
                told = answer(entry.id, decode(Decided, entry.body))
                assert msgspec.to_builtins(told) == load.decisions[entry.id], "it is what was told"
        elif entry.kind == REWARD:
            rewarded[entry.key] += 1
            key = (entry.key or "").removeprefix("reward:")
            if key in load.rewards:
                assert msgspec.json.decode(entry.body) == {"value": load.rewards[key]}, "its value is what was told"
    assert set(load.decisions) <= set(decided), "no acknowledged decision is lost"
    assert {f"reward:{key}" for key in load.rewards} <= set(rewarded), "no acknowledged reward is lost"
    assert max((*decided.values(), *rewarded.values()), default=1) == 1, "nothing is there twice"
    assert len(decided) <= len(load.decisions) + 4, "but what was not answered, one of each client"
    loop = Loop("shop", journal.fact("secret/shop") or b"")
    loop.restore(journal, journal.fact("checkpoint/shop"))
    whole = rebuilt("shop", loop.model.policy, journal, last)
    assert loop.model.dumps() == whole.dumps(), "the model is a function of the journal"
    assert (loop.model.learnt, loop.model.skipped) == (whole.learnt, whole.skipped)
    verdict = verified(journal)
    assert verdict.faults == []
    assert verdict.decisions == verdict.laws == len(decided)
    assert ("shop" in verdict.models) == (journal.fact("checkpoint/shop") is not None)
    return whole.learnt
