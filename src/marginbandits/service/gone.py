"""Which entries the erasures of a journal name, and which of them was the first to.

Who names a decision names what speaks of it as well, also what came while the decision was being erased.

>>> from marginbandits.service.journal import Draft, linked
>>> from marginbandits.service.records import encode
>>> def entry(seq, kind, body=b"{}", of=None):
...     return linked(bytes(32), seq, seq, Draft("shop", kind, "e", body), of, b"")
>>> bodies = Erased(entries=[4]), Erased(until=3, spared=[2])
>>> gone = Gone([entry(seq, ERASURE, encode(body)) for seq, body in zip((5, 6), bodies)])
>>> [gone.by(entry(seq, "decision")) for seq in (1, 2, 3, 4, 5)], gone.by(entry(1, "settings")), gone.last("shop")
([6, 0, 6, 5, 0], 0, 6)
>>> [gone.by(entry(7, "reward", of=of)) for of in (1, 2, 4)]
[6, 0, 5]
"""

import bisect
from collections.abc import Iterable
from itertools import islice

from marginbandits.service.journal import ERASURE, EVENTS, Entry
from marginbandits.service.records import Erased, decode

__all__ = ["Gone"]


class Gone:
    """What the erasures among these entries, which are in order, took out."""

    def __init__(self, changes: Iterable[Entry]) -> None:
        self._named: dict[tuple[str, int], int] = {}
        self._all: dict[str, list[tuple[int, int, set[int]]]] = {}
        self._ends: dict[str, list[int]] = {}
        self._last: dict[str, int] = {}
        for one in changes:
            if one.kind == ERASURE and one.body is not None:
                erased = decode(Erased, one.body)
                for seq in erased.entries:
                    self._named.setdefault((one.loop, seq), one.seq)
                if erased.until:
                    ends = self._ends.setdefault(one.loop, [])
                    ends.append(max([erased.until, *ends[-1:]]))
                    self._all.setdefault(one.loop, []).append((one.seq, erased.until, set(erased.spared)))
                self._last[one.loop] = one.seq

    def by(self, entry: Entry) -> int:
        """The number of the first erasure that names an entry, or what it speaks of; 0 if none does.

        None names what is no event.
        """
        if entry.kind not in EVENTS:
            return 0
        several = [self._first(entry.loop, seq) for seq in (entry.seq, entry.of) if seq is not None]
        return min((one for one in several if one), default=0)

    def _first(self, loop: str, seq: int) -> int:
        named = self._named.get((loop, seq))
        first = bisect.bisect_left(self._ends.get(loop, []), seq)
        several = islice(self._all.get(loop, []), first, None)
        of_all = next((at for at, until, spared in several if seq <= until and seq not in spared), None)
        return min((one for one in (named, of_all) if one is not None), default=0)

    def last(self, loop: str) -> int:
        """The last erasure of a loop; 0 if there was none."""
        return self._last.get(loop, 0)
