"""Simulated users of a news site, so that there is something to watch: they come, read or not, and tell so later.

What they like depends on where they are and on what they hold in their hands; the baseline is what an editor would put
first. A reward comes seconds later, now and then too late.

>>> rng = random.Random(0)
>>> someone = user(rng)
>>> sorted(someone), 0.0 < liking(someone, "sport") < 1.0
(['country', 'device'], True)
"""

import asyncio
import contextlib
import heapq
import itertools
import random
import threading
import time
from types import TracebackType
from typing import Self

from marginbandits.service.core import Service
from marginbandits.service.records import Offer, Settings
from marginbandits.service.requests import Ask
from marginbandits.service.writer import FullError

__all__ = ["LATE", "LOOP", "SETTINGS", "Demo", "liking", "user"]

LOOP = "demo"
STORIES = ("politics", "sport", "science", "travel", "cooking")
SETTINGS = Settings(
    window=20.0, holdback=0.1, exploration=0.02, actions=[Offer(one) for one in STORIES], segment="country"
)
RATE, LATE = 20.0, 5.0
"""Users a second, and seconds until one tells, on average."""
_COUNTRIES = {"Brazil": "sport", "France": "cooking", "India": "science", "Japan": "travel"}


def user(rng: random.Random) -> dict[str, str]:
    """Somebody."""
    return {"country": rng.choice(sorted(_COUNTRIES)), "device": rng.choice(("phone", "desktop"))}


def liking(context: dict[str, str], story: str) -> float:
    """The chance that one reads a story."""
    likes = 0.12 + 0.22 * (_COUNTRIES[context["country"]] == story)
    return likes + 0.08 * (story == "politics") + 0.06 * (context["device"] == "phone" and story == "sport")


class Demo:
    """While it is entered, users come."""

    def __init__(self, service: Service, rate: float = RATE) -> None:
        self._service, self._rate = service, rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="demo", daemon=True)

    def __enter__(self) -> Self:
        self._service.made(LOOP, SETTINGS)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    async def _run(self) -> None:
        rng, order = random.Random(0), itertools.count()
        due: list[tuple[float, int, str, float]] = []
        while not self._ended.is_set():
            with contextlib.suppress(FullError):  # nobody is there to come again
                context = user(rng)
                answer = await self._service.decide(LOOP, Ask(context=context))
                if rng.random() < liking(context, answer.action):
                    heapq.heappush(
                        due, (time.monotonic() + rng.expovariate(1.0 / LATE), next(order), answer.event_id, 1.0)
                    )
                while due and due[0][0] <= time.monotonic():
                    _, _, event, value = heapq.heappop(due)
                    await self._service.reward(LOOP, event, value)
            await asyncio.sleep(rng.expovariate(self._rate))
