"""Lines of a file, one at a time: their numbers, their text, and which are none; compressed files (.gz) as well.

A line that is no UTF-8 is named with its byte, one of more than ten million bytes is passed over, and a compressed file
that ends too soon says so: memory stays that of one line, whatever is in the file.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

__all__ = ["LONGEST_LINE", "Line", "lines", "opened"]

LONGEST_LINE = 10_000_000


class Line(NamedTuple):
    """A line: its number from 1, its text, and what is wrong with it as such."""

    number: int
    text: str
    wrong: tuple[str, str] | None = None


def opened(path: Path) -> IO[bytes]:
    """The file, open for reading bytes."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def lines(path: Path) -> Iterator[Line]:
    """Every line, empty ones too, without the end of line."""
    with opened(path) as file:
        number = 0
        while True:
            number += 1
            try:
                line = file.readline(LONGEST_LINE + 1)
                long = len(line) > LONGEST_LINE
                while long and not line.endswith(b"\n") and (rest := file.readline(LONGEST_LINE)):
                    line = rest
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ValueError(f"{path}, after line {number - 1}: the compressed file is damaged: {error}") from error
            if not line:
                return
            if long:
                yield Line(number, "", ("line too long", f"more than {LONGEST_LINE:,} bytes; a line holds one round"))
            else:
                yield _decoded(number, line)


def _decoded(number: int, line: bytes) -> Line:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} of the line is 0x{line[error.start]:02x}"
        wrong = ("not UTF-8", f"not UTF-8: {byte} ({error.reason}); was it written in another encoding?")
        return Line(number, line.decode("utf-8", "replace").rstrip("\r\n"), wrong)
    return Line(number, text.rstrip("\r\n"))
