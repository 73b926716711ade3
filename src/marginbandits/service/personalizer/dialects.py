"""Which dialect a request speaks, and what it is about: read from the path as it was sent.

An event's id may have a slash in it, which arrives as %2F: so the path is cut first, and decoded then. An endpoint that
ends with a slash makes a path that begins with two.

>>> told(b"//personalizer/v1.0/events/ev%2F1%20%C3%A9/reward", None)
(<Dialect.V1_0: 'v1.0'>, ['events', 'ev/1 é', 'reward'])
>>> told(b"/personalizer/rank", "2022-09-01-preview")
(<Dialect.V2022: '2022-09-01-preview'>, ['rank'])
"""

from enum import Enum
from urllib.parse import unquote_to_bytes

__all__ = ["Dialect", "told"]


class Dialect(Enum):
    """One of three."""

    V1_0 = "v1.0"
    V1_1 = "v1.1"
    V2022 = "2022-09-01-preview"


_VERSIONS = {"v1.0": Dialect.V1_0, **{f"v1.1-preview.{n}": Dialect.V1_1 for n in (1, 2, 3)}}


def told(raw_path: bytes, api_version: str | None) -> tuple[Dialect, list[str]]:
    """The dialect, and the parts of the path after it; a ValueError if it is none of the three."""
    try:
        first, *rest = [unquote_to_bytes(part).decode() for part in raw_path.lstrip(b"/").split(b"/")]
    except UnicodeDecodeError:
        raise ValueError("a path must be text in UTF-8") from None
    assert first == "personalizer"
    if any("\0" in part for part in rest):
        raise ValueError("a path must be text without zeros")
    if rest and rest[0] in _VERSIONS:
        return _VERSIONS[rest[0]], rest[1:]
    if api_version != Dialect.V2022.value and rest[:1] != [""]:  # what begins with a slash is nothing, of any version
        got = "none" if api_version is None else repr(api_version[:40])
        raise ValueError(f"api-version must be {Dialect.V2022.value}, got {got}")
    return Dialect.V2022, rest
