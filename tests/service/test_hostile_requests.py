"""Hostile requests, most of them with a right key and for what is there: refused, telling nothing, writing nothing."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marginbandits.service import app
from marginbandits.service.door import json_answer, problem
from marginbandits.service.journal import REWARD, Draft
from marginbandits.service.keys import Keys
from marginbandits.service.records import Settings
from tests.service.hostile import NOTHING, PATH, QUERY, Reached, drawn, sent
from tests.service.leaks import leaked
from tests.service.made import Shop, web
from tests.service.test_straight import Line

REFUSED = {400, 401, 403, 404, 405, 409, 413}
BODIES = {
    *("requests.Ask", "requests.Reward", "requests.Activate", "requests.Candidate", "app.SetLoop", "app.Back"),
    *("app.Evaluate", "app.Erase", "ranks.Rank", "operations.Reward", "configuration.Configuration"),
    *("policies.Contract", "evaluations.EvaluationContract", "judgements.Reference"),
}
"""All that reads bodies, by both interfaces."""


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    """One with events, open and closed, and an evaluation."""
    made = opened(Settings(window=60, exploration=0.2))
    made.play(20, unit=True)
    made.decide(event_id="e1")
    times = {"startTime": "2020-01-01T00:00:00Z", "endTime": "2030-01-01T00:00:00Z"}
    put = web(made).put("/personalizer/evaluations/made?api-version=2022-09-01-preview", json={"name": "n", **times})
    assert put.status_code == 200, put.text
    return made


def attacked(shop: Shop, n: int, spy: Reached, folder: Path) -> Counter[int | None]:
    """So many requests; how often each status was answered."""
    keys = Keys(shop.service.journal)
    key, other = keys.make("*", ["admin"]), keys.make("shop", ["read"])
    journal, rng, statuses = shop.service.journal, random.Random(0), Counter[int | None]()
    shop.service.settle()
    before, facts = journal.last(), journal.facts("")

    async def work() -> None:
        line = Line(shop)
        for _ in range(n):
            one = drawn(rng, key, other)
            answer = (await sent(line, one)).decode("utf-8", "replace")
            status = int(answer.split()[1]) if answer else None
            spy.count()
            statuses[status] += 1
            told = (one.how, one.data[:300], answer[-500:])
            assert status in REFUSED or (one.half and status is None), told
            assert not leaked(answer, key, other, str(folder)), told
            assert journal.last() == before, ("it was refused, and written", *told)
        await asyncio.sleep(0.1)  # what was broken off ends
        line.protocol.connection_lost(None)

    asyncio.run(asyncio.wait_for(work(), 600))
    assert (journal.last(), journal.facts("")) == (before, facts)
    assert shop.service.failure is None
    return statuses


def reached(counts: Counter[str], n: int) -> None:
    """Seven in ten came to what reads bodies, nearly all to what reads anything; none of these was spared."""
    assert sum(counts[one] for one in BODIES) >= 0.7 * n, counts
    assert counts[NOTHING] <= 0.15 * n, counts
    assert min(counts[one] for one in (*BODIES, PATH, QUERY)) >= n / 200, counts


def test_hostile_requests_write_nothing(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as many and more by `soak`."""
    spy = Reached(monkeypatch)
    attacked(shop, 600, spy, tmp_path)
    reached(spy.counts, 600)


@pytest.mark.soak
def test_ten_thousand(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy, begun = Reached(monkeypatch), time.perf_counter()
    statuses = attacked(shop, 10_000, spy, tmp_path)
    reached(spy.counts, 10_000)
    print(dict(statuses), dict(spy.counts.most_common()), f"{time.perf_counter() - begun:.0f} s")


@pytest.mark.parametrize("planted", ["written", "told", "failed"])
def test_and_the_test_would_see_it(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    """A service that writes what it refuses, that tells how it is built, or that fails, deep inside."""
    spy = Reached(monkeypatch)

    async def careless(self: Any, name: str, reward: Any, key: str | None) -> Any:
        shop.service.writer.put(Draft("shop", REWARD, "e1", b'{"value":1.0}')).result()
        raise ValueError("too late")

    def telling(error: Any) -> Any:
        return json_answer({"error": f"Traceback: {error}"}, error.status) if error.status == 400 else problem(error)

    def failing(*given: Any) -> Any:
        raise RuntimeError("none of these")

    if planted == "written":
        monkeypatch.setattr(app.Operations, "evaluate", careless)
    elif planted == "told":
        monkeypatch.setattr(app, "problem", telling)
    else:
        monkeypatch.setattr(app, "built", failing)
    seen = {
        "written": "it was refused, and written",
        "told": "Traceback",
        "failed": "this failed, and is in the server",
    }
    with pytest.raises(AssertionError, match=seen[planted]):
        attacked(shop, 600, spy, tmp_path)
