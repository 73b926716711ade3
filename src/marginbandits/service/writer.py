"""One thread appends to the journal for everybody: whoever waits while the disk is busy goes into the next group.

More than can wait is refused, and told so at once: nobody waits for a disk that cannot keep up. Those of a group who
wait in an event loop are told together, by one call into it.
"""

import asyncio
import bisect
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial

from marginbandits.service.journal import Draft, Entry, Journal

__all__ = ["BOUNDS", "FullError", "StalledError", "Writer"]

BOUNDS = 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0
"""Seconds that a group takes to be written, from which on it counts as a longer one."""
MOST_WAITING, LARGEST_GROUP = 4096, 1024
STALLED = 3.0
"""Seconds for which a group is under way before it is said that nothing can be written."""
_LOG = logging.getLogger("marginbandits.service")


class FullError(Exception):
    """So much waits, for the disk or for its window to close, that more is not accepted."""


class StalledError(Exception):
    """What is being written takes too long."""


Appended = tuple[Entry, bool]
Told = Callable[[Appended | BaseException], object]
_Waits = tuple[Draft, Told, asyncio.AbstractEventLoop | None, bool]
"""The last says that the next one belongs to it: both are appended in one group, or neither."""


class Writer:
    """Appends drafts in groups; `told` gets what each has become, in this thread, before those who wait do."""

    def __init__(self, journal: Journal, told: Callable[[list[Appended]], object]) -> None:
        self._journal, self._told = journal, told
        self._waiting: list[_Waits] = []
        self._some, self._ended = threading.Condition(), False
        self.groups, self.appended = 0, 0
        self.seconds, self.within = 0.0, [0] * len(BOUNDS)  # of all groups; and how many took so long at most
        self._failure: BaseException | None = None
        self._begun: float | None = None  # when what is being written was begun
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many drafts have not been taken up yet."""
        return len(self._waiting)

    @property
    def failure(self) -> BaseException | None:
        """Why the last group was not written, or this one is not yet."""
        begun = self._begun
        if begun is not None and time.monotonic() - begun > STALLED:
            return StalledError("what is being written takes too long")
        return self._failure

    def put(self, draft: Draft) -> Future[Appended]:
        """Its entry, once it is durable, and whether it is new."""
        result: Future[Appended] = Future()
        self.ask(draft, partial(_set, result))
        return result

    def put_all(self, drafts: Sequence[Draft]) -> Future[list[Appended]]:
        """The same of several, which are durable together or not at all."""
        result: Future[list[Appended]] = Future()
        found: list[Appended] = []

        def told(answer: Appended | BaseException) -> None:
            if isinstance(answer, BaseException):
                if not result.done():
                    result.set_exception(answer)
                return
            found.append(answer)
            if len(found) == len(drafts):
                result.set_result(found)

        if not 0 < len(drafts) <= LARGEST_GROUP:
            raise ValueError(f"drafts must be 1 to {LARGEST_GROUP}, got {len(drafts)}")
        self._wait([(one, told, None, at < len(drafts)) for at, one in enumerate(drafts, 1)])
        return result

    async def append(self, draft: Draft) -> Appended:
        """The same, for a coroutine."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Appended] = loop.create_future()
        self.ask(draft, partial(_set, result), loop)
        return await result

    def ask(self, draft: Draft, told: Told, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """The same, for whoever is to be told what became of it: in an event loop, or else in the writer's thread."""
        self.ask_all([(draft, told)], loop)

    def ask_all(self, some: Iterable[tuple[Draft, Told]], loop: asyncio.AbstractEventLoop | None = None) -> None:
        """The same of several, each of which may fare in its own way."""
        self._wait([(draft, told, loop, False) for draft, told in some])

    def _wait(self, some: list[_Waits]) -> None:
        with self._some:
            if len(self._waiting) >= MOST_WAITING:
                raise FullError("too much waits for the disk")
            if not self._waiting:
                self._some.notify()
            self._waiting += some

    def close(self) -> None:
        """Append what waits, as long as that can be done, and end."""
        with self._some:
            self._ended = True
            self._some.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._some:
                self._some.wait_for(lambda: self._waiting or self._ended)
                end = min(len(self._waiting), LARGEST_GROUP)
                while end and self._waiting[end - 1][3]:
                    end -= 1
                group, self._waiting = self._waiting[:end], self._waiting[end:]
            if not group:
                return
            self._append(group)
            if self._ended and self._failure is not None:
                with self._some:
                    group, self._waiting = self._waiting, []
                self._fail(group, self._failure)

    def _append(self, group: list[_Waits]) -> None:
        self._begun = begun = time.monotonic()
        try:
            found = self._journal.append([one[0] for one in group])
        except BaseException as error:  # whoever waits is told, and the next group may fare better
            self._fail(group, error)
            return
        finally:
            self._begun = None
        self._failure, took = None, time.monotonic() - begun
        self.seconds += took
        for place in range(bisect.bisect_left(BOUNDS, took), len(BOUNDS)):
            self.within[place] += 1
        self.groups += 1
        self.appended += len(group)
        self._told(found)
        _tell((told, one, loop) for (_, told, loop, _), one in zip(group, found, strict=True))

    def _fail(self, group: list[_Waits], error: BaseException) -> None:
        self._failure = error
        _tell((told, error, loop) for _, told, loop, _ in group)


def _tell(answers: Iterable[tuple[Told, Appended | BaseException, asyncio.AbstractEventLoop | None]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Told, Appended | BaseException]]] = {}
    for told, answer, loop in answers:
        if loop is None:
            told(answer)
        else:
            by_loop.setdefault(loop, []).append((told, answer))
    for loop, some in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_tell_each, some)


def _tell_each(answers: list[tuple[Told, Appended | BaseException]]) -> None:
    for told, answer in answers:
        try:
            told(answer)
        except Exception:  # of one of them; the others wait
            _LOG.exception("an answer could not be told")


def _set(result: Future[Appended] | asyncio.Future[Appended], answer: Appended | BaseException) -> None:
    if result.done():  # nobody waits for it any more
        return
    if isinstance(answer, BaseException):
        result.set_exception(answer)
    else:
        result.set_result(answer)
