"""What benchmarks may be asked: arguments that are refused in words."""

import argparse
import math
from collections.abc import Callable, Iterable
from pathlib import Path


def count(text: str) -> int:
    """A whole number, at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, got {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """A finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text!r}")
    return number


def some_of(names: Iterable[str]) -> Callable[[str], str]:
    """Some of these names, with commas between them, or none."""
    known = sorted(names)

    def some(text: str) -> str:
        strange = [one for one in text.split(",") if text and one not in known]
        if strange:
            raise argparse.ArgumentTypeError(f"has no {', '.join(map(repr, strange))}, but {', '.join(known)}")
        return text

    return some


def sources(text: str) -> Path:
    """A folder with a package called marginbandits."""
    folder = Path(text).absolute()
    if not (folder / "marginbandits" / "__init__.py").is_file():
        raise argparse.ArgumentTypeError(f"must be the `src` of a checkout, with marginbandits in it, got {text!r}")
    return folder


def picture(text: str) -> Path:
    """A file to be drawn, in a folder that is there from now on."""
    path = Path(text)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"must end in .png, .svg or .pdf, got {text!r}")
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"must be in a folder that can be made, got {text!r}: {error.strerror}"
        ) from None
    return path
