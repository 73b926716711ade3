"""What errors say: at most a line of a value, and the nearest of the names there are."""

import difflib
import reprlib
from collections.abc import Iterable

import numpy as np

__all__ = ["quoted", "suggestion"]


def quoted(value: object) -> str:
    """The value as an error shows it: at most a line of it, however long it is.

    >>> quoted("x" * 1_000_000) == "'" + "x" * 59 + "…"
    True
    """
    if isinstance(value, str | bytes):
        value = value[:100]  # so that a long one is not written out only to be cut
    elif isinstance(value, int) and abs(value) >= 10**70:
        return f"a whole number of {value.bit_length()} bits"
    elif isinstance(value, np.ndarray) and value.size > 64:
        return f"an array of {value.dtype} of shape {value.shape}"
    elif isinstance(value, list | tuple | dict | set) and len(value) > 64:
        return f"a {type(value).__name__} of {len(value)} items"
    try:
        text = " ".join((_NESTED.repr if isinstance(value, list | tuple | dict | set) else repr)(value).split())
    except Exception:  # whatever a stranger's repr raises, the error it was for is more useful
        return f"an object of {type(value).__name__}"
    return text if len(text) <= 80 else text[:60] + "…"


_NESTED = reprlib.Repr()
_NESTED.maxlevel, _NESTED.maxlist, _NESTED.maxtuple, _NESTED.maxstring, _NESTED.maxother = 3, 20, 20, 60, 80


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest known one, or all of them.

    >>> suggestion("digit", ["digits", "iris"])
    "; did you mean 'digits'?"
    """
    names = sorted(known)
    same = [name for name in names if name.lower() == word.lower()]
    near = same or difflib.get_close_matches(word[:100], names, 1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names) or 'none'}"
