"""One thread appends to the journal for everybody: whoever waits while the disk is busy goes into the next group.

A queue that is full refuses, and says so at once: nobody waits for a disk that cannot keep up.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

from marginbandits.service.journal import Draft, Entry, Journal

__all__ = ["FullError", "Writer"]

MOST_WAITING, LARGEST_GROUP = 4096, 1024


class FullError(Exception):
    """So much waits for the disk that more is not accepted."""


Result = Future[tuple[Entry, bool]]


class Writer:
    """Appends drafts in groups; `told` is called after each, in this thread."""

    def __init__(self, journal: Journal, told: Callable[[], None]) -> None:
        self._journal, self._told = journal, told
        self._waiting: queue.Queue[tuple[Draft, Result] | None] = queue.Queue(MOST_WAITING)
        self.groups, self.appended = 0, 0
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many drafts have not been appended yet."""
        return self._waiting.qsize()

    def put(self, draft: Draft) -> Result:
        """Its entry, once it is durable, and whether it is new."""
        result: Result = Future()
        try:
            self._waiting.put_nowait((draft, result))
        except queue.Full:
            raise FullError("too much waits for the disk") from None
        return result

    async def append(self, draft: Draft) -> tuple[Entry, bool]:
        """The same, for a coroutine."""
        return await asyncio.wrap_future(self.put(draft))

    def close(self) -> None:
        """Append what waits, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        ended = False
        while not ended:
            group = [self._waiting.get()]
            while len(group) < LARGEST_GROUP:
                try:
                    group.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            some = [one for one in group if one is not None]
            ended = len(some) < len(group)
            if some:
                self._append(some)

    def _append(self, group: list[tuple[Draft, Result]]) -> None:
        try:
            found = self._journal.append([draft for draft, _ in group])
        except BaseException as error:  # whoever waits is told, and the next group may fare better
            for _, result in group:
                result.set_exception(error)
            return
        self.groups += 1
        self.appended += len(group)
        for (_, result), one in zip(group, found, strict=True):
            result.set_result(one)
        self._told()
