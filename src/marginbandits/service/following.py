"""One thread writes the journal, one follows it: it closes events, learns them, and keeps checkpoints.

The follower goes through the journal from its own place in it; however long it takes, nobody waits for it. What the
writer has just written it gets from there; what others wrote, and what it was too slow for, it reads. Where time passes
and nobody writes, it writes a tick, so that windows close; where writing fails, too, to see whether it still does.
Whatever goes wrong, the disk, the database, an entry, it says so (`failure`) and tries again, from the last checkpoint,
with longer and longer pauses; meanwhile decisions go on with the model there is.

Where several processes serve one journal, one of them *leads*: it follows, and keeps a checkpoint every second. The
others take the model of the latest checkpoint, every second, and the settings of the journal; so they decide with a
model that is two seconds behind that of the leader at most, and twice what it takes to write it and to read it. When
the leader is gone, or frozen, another takes over from its checkpoint. One that does not know yet that it has been
replaced goes on learning, which harms nobody: what it made of that it cannot keep.

After an erasure a checkpoint is kept at once, in place of the one that knew more, and the disk is made to forget both.
"""

import bisect
import contextlib
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator

from marginbandits.service.audit import Audit
from marginbandits.service.checkpoint import DamagedError
from marginbandits.service.join import EARLY
from marginbandits.service.journal import (
    ACTIVATION,
    DECISION,
    ERASURE,
    REWARD,
    SETTINGS,
    TICK,
    Draft,
    Entry,
    Journal,
    JournalError,
    now,
    scrubbed,
)
from marginbandits.service.logbook import LOG, line
from marginbandits.service.loop import AT_ONCE, Loop, read
from marginbandits.service.model import warm
from marginbandits.service.records import Erased, Settings, decode, encode
from marginbandits.service.untaken import Untaken
from marginbandits.service.writer import Appended, FullError, Writer

__all__ = ["Follower", "LateError", "UnknownError"]

CHECKPOINTS, SHARED = 10.0, 0.95
"""Seconds between two checkpoints of a loop that learns: alone, and where others decide by them, less pauses."""
RETIRING = 3600.0
"""Seconds between two looks at what is too old to be kept."""
LONGEST, ELSEWHERE, FAILING = 600.0, 30.0, 5.0
"""Seconds that somebody waits for the follower: for this process, for another one that leads, for one that fails."""
TRYING = 1.0
"""Seconds between two tries to write where the last has failed: whoever looks at /health may keep all others away."""
SCRUBBING, LONGEST_SCRUBBING = 1.0, 300.0
"""Seconds between two tries to make the disk forget, the first and the longest; somebody waits for two of the first."""
FAR_AHEAD = 60.0
"""Seconds by which the journal may be ahead of the clock before anybody is told."""
SECRET = 32
"""Bytes of what a loop draws with."""
MOST_FRESH = 10_000
"""Entries that wait in memory for the follower."""
_LOOK, _PAUSE, _LONGEST_PAUSE = 0.2, 0.02, 30.0


class UnknownError(Exception):
    """There is no such loop, event or policy."""


class LateError(Exception):
    """What was asked is written, but was not taken in in time."""


class Follower:
    """Loops over one journal, as they come to be."""

    def __init__(self, journal: Journal, *, checkpoints: float | None = None) -> None:
        self.journal = journal
        self._checkpoints = checkpoints if checkpoints is not None else SHARED if journal.shared else CHECKPOINTS
        self._wake, self._ended = threading.Event(), threading.Event()
        self._changing = threading.RLock()
        self.failure: BaseException | None = None
        self.repeated = Counter[tuple[str, str]]()  # by loop and kind: what came again here, and counted once
        self.loops: dict[str, Loop] = {}  # replaced, never changed: somebody may go through it
        self.leads: bool | None = None  # not known yet
        self.newest = journal.last()
        self.seen, self.kept, self._clean = 0, 0, 0
        self._due, self._retiring = time.monotonic() + self._checkpoints, 0.0
        self._scrubbing = _Pauses()
        self._ticking = 0.0
        self._fresh: deque[Entry] = deque(maxlen=MOST_FRESH)
        Audit().observe([0.5, 0.5], 0, ["", ""])  # so that its machine code is there
        self.untaken = Untaken()
        self.writer = Writer(journal, self._written)
        try:
            self._take_turn()
        except BaseException:
            self.writer.close()
            raise
        if self.ahead > FAR_AHEAD:
            LOG.warning("the journal is %.0f s ahead of the clock: until then no window closes", self.ahead)
        self._follower = threading.Thread(target=self._follow, name="follower", daemon=True)
        self._follower.start()

    def _started(self, name: str) -> Loop:
        secret = self.journal.fact(f"secret/{name}") or self.journal.first(
            f"secret/{name}", secrets.token_bytes(SECRET)
        )
        if type(secret) is not bytes or len(secret) != SECRET:
            raise JournalError(f"the secret of loop {name!r} is not what was written: no draw can be made again")
        loop, checkpoint = Loop(name, secret), self.journal.fact(f"checkpoint/{name}")
        try:
            if self.leads:
                loop.restore(self.journal, checkpoint)
            else:
                loop.follow(self.journal, checkpoint)
        except DamagedError as error:
            LOG.warning("the checkpoint of %r is damaged, %s: it is made again from the journal", name, error)
            loop = Loop(name, secret)
            loop.restore(self.journal, None)
            if self.leads:  # what is damaged may hold who was erased, and is to be replaced and forgotten
                self.journal.keep("scrubbed", b"0")
                self._clean = 0
        warm(loop.model.policy.learner)
        return loop

    def loop(self, name: str) -> Loop:
        """The loop of this name."""
        found = self.loops.get(name)
        if found is None:
            raise UnknownError(f"there is no loop {name[:80]!r}")
        return found

    @property
    def behind(self) -> int:
        """How many entries that this process knows of have not been taken in."""
        return 0 if self.newest is None else max(0, self.newest.seq - self.seen)

    @property
    def ahead(self) -> float:
        """Seconds by which the journal's clock is ahead of the machine's."""
        return 0.0 if self.newest is None else max(0.0, (self.newest.at - now()) / 1e6)

    # Waiting for it.

    def settle(self) -> None:
        """Wait until everything written so far has been taken in."""
        last = self.journal.last()
        if last is not None:
            self.wait(lambda: self.seen >= last.seq)

    def wait(self, done: Callable[[], bool]) -> None:
        """Wait for the follower, but not for ever."""
        start = time.monotonic()
        while not done():
            waited, failure = time.monotonic() - start, self.failure
            if failure is not None and waited > FAILING:
                raise LateError(f"it is written, but learning fails ({type(failure).__name__}) and is tried again")
            if waited > (LONGEST if self.leads else ELSEWHERE):
                raise LateError("it is written, but has not been taken in yet: /health says how far behind learning is")
            self._wake.set()
            time.sleep(0.005)

    def scrubbed(self) -> bool:
        """Whether the disk has forgotten all that was erased; it is tried now, and a moment is waited for it."""
        self._scrubbing = _Pauses()
        end = time.monotonic() + 2.0 * SCRUBBING
        while (there := self._forgotten() <= scrubbed(self.journal)) is False and time.monotonic() < end:
            self._wake.set()
            time.sleep(0.005)
        return there

    # Following.

    def _written(self, found: list[Appended]) -> None:
        """The follower need not read these again."""
        fresh = [entry for entry, new in found if new]
        if fresh:
            self.newest = fresh[-1]
            for one in fresh:
                if one.kind == DECISION:
                    self.untaken.written(one.loop, one.seq)
            if self.leads:
                self._fresh.extend(fresh)
        self._wake.set()

    def _next(self) -> list[Entry]:
        """What comes next: what was just written here, if that is what comes next, else what the journal has."""
        some: list[Entry] = []
        while self._fresh and len(some) < AT_ONCE:
            one = self._fresh.popleft()
            if one.seq == self.seen + 1 + len(some):
                some.append(one)
            elif one.seq > self.seen:
                break
        return some or self.journal.entries(self.seen, AT_ONCE)

    def _follow(self) -> None:
        pause = _LOOK
        while not self._ended.is_set():
            self._wake.wait(min(_LOOK, max(0.0, self._due - time.monotonic())))
            self._ended.wait(_PAUSE)
            self._wake.clear()
            now()  # what nobody looks at for a while is not believed
            if self._try_turn():
                pause = _LOOK
            else:
                self._ended.wait(pause)
                pause = min(2.0 * pause, _LONGEST_PAUSE)
        if self.leads:
            self._due = 0.0
            self._try_turn()

    def _try_turn(self) -> bool:
        """Whether it went well; else what is half taken in is read again, from the checkpoint."""
        try:
            self._take_turn()
        except Exception as error:
            self.leads, self.failure = False, error
            LOG.exception("learning has failed and is tried again; decisions go on with the model there is")
            return False
        if self.failure is not None:
            LOG.info("learning goes on")
        self.failure = None
        return True

    def _take_turn(self) -> None:
        """Follow the journal as far as it goes, if this process leads; else follow the one that does."""
        leads, due = self.journal.lead(), time.monotonic() >= self._due
        if leads != self.leads or (due and not leads):
            with self._changing:
                self.leads = leads
                if leads and self.journal.fact("scrubbed") is not None:
                    self.journal.keep("scrubbed", str(scrubbed(self.journal)).encode())  # as far as it is believed
                names = dict.fromkeys(one.loop for one in self.journal.changes())
                self.loops = {name: self._started(name) for name in names}
                self.seen = min((loop.seen for loop in self.loops.values()), default=0)
                self.kept = 0 if leads else self.seen  # who takes over keeps what he finds anew
                if not leads:
                    self.newest = self.journal.last()
        fails = self.writer.failure is not None and not self.writer.waiting
        if ((leads and not self._catch_up() and self._overdue()) or fails) and time.monotonic() >= self._ticking:
            self._ticking = time.monotonic() + TRYING if fails else 0.0
            with contextlib.suppress(FullError):  # then others write
                self.writer.put(Draft("", TICK, "", b"{}"))
        if leads:
            if self._forgotten() > self.kept or (due and self.seen != self.kept):
                self._keep()
            self._scrub()
            if time.monotonic() >= self._retiring:
                self._retire()
                self._retiring = time.monotonic() + RETIRING
        if due:
            self._due = time.monotonic() + self._checkpoints

    def _catch_up(self) -> bool:
        """Every loop up to the end of the journal, one that was made meanwhile from where it is; whether any is new.

        The end is what it was when this began: a turn ends, and keeps what is due, however much is written.
        """
        before, last = self.seen, self.journal.last()
        if last is not None and last.seq > before:
            self.newest = last
        while last is not None and self.seen < last.seq:
            some, all_loops = self._next(), self.loops.items()
            were = {name: loop.settings for name, loop in all_loops if loop.seen < some[0].seq}
            for loop in list(self.loops.values()):
                if loop.seen < some[0].seq - 1:
                    loop.observe(read(self.journal, loop.seen, some[0].seq - 1), self.journal)
                loop.observe([one for one in some if one.seq > loop.seen], self.journal)
            for entry in some:
                if (told := line(entry, were.get(entry.loop))) is not None:
                    LOG.info("%s", told)
                if entry.kind == SETTINGS and entry.body is not None:
                    were[entry.loop] = decode(Settings, entry.body)
                if entry.kind == SETTINGS and entry.loop not in self.loops:
                    self._join_in(entry.loop)
            self.seen = some[-1].seq
        return self.seen > before

    def _join_in(self, name: str) -> None:
        """A loop that another process made."""
        with self._changing:
            if name not in self.loops:
                self.loops = {**self.loops, name: self._started(name)}

    def _overdue(self) -> bool:
        return any((at := loop.joiner.next_close) is not None and at <= now() for loop in self.loops.values())

    def _keep(self) -> None:
        for loop in self.loops.values():
            loop.keep(self.journal)
        self.kept = self.seen

    # Forgetting.

    def _forgotten(self) -> int:
        """The last erasure that was taken in."""
        return max((loop.model.erasure for loop in self.loops.values()), default=0)

    def _scrub(self) -> None:
        last = self._forgotten()
        if (
            last > self._clean
            and self._scrubbing.over(last)
            and (last <= scrubbed(self.journal) or self.journal.scrub())
        ):
            self.journal.keep("scrubbed", str(last).encode())
            self._clean = last

    def _retire(self) -> None:
        """Forget what is older than its loop keeps, but what events that are open need."""
        for name, loop in self.loops.items():
            days = loop.settings.retention_days
            if days is not None:
                oldest = now() - round(days * 86400e6)
                until = _before(self.journal, oldest, self.seen)
                needed = {*loop.joiner.waiting(oldest), *self._told_before(name, oldest, until)}
                spared = set(self.journal.speaking(name, sorted(needed)))
                old = [one for one in self.journal.kept(name, until) if one not in spared]
                if old:
                    erased = Erased(until=old[-1], spared=sorted(one for one in spared if one < old[-1]))
                    with contextlib.suppress(FullError):  # then in an hour
                        self.writer.put(Draft(name, ERASURE, "", encode(erased)))

    def _told_before(self, name: str, oldest: int, until: int) -> Iterator[str]:
        """Events of which something was told by an entry, and which were decided after it."""
        first = _before(self.journal, oldest - EARLY, until)
        for one in read(self.journal, first, until):
            if one.loop == name and one.kind in (REWARD, ACTIVATION) and one.of is None and one.body is not None:
                there = self.journal.find(name, one.id)
                if there is not None and there.seq > until:
                    yield one.id

    def close(self) -> None:
        """Write what waits, learn what is closed, keep it, end."""
        self.writer.close()
        self._ended.set()
        self._wake.set()
        self._follower.join()
        self.journal.close()


class _Pauses:
    """Between tries to forget: each is twice as long as the one before, because nobody can write while it is tried."""

    def __init__(self) -> None:
        self._erasure, self._next, self._pause = 0, 0.0, SCRUBBING

    def over(self, erasure: int) -> bool:
        """Whether it is time for the next try; another erasure begins anew."""
        if erasure != self._erasure:
            self._erasure, self._next, self._pause = erasure, 0.0, SCRUBBING
        if time.monotonic() < self._next:
            return False
        self._next, self._pause = time.monotonic() + self._pause, min(2.0 * self._pause, LONGEST_SCRUBBING)
        return True


def _before(journal: Journal, at: int, end: int) -> int:
    """The last entry up to one that is earlier than a time; times grow from entry to entry."""
    return bisect.bisect_left(range(1, end + 1), at, key=lambda seq: journal.entries(seq - 1, 1)[0].at)
