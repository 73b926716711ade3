"""Reports as a reader sees them: nothing cut, nothing mixed up, nothing impossible, nothing fetched, nothing said."""

import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginbandits.experiments.claims import chosen
from marginbandits.experiments.claims.claim import Claim
from marginbandits.experiments.curves import curves_chart, spread
from marginbandits.experiments.marks import PALETTE, Mark
from marginbandits.experiments.measure import METRICS
from marginbandits.experiments.report import text_table, write_report
from marginbandits.experiments.reproduce import Programme, write_page
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Failure, Outcome, Store
from marginbandits.experiments.summary import Summary
from marginbandits.types import Array
from tests.browser import FAULTS, Browser

HOSTILE = (
    "<script>console.log('in')</script>",
    "\"quoted\" & 'so' </style></td>{}",
    "HingeLMC(features=fourier, temperature=0.25, margin=learnt, n_particles=64, forget=0.001)",
    "A" * 70,
    "Supervised",
    "LinUCB",
)
FAILING = ("<u>Failing</u>(" + "alpha=1, " * 9 + ")", "B" * 70)
"""Learners that fail everywhere."""

A4 = 1031
"""Pixels on a sheet on its side, between margins of 12 mm."""


def stored(store: Store, n_learners: int, n_data: int, n_seeds: int, rounds: int = 120) -> None:
    """Outcomes of learners from nearly perfect to hopeless, on sets of every difficulty; two more fail, one waits.

    A last set is finished by nobody.
    """
    rng = np.random.default_rng(0)
    names = [*HOSTILE, *(f"Learner{i}(alpha={i / 7:.3f}, features=fourier)" for i in range(n_learners))][:n_learners]
    long = ["<i>set</i> & more", "a_data_set_with_a_name_of_its_own_" * 2]
    sets = [*long, *(f"set {i}" for i in range(n_data))][:n_data]
    metrics = {**dict.fromkeys(METRICS, 0.123456), "uniform_loss": 0.9, "rounds_per_second": 1e5, "state_bytes": 3e9}
    for (i, name), (j, data), seed in itertools.product(enumerate(names), enumerate(sets), range(n_seeds)):
        chance = min(0.98, 0.005 + i / n_learners * (0.4 + 0.6 * j / n_data)) + (0.02 * seed if i else 0.0)
        losses = (rng.random(rounds) < chance).astype(float)
        store.put(Outcome(key(name, data, seed), 5, losses, metrics))
    sets.append("an unfinished set, " * 6)
    for name, data, seed in [(names[0], sets[-1], 0), *itertools.product(FAILING, sets, range(n_seeds))]:
        store.put(Failure(key(name, data, seed), "Traceback\n  " + "x" * 300 + "\n<b>ValueError</b>: no"))
    store.set_facts(facts([*names, *FAILING, "Waiting"], sets, n_seeds, rounds))


def key(name: str, data: str, seed: int) -> str:
    return f"{name} {data} {seed}"


def facts(names: list[str], sets: list[str], n_seeds: int, rounds: int) -> dict[str, object]:
    """What a store remembers of a plan."""
    roles = ["skyline" if name == "Supervised" else "rival" for name in names]
    learners = [
        {"name": name, "class": name.partition("(")[0], "role": role} for name, role in zip(names, roles, strict=True)
    ]
    tasks = [[*one, key(*one)] for one in itertools.product(names, sets, range(n_seeds))]
    plan = {"rounds": rounds, "seeds": n_seeds, "shuffle": True, "learners": learners}
    command = "marginbandits bakeoff --learners " + ",".join(names)
    return {"run": "bakeoff", "plan": plan, "tasks": tasks, "command": command}


def bakeoff(path: Path, n_learners: int, n_data: int, n_seeds: int) -> Summary:
    with Store(":memory:") as store:
        stored(store, n_learners, n_data, n_seeds)
        return write_report(store, path)


def small(claim: Claim) -> Claim:
    """Two seeds and 50 rounds of its quick experiments."""
    units = [{**one, "T": 50} if "T" in one else one for one in claim.units(True) if one.get("seed", 0) < 2]
    return dataclasses.replace(claim, units=lambda _: units)


def paper(path: Path) -> None:
    """The paper's page with every kind of figure it has, from its cheapest experiments."""
    programme = Programme(
        [small(one) for one in chosen("calibration,figure-1,margin-adaptation,price-of-k")], quick=True
    )
    with Store(":memory:") as store:
        run_plan(programme, store, locally(1))
        write_page(programme, store, path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    bakeoff(folder / "many.html", 24, 12, 2)
    bakeoff(folder / "more.html", 40, 3, 2)
    bakeoff(folder / "few.html", 3, 2, 3)
    bakeoff(folder / "one.html", 1, 1, 1)
    with Store(":memory:") as store:
        store.put(Failure(key(FAILING[1], "d", 0), "ValueError: no"))
        store.set_facts(facts(["A", FAILING[1]], ["d"], 2, 20))
        write_report(store, folder / "none.html")
    paper(folder / "paper.html")
    return folder


def wrong(browser: Browser, page: Path, width: int) -> list[str]:
    """Everything a reader would not like; messages of the console and requests included."""
    browser.open(page, width)
    found: list[str] = browser.ask(FAULTS)
    fetched = [one for one in browser.requests if not one.startswith(("file:", "data:"))]
    return found + browser.messages + fetched


@pytest.mark.parametrize("width", [1200, 1000, 800, 400])
@pytest.mark.parametrize("name", ["many", "few", "one", "paper"])
def test_nothing_is_cut_and_nothing_is_said(name: str, width: int, browser: Browser, pages: Path) -> None:
    assert wrong(browser, pages / f"{name}.html", width) == []


@pytest.mark.parametrize("name", ["many", "few", "one", "paper"])
def test_paper_is_wide_enough(name: str, browser: Browser, pages: Path) -> None:
    browser.open(pages / f"{name}.html", A4, media="print")
    assert browser.ask("document.documentElement.scrollWidth") == A4


def test_more_columns_than_fit_move_in_their_frame(browser: Browser, pages: Path) -> None:
    assert set(wrong(browser, pages / "more.html", 1200)) == {
        "needs scrolling: Wins and losses",
        "needs scrolling: Loss by data set",
    }
    assert wrong(browser, pages / "more.html", 400) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<script>console.warn('hm')</script>", "hm"),
        ("<script>nothing()</script>", "nothing is not defined"),
        ("<img src='http://127.0.0.1:9/x.png'>", "127.0.0.1:9"),
        ("<p style='width:1300px'>wide</p>", "page: "),
        ("<p style='width:50px;overflow:hidden;white-space:nowrap'>a long sentence</p>", "cut: p."),
        ("<svg width='50' height='20'><text y='15' x='30'>outside</text></svg>", "outside its picture"),
        ("<svg viewBox='0 0 900 20' width='300'><text y='15'>tiny</text></svg>", "small: text."),
        (
            "<svg width='90' height='20'><text y='15'>one</text><text y='15' x='5'>two</text></svg>",
            "on top of each other",
        ),
        ("<p style='font-size:8px'>tiny</p>", "small: p."),
        ("<div class='scroll' style='overflow-x:auto'><table><tr><td><p style='width:2000px'>x", "first column moves"),
    ],
)
def test_the_looking_sees(body: str, words: str, browser: Browser, tmp_path: Path) -> None:
    """Negative controls: each fault is found on a page that has it."""
    (tmp_path / "page.html").write_text(f"<!doctype html><link rel='icon' href='data:,'><body>{body}")
    assert any(words in one for one in wrong(browser, tmp_path / "page.html", 1200))


def test_a_picked_learner_stands_out_with_its_band_only(browser: Browser, pages: Path) -> None:
    shown = "[...document.querySelectorAll('.band')].filter(e => e.getClientRects().length).map(e => e.classList[1])"
    faint = "[...document.querySelectorAll('.curve')].filter(e => getComputedStyle(e).opacity < 0.5).length"
    browser.open(pages / "many.html", 1200)
    assert browser.ask("document.querySelectorAll('.band').length") == 24 * 12
    assert len(browser.ask(shown)) == 12  # of each chart, the best learner's
    assert browser.ask(faint) == 0
    browser.ask("document.querySelector('#pick7').click()")
    assert browser.ask(shown) == ["s7"] * 12
    assert browser.ask(faint) == 23 * 12


def test_names_are_words_not_markup(browser: Browser, pages: Path) -> None:
    browser.open(pages / "many.html", 1200)
    names = browser.ask("[...document.querySelectorAll('.board .who > span')].map(e => e.firstChild.data)")
    assert names[0] == HOSTILE[0].split("(")[0] + "("  # a line may end after the bracket
    assert browser.ask("document.querySelectorAll('script, i, u').length") == 0
    assert browser.ask("[...document.querySelectorAll('figure h3')].map(e => e.textContent)[0]") == "<i>set</i> & more"


@pytest.mark.parametrize("width", [1200, 400])
def test_who_finished_nowhere_has_a_row_or_a_card(width: int, browser: Browser, pages: Path) -> None:
    """After all that are compared, with a dash for a number; beside its name if there is room, else under it."""
    browser.open(pages / "many.html", width)
    rows = browser.ask("[...document.querySelectorAll('.board tbody tr')].map(e => e.innerText.replace(/\\s+/g, ' '))")
    assert len(rows) == 24 + 3
    assert rows[24].strip() == f"– {FAILING[0]} failed, 26 of 26 tasks"
    assert rows[25].strip() == f"– {FAILING[1]} failed, 26 of 26 tasks"
    assert rows[26].strip() == "– Waiting not finished yet"
    boxes = (
        "(e => [e.previousElementSibling, e].map(e => e.getBoundingClientRect()).map(b => [b.left, b.right, b.top]))"
    )
    for place in range(3):
        name, why = browser.ask(f"{boxes}(document.querySelectorAll('.absent')[{place}])")
        if width > 940:
            assert why[0] >= name[1] - 1
        else:
            assert why[2] > name[2]
            assert why[:2] == pytest.approx(name[:2], abs=1)
    assert browser.ask("document.querySelector('.absent a').hash") == "#failed"
    assert browser.ask("document.querySelector('#failed').textContent") == "53 tasks failed"


def test_without_a_set_that_all_finished_the_page_says_so(browser: Browser, pages: Path) -> None:
    assert wrong(browser, pages / "none.html", 400) == []
    text = browser.ask("document.body.innerText")
    assert "No data set has been finished" in text
    assert "A: not finished yet" in text
    assert f"{FAILING[1]}: failed, 1 of 2 tasks" in text
    assert browser.ask("document.querySelectorAll('table, nav, figure').length") == 0


class TestMarks:
    def test_no_two_learners_look_the_same(self) -> None:
        looks = {(mark.colour, mark.dash, mark.shape) for mark in map(Mark.of, range(128))}
        assert len(looks) == 128
        assert [Mark.of(i).number for i in range(3)] == [1, 2, 3]

    def test_neighbours_differ_without_colour_too(self) -> None:
        """What comes back in colour after eight learners has another dash and another shape, up to 32."""
        for place in range(8):
            turns = [Mark.of(place + 8 * turn) for turn in range(4)]
            assert len({one.dash for one in turns}) == len({one.shape for one in turns}) == 4

    def test_colours_are_told_apart_by_colour_blind_readers(self) -> None:
        """All pairs 15 apart in CIELAB, where 2.3 is just noticed, also without red, green or blue cones."""
        rgb = np.array([[int(one[i : i + 2], 16) / 255 for i in (1, 3, 5)] for one in PALETTE])
        for seen in (np.eye(3), *BLIND):
            lab = cielab(np.clip(linear(rgb) @ seen.T, 0, 1))
            distance = np.linalg.norm(lab[:, None] - lab[None], axis=2) + 1000 * np.eye(len(lab))
            assert distance.min() > 15, (seen, distance.min())

    def test_every_line_ends_at_its_number(self) -> None:
        values = {f"L{i}": np.full((2, 30), 0.3) for i in range(24)}
        chart = curves_chart(values)
        for number in range(1, 25):
            assert f">{number}</text>" in chart
        heights = [float(y) for y in re.findall(r'y="([\d.]+)">\d+</text>', chart)]
        assert np.diff(sorted(heights)).min() > 11


BLIND = (
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
)
"""Protanopia, deuteranopia, tritanopia: Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB."""


def linear(rgb: Array) -> Array:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def cielab(rgb: Array) -> Array:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = rgb @ to_xyz.T / to_xyz.sum(1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


class TestImpossible:
    def test_intervals_of_two_seeds_end_where_losses_and_ranks_do(self, tmp_path: Path) -> None:
        summary = bakeoff(tmp_path / "report.html", 24, 12, 2)
        losses, ranks = [one.loss for one in summary.standings], [one.rank for one in summary.standings]
        assert all(0.0 <= one.low <= one.mean <= one.high <= 1.0 for one in losses)
        assert all(1.0 <= one.low <= one.mean <= one.high <= 24.0 for one in ranks)
        assert any(one.low == 0.0 for one in losses)  # Student's t alone would end below
        printed = re.findall(r"(\S+) to (\S+)", text_table(summary))
        assert len(printed) == 24
        assert all(0.0 <= float(low) <= float(high) <= 1.0 for low, high in printed)
        page = (tmp_path / "report.html").read_text()
        assert "Two seeds say little" in page
        assert not re.search(r"\b(nan|inf)\b", page)

    def test_one_seed_has_no_interval_and_a_scale_of_nothing_has_no_number(self, tmp_path: Path) -> None:
        with Store(":memory:") as store:
            for learner in ("A", "B"):
                metrics = {**dict.fromkeys(METRICS, 0.5), "uniform_loss": 0.5}
                store.put(Outcome(key(learner, "d", 0), 2, np.full(20, 0.5), metrics))
            store.set_facts(facts(["A", "B"], ["d"], 1, 20))
            summary = write_report(store, tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert "One seed says nothing" in page
        assert "95% over seeds" not in page
        for text in (page, text_table(summary)):
            assert not re.search(r"\b(nan|inf)\b", text)

    @given(st.lists(st.floats(0.0, 500.0), min_size=1, max_size=40))
    def test_numbers_at_the_ends_of_lines_keep_order_and_distance(self, wanted: list[float]) -> None:
        heights = np.array(spread(wanted, 11.5, 10.0, 520.0))
        order = np.argsort(wanted, kind="stable")
        assert np.all(np.diff(heights[order]) > 11.5 - 1e-6)
        assert heights.min() >= 10.0 - 1e-6
        assert heights.max() <= 520.0 + 1e-6
