"""Durations and times as ISO 8601 writes them, in seconds and in microseconds since 1970.

>>> seconds("P1DT2H30M"), seconds("PT0.5S"), duration(95400), duration(0.5)
(95400.0, 0.5, 'P1DT2H30M', 'PT0.5S')
>>> moment(microseconds("2019-01-12T00:00:00Z"))
'2019-01-12T00:00:00.000000Z'
"""

import re
from datetime import UTC, datetime, timedelta

__all__ = ["duration", "microseconds", "moment", "seconds"]

_DURATION = re.compile(
    r"P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?"
)
_UNITS = (7 * 86400, 86400, 3600, 60, 1)
_START = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(written: str) -> float:
    """Of a duration."""
    found = _DURATION.fullmatch(written)
    if found is None or not any(found.groups()):
        raise ValueError(f"a duration must be like PT10M, got {written[:40]!r}")
    return float(sum(unit * float(part) for unit, part in zip(_UNITS, found.groups(), strict=True) if part))


def duration(of: float) -> str:
    """As it is written."""
    days, rest = divmod(of, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    date = f"{days:.0f}D" if days else ""
    time = "".join(f"{part:.0f}{unit}" for part, unit in ((hours, "H"), (minutes, "M")) if part)
    time += f"{round(rest, 6):g}S" if rest or not (date or time) else ""
    return f"P{date}" + (f"T{time}" if time else "")


def microseconds(written: str) -> int:
    """Of a time; one without a zone is UTC. Where it is not in the years 1 to 9999, or there not in UTC, it is none."""
    try:
        at = datetime.fromisoformat(written)
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"a time must be like 2019-01-12T00:00:00Z, got {written[:40]!r}") from None
    return (at - _START) // timedelta(microseconds=1)


def moment(at: int) -> str:
    """As it is written."""
    return (_START + timedelta(microseconds=at)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
