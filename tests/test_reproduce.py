"""The paper's claims as experiments: every claim runs, verdicts follow the numbers, killed runs go on."""

import ast
import dataclasses
import inspect
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import marginbandits as mb
from marginbandits.cli import main
from marginbandits.evaluation import Interval, interval
from marginbandits.experiments.claims import (
    CLAIMS,
    calibration,
    chosen,
    many_cells,
    price_of_k,
)
from marginbandits.experiments.claims.claim import (
    Claim,
    Finding,
    Line,
    Measured,
    Parameters,
    Results,
    Unit,
    Verdict,
    bootstrapped,
    slope,
    verdict,
)
from marginbandits.experiments.claims.errata import ERRATA
from marginbandits.experiments.claims.judging import SHORTEST, TOLERANCE, bounded, grown, grows, learns
from marginbandits.experiments.claims.measuring import FARTHEST, NOTHING, OPPOSITE, control, limits, played
from marginbandits.experiments.reproduce import Programme, _drawn, judged, text_lines, write_page
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Store
from marginbandits.theory import Bound
from tests.marks import at_length

ROOT = Path(__file__).parent.parent


def tiny(claim: Claim) -> Claim:
    """The quick experiments with two seeds, few cases and short horizons; same structure, no power."""

    def smaller(one: Parameters) -> Parameters:
        short = {"n": min(one["n"], 300)} if "n" in one else {}
        if "T" in one and claim.name != "resampling":  # there T costs nothing
            short["T"] = one["T"] // 10
        return {**one, **short}

    few = [smaller(one) for one in claim.units(True) if one.get("seed", 0) < 2]
    return dataclasses.replace(claim, units=lambda _: few, controls=())


def found(claim: Claim) -> Finding:
    """Run in this process and judge."""
    return claim.judge(measured(claim.own(True)))


ON_A_PAGE = {
    "comparators-metric",
    "figure-1-learners",
    "hinge-lmc",
    "lipschitz",
    "margins",
    "oracle-comparators",
    "variance",
}
"""Claims that a document shows: `test_documents` runs them too."""


@pytest.mark.parametrize(
    "claim",
    [*(one for one in CLAIMS if one.name not in ON_A_PAGE), *at_length(one for one in CLAIMS if one.name in ON_A_PAGE)],
    ids=lambda one: one.name,
)
def test_every_claim_runs_and_is_judged(claim: Claim) -> None:
    finding = found(tiny(claim))
    assert finding.lines
    assert finding.charts
    for line in finding.lines:
        assert line.claim
        assert line.stated
        assert not re.search(r"\bnan\b|\binf\b", line.measured), line.measured
    for chart in finding.charts:
        drawn = _drawn(chart)
        assert "<svg" in drawn
        assert "nan" not in drawn


def test_claims_differ_by_name_and_say_where_they_stand() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)
    for claim in CLAIMS:
        assert re.search(r"section|appendix", claim.reference)
        assert all(number in ERRATA for number in claim.errata)
        for quick in (True, False):
            keys = [unit.key for unit in claim.tasks(quick)]
            assert len(set(keys)) == len(keys) > 0


def test_a_changed_module_or_parameter_is_another_experiment() -> None:
    keys = [unit.key for unit in programme().claims[0].tasks(True)]
    assert len(set(keys)) == 12
    assert [unit.key for unit in programme().claims[0].tasks(True)] == keys
    assert not set(keys) & {unit.key for unit in programme(breaks).claims[0].tasks(True)}
    renamed = dataclasses.replace(programme().claims[0], name="other", title="Other")
    assert [unit.key for unit in renamed.tasks(True)] == keys


def test_a_default_written_out_is_the_same_experiment() -> None:
    def one(**parameters: int) -> str:
        claim = dataclasses.replace(programme().claims[0], measure=defaulted, units=lambda _: [parameters])
        return claim.tasks(True)[0].key

    assert one(seed=1) == one(seed=1, T=5) != one(seed=1, T=6)


def test_no_experiment_is_taken_for_more_rounds_than_can_be_played() -> None:
    assert max(unit.size for claim in CLAIMS for unit in claim.tasks(False)) <= 10**8


def test_claims_and_kinds_take_turns() -> None:
    """Nothing is left out, neighbours are of different claims, and of each claim every kind comes before it returns."""
    claims = chosen("finite-classes,price-of-k")
    units = list(Programme(claims, quick=True).tasks())
    assert sorted(unit.key for unit in units) == sorted(unit.key for claim in claims for unit in claim.tasks(True))
    assert [unit.claim for unit in units[:6]] == [claim.name for claim in claims] * 3
    for claim in claims:
        kinds = [unit.kind for unit in units if unit.claim == claim.name]
        assert len(set(kinds[: len(set(kinds))])) == len(set(kinds)) > 2


def test_no_claim_reads_a_private_attribute() -> None:
    for claim in CLAIMS:
        tree = ast.parse(Path(inspect.getfile(claim.measure)).read_text())
        private = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr[0] == "_"]
        assert not [name for name in private if not name.startswith("__")], claim.name


def test_judges_return_data_not_pages() -> None:
    for claim in CLAIMS:
        text = Path(inspect.getfile(claim.measure)).read_text()
        assert "experiments.html" not in text
        assert "_chart(" not in text
        assert "forest(" not in text


# What quick experiments can decide exactly.


def test_lemmas_hold_and_printed_mistakes_are_seen() -> None:
    by_name = {claim.name: tiny(claim) for claim in CLAIMS}
    verdicts = {name: [line.verdict for line in found(by_name[name]).lines] for name in ("calibration", "variance")}
    assert set(verdicts["calibration"]) == {Verdict.HOLDS}
    assert set(verdicts["variance"]) == {Verdict.HOLDS}
    figure = found(by_name["figure-1"]).lines
    assert [line.verdict for line in figure].count(Verdict.CORRECTED) == 1
    assert "(p+2)/(p+4)" in next(line.claim for line in figure if line.verdict is Verdict.CORRECTED)
    resampling = found(dataclasses.replace(by_name["resampling"], units=chosen("resampling")[0].units)).lines
    assert [line.verdict for line in resampling] == [Verdict.CORRECTED, Verdict.CORRECTED, Verdict.HOLDS]
    separability = [line.verdict for line in found(by_name["separability"]).lines]
    assert separability[:3] == [Verdict.HOLDS, Verdict.CORRECTED, Verdict.CORRECTED]


# Negative controls: break something, and the verdict falls.


ALONE = {
    "comparators-metric",
    "figure-1-learners",
    "hinge-lmc",
    "lipschitz",
    "margins",
    "oracle-comparators",
    "separability",
}
"""Claims whose controls take long enough for `make soak`."""


@pytest.mark.parametrize(
    "claim",
    [*(one for one in CLAIMS if one.name not in ALONE), *at_length(one for one in CLAIMS if one.name in ALONE)],
    ids=lambda one: one.name,
)
def test_every_verdict_can_fall(claim: Claim) -> None:
    """Every line that a claim judges, quickly or in full, falls in one of its controls; an undecided one has not."""
    broken = claim.broken(True)
    assert broken, f"{claim.name} has no control"
    lines = [line for units in broken.values() for line in claim.judge(measured(units)).lines]
    fallen = {line.claim for line in lines if line.verdict.falls}
    assert {line.claim for line in lines} == fallen
    judged_at_all = {line.claim for quick in (True, False) for line in claim.judge(fake(claim, quick)).lines}
    assert judged_at_all <= fallen, judged_at_all - fallen


def measured(units: Sequence[Unit]) -> Results:
    return Results(Measured(unit.parameters, unit.run().values) for unit in units)


def fake(claim: Claim, quick: bool) -> Results:
    """The claim's own plan with numbers of no meaning, to see which lines it judges."""
    rng = np.random.default_rng(0)
    return Results(Measured(one, Anything(rng)) for one in claim.units(quick))


class Anything(Mapping[str, float]):
    """A number under every name."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def __getitem__(self, name: str) -> float:
        return float(self._rng.uniform(0.1, 0.9))

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_a_claim_without_a_control_or_with_an_idle_one_is_seen() -> None:
    bare = dataclasses.replace(calibration.CLAIM, controls=())
    with pytest.raises(AssertionError, match="no control"):
        test_every_verdict_can_fall(bare)
    idle = dataclasses.replace(calibration.CLAIM, controls=(control("", calibration.CLAIM.units),))
    with pytest.raises(AssertionError):
        test_every_verdict_can_fall(idle)


def test_a_learner_that_does_not_learn_is_over_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mb.ExponentialWeights, "_update", lambda *_: None)
    lines = found(tiny(price_of_k.CLAIM)).lines
    assert [line.verdict for line in lines if "for every K" in line.claim] == [Verdict.FAILS] * 2


# Bounds and exponents.


def runs(regret: float, bound: float, uniform: float, useful: float = 5000.0) -> Results:
    values = [{"regret": regret + x, "bound": bound, "uniform": uniform, "useful": useful} for x in (-1.0, 0.0, 1.0)]
    return Results(Measured({"T": 1000, "seed": seed}, one) for seed, one in enumerate(values))


@pytest.mark.parametrize(
    ("regret", "bound", "uniform", "expected"),
    [
        (100.0, 200.0, 500.0, Verdict.HOLDS),
        (300.0, 200.0, 500.0, Verdict.FAILS),
        (199.0, 200.0, 500.0, Verdict.UNDECIDED),
        (100.0, 501.0, 500.0, Verdict.IDLE),  # uniform play keeps it, too
        (900.0, 501.0, 500.0, Verdict.IDLE),  # and was better than this
        (-100.0, 200.0, -50.0, Verdict.IDLE),
        (900.0, 1000.0, 500.0, Verdict.VACUOUS),  # T = 1000: nothing exceeds it
    ],
)
def test_bounds_are_judged_where_uniform_play_would_break_them(
    regret: float, bound: float, uniform: float, expected: Verdict
) -> None:
    line = bounded("c", "s", {"": runs(regret, bound, uniform)})
    assert line.verdict is expected
    assert ("under which uniform play is too" in line.measured) is (expected in (Verdict.IDLE, Verdict.VACUOUS))
    assert "bound/T" in line.measured
    assert ("from T = 5,000 on" in line.measured) is (expected in (Verdict.IDLE, Verdict.VACUOUS))


def test_single_runs_over_the_bound_count_where_a_share_is_asked() -> None:
    each = {"bound": 200.0, "uniform": 500.0, "useful": 1.0}
    lucky = Results(Measured({"T": 1000, "seed": s}, {"regret": 250.0 if s < 2 else 0.0, **each}) for s in range(20))
    assert bounded("c", "s", {"": lucky}).verdict is Verdict.HOLDS
    assert bounded("c", "s", {"": lucky}, share=0.9).verdict is Verdict.HOLDS
    assert bounded("c", "s", {"": lucky}, share=0.95).verdict is Verdict.FAILS


def test_one_cell_over_its_bound_fails_and_one_that_does_not_bite_is_named() -> None:
    good, bad, idle = runs(1.0, 200.0, 500.0), runs(300.0, 200.0, 500.0), runs(900.0, 600.0, 500.0)
    assert bounded("c", "s", {"good": good, "idle": idle}).verdict is Verdict.HOLDS
    assert "does not bite in 1 of 2 cells (idle, T = 1,000" in bounded("c", "s", {"good": good, "idle": idle}).measured
    assert bounded("c", "s", {"good": good, "bad": bad, "idle": idle}).verdict is Verdict.FAILS


def test_limits_name_the_first_t_that_says_something() -> None:
    def root(T: int) -> Bound:
        return Bound("root", {"all": 10.0 * T**0.5}, T)

    for uniform in (900.0, 90.0):
        useful = int(limits(root, 1000, uniform)["useful"])
        assert root(useful).value < uniform / 1000 * useful
        assert root(useful - 1).value >= uniform / 1000 * (useful - 1)
    assert limits(lambda T: Bound("line", {"all": float(T)}, T), 1000, 900.0)["useful"] == FARTHEST


def test_the_first_t_is_that_of_the_mean_and_not_the_mean_of_each() -> None:
    """Uniform play loses 100, 500 or 900: the bound bites on the mean from where it is below 0.5 T."""

    def promised(_: Results) -> Callable[[int], Bound]:
        return lambda T: Bound("root", {"all": 20.0 * T**0.5}, T)

    lots = [(100.0, 40_000.0), (500.0, 1600.0), (900.0, 494.0)]
    values = [{"regret": 1.0, "bound": 632.0, "uniform": one, "useful": useful} for one, useful in lots]
    uneven = Results(Measured({"T": 1000, "seed": seed}, one) for seed, one in enumerate(values))
    words = bounded("c", "s", {"": uneven}, promised=promised).measured
    said = int(re.findall(r"from T = ([\d,]+) on", words)[0].replace(",", ""))
    assert promised(uneven)(said).value < 0.5 * said
    assert promised(uneven)(said - 1).value >= 0.5 * (said - 1)


def test_a_setting_that_never_bites_is_named_with_its_t() -> None:
    good, idle = runs(1.0, 200.0, 500.0), runs(900.0, 600.0, 500.0, useful=7000.0)
    words = bounded("c", "s", {"good": good, "idle": idle}).measured
    assert "at none of these T in idle, where it bites from T = 7,000 on" in words
    biting = (Measured({**one.parameters, "T": 4000}, {**one.values, "uniform": 900.0}) for one in idle)
    later = Results([*idle, *biting])
    assert "at none of these T" not in bounded("c", "s", {"good": good, "idle": later}).measured


def test_an_exponent_that_could_not_have_been_too_large_is_undecided() -> None:
    """It falls; its grid is short; or its interval is as wide as the way to the rival."""
    assert grown(Interval(-2.0, -2.5, -1.5), 0.5, rival=1.0) is Verdict.UNDECIDED
    narrow = Interval(0.5, 0.49, 0.51)
    spans = (0.99 * SHORTEST, SHORTEST)
    assert [grown(narrow, 0.5, rival=1.0, span=span) for span in spans] == [Verdict.UNDECIDED, Verdict.REACHED]
    assert grown(Interval(0.9, 0.88, 0.92), 0.5, rival=1.0, span=2.0) is Verdict.UNSEEN  # it fell nevertheless
    for half, expected in ((0.09, Verdict.UNDECIDED), (0.07, Verdict.REACHED)):
        assert grown(Interval(0.50, 0.50 - half, 0.50 + half), 0.67, rival=0.75) is expected
    line = grows("c", "s", {"": (Interval(-2.0, -2.5, -1.5), 0.5)}, rival=1.0, where="T from 8,000 to 64,000")
    assert line.verdict is Verdict.UNDECIDED
    assert "what falls has no exponent of growth" in line.measured


def test_a_bootstrap_covers_the_exponent() -> None:
    """Regret T^0.7 with a tenth of noise, five seeds: 95% intervals cover in 95% of 200 draws, up to four errors."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        noisy = Results(
            Measured({"T": T, "seed": s}, {"y": T**0.7 * rng.normal(1.0, 0.1)})
            for T in (1000, 4000, 16_000)
            for s in range(5)
        )
        low, high = bootstrapped(noisy, "T", "y")[1:]
        covered += low <= 0.7 <= high
    assert covered >= 200 * 0.95 - 4.0 * (200 * 0.95 * 0.05) ** 0.5
    assert bootstrapped(noisy.where(seed=0), "T", "y")[1:] == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.70, 0.80, Verdict.REACHED),
        (0.70, 0.80 + TOLERANCE, Verdict.REACHED),
        (0.79, 0.81 + TOLERANCE, Verdict.UNDECIDED),
        (0.60, 0.95, Verdict.UNDECIDED),  # too few seeds: below the rival, and nothing is shown
        (0.81, 0.81 + TOLERANCE, Verdict.UNSEEN),
    ],
)
def test_an_exponent_is_at_most_the_bounds_if_its_whole_interval_is(low: float, high: float, expected: Verdict) -> None:
    assert grown(Interval(0.5 * (low + high), low, high), 0.80, rival=1.0) is expected


def test_the_tolerance_never_reaches_the_rival() -> None:
    assert grown(Interval(0.77, 0.74, 0.79), 0.75, rival=0.80) is Verdict.UNDECIDED
    assert grown(Interval(0.76, 0.74, 0.775), 0.75, rival=0.80) is Verdict.REACHED


def test_fewer_seeds_do_not_help_an_exponent() -> None:
    """A true exponent 0.04 above the bound's, with a spread of 0.06 over seeds: 2,000 draws of 5 and of 20 seeds."""
    rng = np.random.default_rng(0)

    def held(n: int) -> float:
        each = [grown(interval(rng.normal(0.84, 0.06, n)), 0.80, rival=1.0) for _ in range(2000)]
        return each.count(Verdict.REACHED) / len(each)

    assert held(5) < held(20) + 0.02 < 0.1
    assert grown(interval(rng.normal(0.80, 0.03, 20)), 0.80, rival=1.0) is Verdict.REACHED


def test_slow_growth_is_no_merit_of_who_does_not_learn() -> None:
    def over_d(share: float) -> Results:
        rng = np.random.default_rng(0)
        return Results(
            Measured({"d": d, "seed": s}, {"regret": 100.0 * share + rng.normal(), "uniform": 100.0})
            for d in (2, 4)
            for s in range(4)
        )

    assert learns(over_d(0.5), "d") is Verdict.REACHED
    assert learns(over_d(1.0), "d") is Verdict.UNSEEN
    flat = {"": (Interval(0.0, -0.01, 0.01), 0.5)}
    lines = [grows("c", "s", flat, rival=1.0, where="", learnt=[learns(over_d(one), "d")]) for one in (0.5, 1.0)]
    assert [line.verdict for line in lines] == [Verdict.REACHED, Verdict.UNSEEN]


@pytest.mark.parametrize("told", [NOTHING, OPPOSITE])
def test_who_is_told_something_else_loses_by_the_truth(told: str) -> None:
    env = mb.environments.HingeRealizable(2, 2, 300, seed=0)
    broken = played(mb.SquareCB(2, seed=0), env, told)
    assert broken.all_losses is not None
    np.testing.assert_array_equal(broken.losses, broken.all_losses[np.arange(300), broken.actions])
    assert broken.losses.mean() > 0.3 > 0.1 > played(mb.SquareCB(2, seed=0), env).losses.mean()


def test_weights_of_cells_are_those_over_all_policies() -> None:
    """Exponential weights over all 2^m policies on m cells, in one learner and as a product."""
    m, T = 3, 60
    rng = np.random.default_rng(0)
    cells, losses = rng.integers(m, size=T), (rng.random((T, 2)) < 0.4).astype(float)
    policies = np.array(list(itertools.product((0, 1), repeat=m)))
    weights = np.stack([1.0 - 2.0 * policies, 2.0 * policies - 1.0], 1)  # N x K x m: ±1 on the cell's column
    agent = mb.ExponentialWeights(2, regressors=weights, surrogate="policy", horizon=T, seed=0)
    laws, draws = [], np.empty(T)
    for t, context in enumerate(np.eye(m)[cells]):
        decision = agent.act(context)
        assert decision.distribution is not None
        laws.append(decision.distribution[1])
        draws[t] = 0.0 if decision.action == 1 else 1.0 - 1e-12
        agent.learn(context, decision, loss=losses[t, decision.action])
    np.testing.assert_allclose(many_cells.product_weights(cells, losses, m, draws), laws, atol=1e-5)


def test_verdicts() -> None:
    assert verdict(True, corrected=False) is Verdict.HOLDS
    assert verdict(False, corrected=False) is Verdict.FAILS
    assert verdict(True, rate=True) is Verdict.REACHED


def test_slopes_are_exponents() -> None:
    results = Results(Measured({"T": T, "seed": s}, {"y": (s + 1) * T**0.7}) for T in (10, 100, 1000) for s in range(3))
    assert slope(results, "T", "y").mean == pytest.approx(0.7)


# Running.


def waits(seed: int) -> Mapping[str, float]:
    """An experiment that takes its time."""
    time.sleep(0.15)
    return {"value": np.random.default_rng(seed).random()}


def breaks(seed: int) -> Mapping[str, float]:
    raise RuntimeError("no such luck")


def defaulted(seed: int, T: int = 5) -> Mapping[str, float]:
    return {"value": float(seed * T)}


def mean(results: Results) -> Finding:
    return Finding([Line("c", "s", f"{results.values('value').mean()!r}", verdict(True))], [])


def programme(measure: Any = waits) -> Programme:
    units: list[Parameters] = [{"seed": seed} for seed in range(12)]
    return Programme([Claim("waits", "Waiting", "section 0", "It waits.", measure, lambda _: units, mean)])


SCRIPT = """
import sys
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Store
from tests.test_reproduce import programme

if __name__ == "__main__":
    with Store(sys.argv[1]) as store:
        run_plan(programme(), store, locally(int(sys.argv[2])), progress=lambda _: print("tick", flush=True))
"""


def contents(store: Store) -> dict[str, Mapping[str, float]]:
    return {key: one.values for key, one in store.experiments(store.finished()).items()}


@pytest.mark.soak
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_midway_and_run_again_ends_the_same(workers: int, tmp_path: Path) -> None:
    script, file = tmp_path / "script.py", tmp_path / "results.sqlite"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    with subprocess.Popen(
        [sys.executable, str(script), str(file), str(workers)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as broken:
        assert broken.stdout is not None
        for _ in range(3):
            assert broken.stdout.readline() == "tick\n"
        broken.send_signal(signal.SIGKILL)
    with Store(":memory:") as whole, Store(file) as store:
        assert 3 <= len(store.finished()) < 12
        assert "not judged" in judged(programme(), store)[0].notes[0]
        run_plan(programme(), store, locally(1))
        run_plan(programme(), whole, locally(1))
        assert contents(store) == contents(whole)
        assert text_lines(judged(programme(), store)) == text_lines(judged(programme(), whole))


def first_four(claim: Claim) -> Callable[[bool], list[Parameters]]:
    return lambda quick: list(claim.units(quick)[:4])


def test_one_process_or_two_the_same_numbers() -> None:
    claims = [tiny(claim) for claim in chosen("margin-adaptation,resampling")]
    few = [dataclasses.replace(claim, units=first_four(claim)) for claim in claims]
    with Store(":memory:") as alone, Store(":memory:") as together:
        for store, workers in ((alone, 1), (together, 2)):
            assert run_plan(Programme(few, quick=True), store, locally(workers)) == 0
        assert contents(alone) == contents(together)
        assert len(contents(alone)) == 8


def test_experiments_that_fail_are_on_the_page(tmp_path: Path) -> None:
    with Store(":memory:") as store:
        assert run_plan(programme(breaks), store, locally(1)) == 12
        write_page(programme(breaks), store, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "12 tasks failed" in page
    assert "waits: seed=3" in page
    assert "no such luck" in page
    assert "not judged" in page


# The command.


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *arguments])


def test_the_command_writes_a_page_and_resumes(tmp_path: Path) -> None:
    arguments = ["--quick", "--only", "calibration,figure-1", "--jobs", "1", "--out", str(tmp_path / "new" / "folder")]
    first, again = run(*arguments), run(*arguments)
    assert first.exit_code == 0, first.output
    assert "35 experiments for 2 claims; 0 done, 35 to go" in first.output
    assert "35 experiments for 2 claims; 35 done, 0 to go" in again.output
    assert first.output.splitlines()[1:] == again.output.splitlines()[1:]
    assert "fails as printed, holds as corrected  For p <= 2" in first.output
    page = (tmp_path / "new" / "folder" / "reproduce.html").read_text()
    for words in ("The paper, run", "Figure 1", "<svg", "<sup>(p+2)/(p+4)</sup>", "rest on 0 intervals of 95%"):
        assert words in page
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert {"E20", "calibration", "figure-1"} <= links <= set(re.findall(r'id="([^"]+)"', page))
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in page


@pytest.mark.soak
def test_the_command_runs_on_dask_and_its_folder_is_exported(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    result = run("--quick", "--only", "figure-1", "--jobs", "2", "--dask", "local", "--out", out)
    assert result.exit_code == 0, result.output
    with Store(":memory:") as alone, Store(tmp_path / "out" / "results.sqlite") as cluster:
        run_plan(Programme(chosen("figure-1"), quick=True), alone, locally(1))
        assert contents(alone) == contents(cluster)
        assert cluster.outcomes(cluster.finished()) == {}  # no bake-off's row in disguise
    table = CliRunner().invoke(main, ["export", out]).output.splitlines()
    assert table[0].startswith("claim,p,broken,measured,value")
    assert len(table) == 1 + 2 * 10 * 4
    file = tmp_path / "o.parquet"
    assert CliRunner().invoke(main, ["export", out, "--format", "parquet", "--to", str(file)]).exit_code == 0
    assert file.read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "figure1"], "did you mean 'figure-1'"),
        (["--only", ","], "name at least one claim"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--fast"], "No such option"),
    ],
)
def test_typos_are_answered(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in result.output
    assert not list(tmp_path.iterdir())
