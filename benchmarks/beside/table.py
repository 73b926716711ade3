"""One line for each pair: their speed and ours, how many times as fast we are, its spread, losses, memory."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WIDTHS = 9, 19, 9, 21
HEAD = f"{'task':<9}{'explorer':<19}{'run':<9}{'peer':<21}"
COLUMNS = (
    f"{'':>58}{'':>7}{'rounds/s':^22}{'times as fast':^24}{'mean loss':^16}{'megabytes':^14}\n"
    f"{HEAD}{'rounds':>7}{'theirs':>11}{'ours':>11}{'median':>8}{'least':>8}{'most':>8}"
    f"{'theirs':>8}{'ours':>8}{'theirs':>8}{'ours':>6}"
)
IMPORTS = f"{HEAD}{'seconds':>9}{'of libraries':>14}{'first round':>13}{'of import':>11}"


@dataclass(frozen=True)
class Measured:
    """What one process said: rounds per second of its processor's time, mean loss, most memory."""

    rounds: int
    rate: float
    loss: float
    megabytes: float


def label(*names: str) -> str:
    return "".join(f"{name:<{width}}" for name, width in zip(names, WIDTHS, strict=True))


def line(pairs: Sequence[tuple[Measured, Measured]]) -> str:
    """Theirs and ours of every repetition; a ratio is that of two processes that ran one after the other."""
    theirs, ours = zip(*pairs, strict=True)
    ratios = [our.rate / their.rate for their, our in pairs]
    speeds = [statistics.median(one.rate for one in side) for side in (theirs, ours)]
    losses = [statistics.fmean(one.loss for one in side) for side in (theirs, ours)]
    memory = [max(one.megabytes for one in side) for side in (theirs, ours)]
    return (
        f"{theirs[0].rounds:>7,}{speeds[0]:>11,.0f}{speeds[1]:>11,.0f}"
        f"{_ratio(statistics.median(ratios))}{_ratio(min(ratios))}{_ratio(max(ratios))}"
        f"{losses[0]:>8.3f}{losses[1]:>8.3f}{memory[0]:>8.0f}{memory[1]:>6.0f}"
    )


def _ratio(times: float) -> str:
    return f"{times:>8.2f}" if times < 1000 else f"{times:>8,.0f}"


def imports(name: str, taken: Sequence[tuple[float, float]], libraries: float) -> str:
    """Medians: of the import, in seconds and in imports of the libraries; of the first round, and over the import."""
    first, second = (statistics.median(one[i] for one in taken) for i in (0, 1))
    return (
        f"{label('import', '', '', name)}{first:>9.3f}{first / libraries:>14.2f}{second:>13.4f}{second / first:>11.2f}"
    )
