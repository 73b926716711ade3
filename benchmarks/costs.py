"""What one round costs against rounds done, actions and columns, for every learner that competes.

    python benchmarks/costs.py [--seconds 5] [--figure docs/images/costs.png]

A round is `act` and `learn` from Python, in microseconds of the processor's time on one thread: the mean over the
rounds of a window, those that find a leader or grow a tree among them; for learners with compiled rounds, which do the
same in all of them, the median. Contexts are dense vectors, labels of a linear rule.

    against t    20 columns, 10 actions: the rounds from t to 5t/4, to t = 10^6 or as far as `--seconds` go. What has
                 compiled rounds plays those in between with `simulate`, at most 2,000 of a window, and four times as
                 long.
    against K    20 columns, rounds 500 to 625
    against d    5 actions, rounds 500 to 625

A point against K or d has half of `--seconds`; if they end before round 500, the last fifth of the rounds counts, but
never the first one, which makes room, nor those after which all rounds so far are learnt anew (8, 16, ..., 256, of
learners that do so): they are six in all, and among the worst. It is left out where the learner refuses for want of
memory, or five rounds would take longer, by what ten times as much of the same made of the point before.

Memory is asked for in small pages: where it comes in large ones, the first touch of each may cost milliseconds. The
collector of Python looks at what learners make, and not at what was imported.

The exponent is the slope of the logarithms by least squares, from t = 10^3, K = 10 and d = 100 on; then the least and
the largest slope between neighbours. At last, two rounds that once took hundreds of milliseconds.
"""

import argparse
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ["NUMPY_MADVISE_HUGEPAGE"] = "0"

import numpy as np
from beside.asked import count, picture, seconds, some_of

import marginbandits as mb
from marginbandits.experiments.specs import known_learners
from marginbandits.pictures import figure
from marginbandits.state import TooLargeError
from marginbandits.types import FullInformation

SIZES = {"t": (100, 1_000, 10_000, 100_000, 1_000_000), "K": (2, 10, 100, 1_000), "d": (10, 100, 1_000, 10_000)}
FROM = {"t": 1_000, "K": 10, "d": 100}
"""Where exponents begin."""
WINDOW, ROUND, FEW = 2_000, 500, 5
FAMILIES = {
    "#0072B2": ("LinUCB", "LinTS", "EpsilonGreedy", "LogisticTS"),
    "#D55E00": ("SquareCB", "RegCB", "Bag", "Cover"),
    "#009E73": ("HingeLMC", "SmoothFTL", "LipschitzFTL", "Mixture"),
    "#CC79A7": ("Banditron", "Newtron", "SOBA"),
    "#000000": ("EpochGreedy", "NearestNeighbours", "Binning", "Uniform"),
}
"""Colours that the colour-blind tell apart, and whom they are for; markers tell those of one colour apart."""


class Point(NamedTuple):
    """What rounds cost at one size, in microseconds, and the longest of them."""

    size: int
    cost: float
    worst: float
    round: int


class Left(NamedTuple):
    """A size without a point, and why."""

    size: int
    why: str


class Game:
    """Rounds of a linear rule, over and over, every one on the clock."""

    def __init__(self, build: Callable[..., mb.Learner], d: int, K: int, rows: int, *, by_action: bool = False) -> None:
        rng = np.random.default_rng(0)
        self.contexts = rng.standard_normal((rows, K, d) if by_action else (rows, d))
        rule = rng.standard_normal(d if by_action else (d, K))
        self.losses = 1.0 - np.eye(K)[(self.contexts @ rule).argmax(1)]
        self.agent = build(K, seed=0)
        self.seconds: list[float] = []
        self.rounds: list[int] = []
        self.t = 0

    def play(self, until: int, budget: float) -> None:
        """One round after another from Python, as long as the seconds last."""
        end = time.process_time() + budget
        after = 0.0
        while self.t < until and after < end:
            x, losses = self.contexts[self.t % len(self.losses)], self.losses[self.t % len(self.losses)]
            before = time.process_time()
            decision = self.agent.act(x)
            self.agent.learn(x, decision, losses[decision.action])
            after = time.process_time()
            self.seconds.append(after - before)
            self.rounds.append(self.t)
            self.t += 1

    def skip(self, until: int, budget: float) -> None:
        """The same in compiled code, where there is any: those rounds are not on the clock."""
        end, count = time.process_time() + budget, 1
        while self.t < until and time.process_time() < end and self.agent._swift is not None:
            first = self.t % len(self.losses)
            some = slice(first, min(len(self.losses), first + count, first + until - self.t))
            mb.simulate(self.agent, mb.Oblivious.of(self.contexts[some], self.losses[some]), laws=False)
            self.t += some.stop - some.start
            count *= 2

    def point(self, size: int, first: int, last: int) -> Point:
        """Of the rounds from `first` to `last`; the worst is that of all rounds so far, but for the very first."""
        spent, rounds = 1e6 * np.array(self.seconds), np.array(self.rounds)
        worst = 1 + int(spent[1:].argmax())
        anew = np.isin(rounds + 1, 2 ** np.arange(3, 9)) & (self.agent.EARLY > 0)
        window = spent[(rounds >= first) & (rounds < last) & ~anew]
        if not window.size:
            window = spent[1:][~anew[1:]]
        usual = np.median(window) if self.agent._swift is not None else window.mean()
        return Point(size, float(usual), float(spent[worst]), int(rounds[worst]))


def against_rounds(build: Callable[..., mb.Learner], longest: int, budget: float) -> list[Point | Left]:
    game, found = Game(build, 20, 10, 4_096), list[Point | Left]()
    end = time.process_time() + budget
    for t in (size for size in SIZES["t"] if size <= longest):
        game.play(min(t, 10), budget)  # until there is something to skip with
        compiled = game.agent._swift is not None
        if compiled and not found:
            end += 3.0 * budget
        game.skip(t, end - time.process_time())
        game.play(t + (min(t // 4, WINDOW) if compiled else t // 4), end - time.process_time())
        if time.process_time() >= end:
            if not compiled or not found:  # every round so far was on the clock, or there is nothing else
                found.append(game.point(game.t, 4 * game.t // 5, game.t))
            found.append(Left(t, f"stopped at t = {game.t:,}"))
            return found
        found.append(game.point(t, t, game.t))
    return found


def against_size(
    build: Callable[..., mb.Learner], axis: str, largest: int, rounds: int, budget: float
) -> list[Point | Left]:
    found: list[Point | Left] = []
    cost = 0.0
    for size in (one for one in SIZES[axis] if one <= largest):
        d, K = (20, size) if axis == "K" else (size, 5)
        if FEW * cost > budget:
            found.append(Left(size, f"a round would take about {1e3 * cost:,.0f} ms"))
            continue
        try:
            game = Game(build, d, K, rounds + rounds // 4)
            game.play(1, budget)
        except TooLargeError as error:
            found.append(Left(size, str(error).split(": ")[-1]))
            continue
        game.play(10, budget / 2.0)
        game.skip(rounds, budget / 2.0)
        game.play(rounds + rounds // 4, budget)
        point = game.point(size, max(1, min(rounds, 4 * game.t // 5)), game.t)
        before = found[-1] if found else None
        growth = point.cost / before.cost if isinstance(before, Point) else 1.0
        cost = 1e-6 * point.cost * max(growth, 1.0)
        found.append(point)
    return found


def exponent(axis: str, points: list[Point]) -> tuple[float, float, float] | None:
    """The slope of log cost, and the least and the largest between neighbours."""
    upper = [one for one in points if one.size >= FROM[axis]]
    if len(upper) < 2:
        return None
    x, y = np.log([one.size for one in upper]), np.log([one.cost for one in upper])
    steps = np.diff(y) / np.diff(x)
    return float(np.polyfit(x, y, 1)[0]), float(steps.min()), float(steps.max())


def slope(axis: str, points: list[Point]) -> str:
    found = exponent(axis, points)
    return "–" if found is None else "{:.2f} ({:.2f} to {:.2f})".format(*found)


def worst(found: dict[str, list[Point | Left]], axes: str) -> str:
    """The longest round, and where it was."""
    every = [(one, axis) for axis in axes for one in found[axis] if isinstance(one, Point)]
    point, axis = max(every, key=lambda one: one[0].worst)
    at = f"t = {point.round:,}" + (f", {axis} = {point.size:,}" if axis != "t" else "")
    return f"{point.worst / 1e3:>8.1f} at {at}"


def measured(name: str, options: argparse.Namespace) -> dict[str, list[Point | Left]]:
    build = known_learners()[name]
    warm = Game(build, 20, 10, 512)
    for t in (100, 110, 400):  # all that is compiled is compiled, on both ways
        warm.play(t, np.inf)
        warm.skip(t + 5, np.inf)
    found = {"t": against_rounds(build, options.rounds, options.seconds)}
    for axis in ("K", "d"):
        found[axis] = against_size(build, axis, options.largest, min(ROUND, options.rounds), options.seconds / 2.0)
    return found


def points(found: list[Point | Left]) -> list[Point]:
    return [one for one in found if isinstance(one, Point)]


def show(name: str, found: dict[str, list[Point | Left]]) -> None:
    base = min(points(found["t"]), key=lambda one: abs(one.size - 1_000))
    slopes = "".join(f"{slope(axis, points(found[axis])):>24}" for axis in SIZES)
    print(f"{name:<18}{base.cost:>8.1f}{slopes}  {worst(found, 't'):<26}{worst(found, 'Kd')}", flush=True)


def draw(every: dict[str, dict[str, list[Point | Left]]], path: Path) -> None:
    canvas = figure(10.0, 7.2)
    titles = {"t": "rounds done, t", "K": "actions, K", "d": "columns, d"}
    settings = {"t": "d = 20, K = 10", "K": "d = 20, t = 500", "d": "K = 5, t = 500"}
    panels = canvas.subplots(1, 3, sharey=True)
    ends: dict[str, list[tuple[int, float, str, str]]] = {axis: [] for axis in SIZES}
    for panel, axis in zip(panels, SIZES, strict=True):
        for colour, family in FAMILIES.items():
            for marker, name in zip("os^D", family, strict=False):
                own = points(every[name][axis]) if name in every else []
                if not own:
                    continue
                x, y = [one.size for one in own], [one.cost for one in own]
                panel.plot(x, y, color=colour, marker=marker, ms=4, lw=1.1, alpha=0.9)
                found = exponent(axis, own)
                ends[axis].append((x[-1], y[-1], f"{name} {found[0]:.2f}" if found else name, colour))
        panel.set(xscale="log", yscale="log", xlabel=titles[axis])
        panel.set_xticks(SIZES[axis], [f"$10^{len(str(size)) - 1}$" if size > 2 else "2" for size in SIZES[axis]])
        panel.set_xticks([], minor=True)
        panel.set_title(settings[axis], fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25, lw=0.5)
        panel.spines[["top", "right"]].set_visible(False)
    for panel, axis in zip(panels, SIZES, strict=True):  # once all have the same limits
        label(panel, ends[axis], SIZES[axis])
    panels[0].set_ylabel("microseconds of one round; behind each name its exponent")
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path)
    print(f"figure: {path}")


def label(panel: Any, ends: list[tuple[int, float, str, str]], sizes: tuple[int, ...]) -> None:
    """A name to the right of where each line ends, as near as the others leave room."""
    low, high = (float(np.log10(limit)) for limit in panel.get_ylim())
    apart = (high - low) / 34.0
    ends = sorted(ends, key=lambda one: one[1])
    wanted = np.log10([one[1] for one in ends])
    places = wanted.copy()
    for _ in range(1_000):  # whoever is too near gives way, both by as much
        near = np.maximum(apart - np.diff(places), 0.0)
        places[1:] += near / 2.0
        places[:-1] -= near / 2.0
        places = np.clip(places, low, high - apart / 2.0)
    left, right = sizes[0] * 0.7, sizes[-1]
    reach = (right / left) ** 0.8
    panel.set_xlim(left, right * reach)
    for (x, y, text, colour), place in zip(ends, places, strict=True):
        at = right * (right / left) ** 0.09
        panel.plot([x, at * 0.93], [y, 10.0**place], color=colour, lw=0.5, ls=":", alpha=0.8)
        panel.text(at, 10.0**place, text, color=colour, fontsize=7.5, va="center")


def once_slow(budget: float, K: int = 1_000, d: int = 50) -> None:
    """LinTS with many actions; SmoothFTL's longest round with a row for each action, and with one for all."""
    game = Game(mb.LinTS, d, K, 64)
    game.play(1, budget)
    game.play(64, budget)
    print(f"\nLinTS, K = {K:,}, d = {d}: {game.point(K, 1, 64).cost / 1e3:.2f} ms a round")
    for by_action, contexts in ((True, "K x d contexts"), (False, "vectors")):
        game = Game(mb.SmoothFTL, d, K, 256 if by_action else 2_048, by_action=by_action)
        game.play(1, budget)
        game.play(20_000, budget)
        point = game.point(K, 1, game.t)
        print(
            f"SmoothFTL, K = {K:,}, d = {d}, {contexts}: {point.worst / 1e3:.1f} ms the longest of "
            f"{game.t:,} rounds, {point.cost / 1e3:.2f} ms the mean",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=seconds, default=5.0, help="of each learner against t")
    parser.add_argument("--rounds", type=count, default=max(SIZES["t"]), help="the largest t")
    parser.add_argument("--largest", type=count, default=max(SIZES["d"]), help="the largest K and d")
    rivals = [name for name, cls in known_learners().items() if not issubclass(cls, FullInformation)]
    parser.add_argument(
        "--learners", type=some_of(rivals), default="", help="names with commas between them; all by default"
    )
    parser.add_argument("--figure", type=picture, help="where to draw the figure; nowhere by default")
    options = parser.parse_args()
    if options.rounds < 100 or options.largest < 10:
        parser.error("--rounds must be at least 100, and --largest 10: the least that is measured")
    names = options.learners.split(",") if options.learners else sorted(rivals, key=str.lower)
    exponents = "".join(f"{'exponent in ' + axis:>24}" for axis in SIZES)
    print(f"{'learner':<18}{'µs':>8}{exponents}  {'worst ms, against t':<26}worst ms, against K and d")
    every: dict[str, dict[str, list[Point | Left]]] = {}
    gc.freeze()
    for name in names:
        every[name] = measured(name, options)
        show(name, every[name])
    gc.unfreeze()
    print()
    for name, found in every.items():
        for axis in SIZES:
            for one in found[axis]:
                if isinstance(one, Left):
                    print(f"without {axis} = {one.size:,}: {name}, {one.why}")
    once_slow(options.seconds / 2.0)
    if options.figure is not None:
        draw(every, options.figure)


if __name__ == "__main__":
    main()
