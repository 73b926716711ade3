"""Decisions that this process wrote and the learner has not taken in: they are open, too, however far behind it is.

>>> untaken = Untaken()
>>> for seq in (3, 4, 7):
...     untaken.written("shop", seq)
>>> untaken.after("shop", 3), untaken.after("shop", 7), untaken.after("news", 0)
(2, 0, 0)
"""

import threading
from collections import defaultdict, deque

__all__ = ["Untaken"]


class Untaken:
    """By their numbers, which grow; those who decide and the one who writes ask in threads of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seqs = defaultdict[str, deque[int]](deque)

    def written(self, loop: str, seq: int) -> None:
        """One more is in the journal."""
        with self._lock:
            self._seqs[loop].append(seq)

    def after(self, loop: str, seen: int) -> int:
        """How many came after what a loop has seen; what is before is forgotten."""
        with self._lock:
            seqs = self._seqs[loop]
            while seqs and seqs[0] <= seen:
                seqs.popleft()
            return len(seqs)
