"""The paper's claims as experiments: every claim runs, verdicts follow the numbers, killed runs go on."""

import ast
import dataclasses
import inspect
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
from marginbandits.experiments.claims import (
    CLAIMS,
    calibration,
    chosen,
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
    verdict,
)
from marginbandits.experiments.claims.errata import ERRATA
from marginbandits.experiments.claims.measuring import control
from marginbandits.experiments.reproduce import Programme, _drawn, judged, text_lines, write_page
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Store
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


LONG = {"comparators-metric", "figure-1-learners", "hinge-lmc", "lipschitz", "margins", "oracle-comparators"}
ON_A_PAGE = {*LONG, "variance"}
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


ALONE = {*LONG, "separability"}
"""Claims whose controls take long enough for `make soak`."""


@pytest.mark.parametrize(
    "claim",
    [*(one for one in CLAIMS if one.name not in ALONE), *at_length(one for one in CLAIMS if one.name in ALONE)],
    ids=lambda one: one.name,
)
def test_every_verdict_can_fall(claim: Claim) -> None:
    """Every line that a claim judges falls in one of its controls; an undecided one has not.

    A full run may have more lines and more of the controls, of which what a quick one has is not run twice.
    """
    kept: dict[str, Measured] = {}
    for quick in (True, False):
        broken = claim.broken(quick)
        assert broken, f"{claim.name} has no control"
        kept |= {unit.key: once(unit) for units in broken.values() for unit in units if unit.key not in kept}
        told = [Results(kept[unit.key] for unit in units) for units in broken.values()]
        lines = [line for results in told for line in claim.judge(results).lines]
        fallen = {line.claim for line in lines if line.verdict.falls}
        judged_at_all = {line.claim for line in [*lines, *claim.judge(fake(claim, quick)).lines]}
        assert judged_at_all == fallen, judged_at_all - fallen


def once(unit: Unit) -> Measured:
    return Measured(unit.parameters, unit.run().values)


def measured(units: Sequence[Unit]) -> Results:
    return Results(map(once, units))


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
