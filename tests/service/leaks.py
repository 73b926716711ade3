"""What no answer may tell: how the service is built, where it is, who may do what."""

import sys
from pathlib import Path

import marginbandits

__all__ = ["leaked"]

_OURS = [str(Path(marginbandits.__file__).parent), sys.prefix, "site-packages", "Traceback", 'File "', "sqlite3."]


def leaked(text: str, *secrets: str) -> list[str]:
    """What an answer tells of these, and of paths of this machine and tracebacks.

    >>> leaked('Traceback (most recent call last): mb_secret', "mb_secret")
    ['Traceback', 'mb_secret']
    """
    return [one for one in (*_OURS, *secrets) if one in text]
