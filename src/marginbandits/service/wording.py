"""Numbers and the verdict in plain words.

>>> plain = Units((0.0, 20.0))
>>> plain.reward(0.5), plain.gap(-0.25), share(0.0714), age(7_200_000_000)
('10.00', '−5.00', '7.1%', '2 hours')
"""

import math
from collections.abc import Callable
from datetime import UTC, datetime

from marginbandits.service.records import Policy, Settings
from marginbandits.service.running import Interval
from marginbandits.service.series import Means

__all__ = ["UNKNOWN", "Units", "age", "called", "count", "gained", "moment", "printable", "share", "verdict"]

_AGES = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")]
UNKNOWN = "not yet known"
SURE = "95% sure, however often one looks."


def printable(text: str) -> str:
    r"""The same in one line, whatever is in it.

    >>> print(printable("hat\n2026 INFO stopped\x1b[2J"))
    hat\n2026 INFO stopped\x1b[2J
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class Units:
    """Rewards in their own units, with as many digits as a thousandth of their range needs."""

    def __init__(self, reward_range: tuple[float, float]) -> None:
        self.low, self.width = reward_range[0], reward_range[1] - reward_range[0]
        self.digits = min(max(3 - math.floor(math.log10(self.width)), 0), 12)

    def raw(self, value: float) -> str:
        """A number in these units."""
        shown = f"{value:,.{self.digits}f}"
        return shown.replace("-", "−") if float(shown.replace(",", "")) else shown.lstrip("-")

    def reward_of(self, y: float) -> float:
        """A reward that was scaled to [0, 1]."""
        return self.low + self.width * y

    def gap_of(self, y: float) -> float:
        """A difference of such rewards."""
        return self.width * y

    def reward(self, y: float) -> str:
        """The reward, in words."""
        return self.raw(self.reward_of(y))

    def gap(self, y: float) -> str:
        """The difference, in words."""
        return self.raw(self.gap_of(y))

    def between(self, one: Interval, words: Callable[[float], str]) -> str:
        """Its interval."""
        return f"{words(one.low)} to {words(one.high)}"


def share(value: float) -> str:
    """In percent."""
    return f"{100.0 * value:.1f}%"


def count(n: int, noun: str) -> str:
    """A number with its noun."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def moment(at: int) -> str:
    """A time, in UTC."""
    return f"{datetime.fromtimestamp(at / 1e6, UTC):%Y-%m-%d %H:%M:%S}"


def age(microseconds: int) -> str:
    """How long, in the largest unit of which there is one."""
    seconds = max(microseconds, 0) // 1_000_000
    unit, noun = next((one for one in _AGES if seconds >= one[0]), _AGES[-1])
    return count(seconds // unit, noun)


def called(policy: Policy) -> str:
    """A policy's learner, with the parameters that it was given.

    >>> called(Policy("LogisticTS", {"scale": 1})), called(Policy())
    ('LogisticTS(scale=1)', 'SquareCB')
    """
    given = ", ".join(f"{name}={value}" for name, value in policy.parameters.items())
    return f"{policy.learner}({given})" if given else policy.learner


def gained(lift: Interval, units: Units) -> tuple[str, str]:
    """What a difference is between, and which it is: "more", "less", or "" where it may be either.

    >>> gained(Interval(9, 0.02, 0.01, 0.03), Units((0.0, 1.0))), gained(Interval(9, 0.0, -0.1, 0.2), Units((0.0, 1.0)))
    (('0.010 to 0.030 more', 'more'), ('0.100 less to 0.200 more', ''))
    """
    low, high = (units.gap(abs(end)) for end in (lift.low, lift.high))
    if lift.low > 0.0:
        return f"{low} to {high} more", "more"
    if lift.high < 0.0:
        return f"{high} to {low} less", "less"
    return f"{low} less to {high} more", ""


def verdict(settings: Settings, means: Means, units: Units, imitated: float | None) -> tuple[str, str, str]:
    """One sentence: what comes first, what is stressed (it ends in "more" or "less"), and what is added."""
    lift, than = means.lift, "the holdback" if means.held.n else "the baseline would"
    if settings.mode != "Online":
        same = "" if imitated is None else f" The learner would have chosen it in {share(imitated)} of events."
        return f"The baseline is served always ({settings.mode}).", "", same
    if lift.n == 0:
        why = (
            "every event that has closed was held back"
            if means.held.n
            else "no event that was decided Online has closed"
        )
        return "Nothing can be said yet:", "", f" {why}."
    told, which = gained(lift, units)
    if which:
        return "The bandit earns", told, f" than {than}: {SURE}"
    return "It is not settled yet:", "", f" the bandit earns from {told} than {than}."
