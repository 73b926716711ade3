"""How lines and dots are told apart, by readers who see no colours and on paper too: number, colour, dash and shape.

Eight colours that colour-blind readers can tell apart; the next eight learners have them again with another dash and
another shape, so that 128 are different before anything returns. The number is the learner's place, and stands beside
every line, dot and column.

>>> first, ninth = Mark.of(0), Mark.of(8)
>>> first.colour == ninth.colour, first.dash == ninth.dash, first.shape == ninth.shape
(True, False, False)
"""

from dataclasses import dataclass

__all__ = ["DASHES", "PALETTE", "SHAPES", "Mark", "sample"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A3B10", "#1D232B")
"""Six of Okabe & Ito (2008), and two dark ones."""

DASHES = ("none", "6 3", "1.5 2.5", "9 3 1.5 3")

SHAPES = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",  # a circle
    "M-3.5,-3.5h7v7h-7z",  # a square
    "M0,-4.8L4.6,3.4H-4.6z",  # a triangle
    "M0,-5L5,0L0,5L-5,0z",  # a diamond
)
"""Paths around 0."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One learner's."""

    number: int
    colour: str
    dash: str
    shape: str

    @classmethod
    def of(cls, place: int) -> "Mark":
        """Of the learner at this place, from 0."""
        turn = place // len(PALETTE)
        shape = SHAPES[(turn + turn // len(DASHES)) % len(SHAPES)]
        return cls(place + 1, PALETTE[place % len(PALETTE)], DASHES[turn % len(DASHES)], shape)

    @property
    def key(self) -> str:
        """A picture of it for legends and tables."""
        return sample(self.colour, self.dash, self.shape)


def sample(colour: str, dash: str = DASHES[0], shape: str = "") -> str:
    """A short piece of a line, with its dot if it has a shape."""
    dot = f'<path transform="translate(14,6)" d="{shape}" fill="{colour}"/>' if shape else ""
    return (
        '<svg class="key" viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">'
        f'<path d="M1,6H27" stroke="{colour}" stroke-width="2.2" stroke-dasharray="{dash}"/>{dot}</svg>'
    )
