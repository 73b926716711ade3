"""One thread appends to the journal for everybody: whoever waits while the disk is busy goes into the next group.

More than can wait is refused, and told so at once: nobody waits for a disk that cannot keep up. The coroutines of a
group are told together, by one call into their event loop.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from marginbandits.service.journal import Draft, Entry, Journal

__all__ = ["FullError", "Writer"]

MOST_WAITING, LARGEST_GROUP = 4096, 1024


class FullError(Exception):
    """So much waits for the disk that more is not accepted."""


Appended = tuple[Entry, bool]
Result = Future[Appended] | asyncio.Future[Appended]


class Writer:
    """Appends drafts in groups; `told` is called after each, in this thread."""

    def __init__(self, journal: Journal, told: Callable[[], None]) -> None:
        self._journal, self._told = journal, told
        self._waiting: list[tuple[Draft, Result]] = []
        self._some, self._ended = threading.Condition(), False
        self.groups, self.appended = 0, 0
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many drafts have not been taken up yet."""
        return len(self._waiting)

    def put(self, draft: Draft) -> Future[Appended]:
        """Its entry, once it is durable, and whether it is new."""
        result: Future[Appended] = Future()
        self._enqueue(draft, result)
        return result

    async def append(self, draft: Draft) -> Appended:
        """The same, for a coroutine."""
        result: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self._enqueue(draft, result)
        return await result

    def _enqueue(self, draft: Draft, result: Result) -> None:
        with self._some:
            if len(self._waiting) >= MOST_WAITING:
                raise FullError("too much waits for the disk")
            self._waiting.append((draft, result))
            if len(self._waiting) == 1:
                self._some.notify()

    def close(self) -> None:
        """Append what waits, and end."""
        with self._some:
            self._ended = True
            self._some.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._some:
                self._some.wait_for(lambda: self._waiting or self._ended)
                group, self._waiting = self._waiting[:LARGEST_GROUP], self._waiting[LARGEST_GROUP:]
            if not group:
                return
            self._append(group)

    def _append(self, group: list[tuple[Draft, Result]]) -> None:
        results = [result for _, result in group]
        try:
            found = self._journal.append([draft for draft, _ in group])
        except BaseException as error:  # whoever waits is told, and the next group may fare better
            _tell(zip(results, [error] * len(results), strict=True))
            return
        self.groups += 1
        self.appended += len(group)
        _tell(zip(results, found, strict=True))
        self._told()


def _tell(answers: Iterable[tuple[Result, Appended | BaseException]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Result, Appended | BaseException]]] = {}
    for result, answer in answers:
        if isinstance(result, asyncio.Future):
            by_loop.setdefault(result.get_loop(), []).append((result, answer))
        else:
            _set([(result, answer)])
    for loop, some in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_set, some)


def _set(answers: list[tuple[Result, Appended | BaseException]]) -> None:
    for result, answer in answers:
        if result.done():  # nobody waits for it any more
            continue
        if isinstance(answer, BaseException):
            result.set_exception(answer)
        else:
            result.set_result(answer)
