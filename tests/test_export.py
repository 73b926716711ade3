"""What was measured as flat tables: bake-offs and reproductions, CSV and Parquet, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import marginbandits as mb
from marginbandits.experiments.claims import chosen
from marginbandits.experiments.export import rows, to_csv, to_parquet
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.reproduce import Programme
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.specs import LearnerSpec
from marginbandits.experiments.store import Store

EVIL = ("=1+1", "+cmd", "-2", "@SUM(A1)", "\tx", "\rx", "a=b")


@pytest.fixture(scope="module")
def bakeoff() -> Iterator[Store]:
    learners = [LearnerSpec(name, mb.Uniform) for name in EVIL]
    with Store(":memory:") as store:
        run_plan(Plan.of(data=["iris"], learners=learners, rounds=20, seeds=2), store, locally(1))
        yield store


@pytest.fixture(scope="module")
def reproduction() -> Iterator[Store]:
    with Store(":memory:") as store:
        run_plan(Programme(chosen("figure-1,resampling"), quick=True), store, locally(1))
        yield store


def test_a_bake_off_has_a_row_per_task(bakeoff: Store, tmp_path: Path) -> None:
    text = to_csv(bakeoff)
    assert text.startswith("data,learner,class,role,seed,n_actions,rounds,loss")
    assert len(rows(bakeoff)) == 2 * len(EVIL)
    to_parquet(bakeoff, tmp_path / "o.parquet")
    table = pq.read_table(tmp_path / "o.parquet")
    assert table.num_rows == 2 * len(EVIL)
    assert table["learner"].to_pylist()[: len(EVIL)] == list(EVIL)  # Parquet is typed: text is text


def test_no_text_cell_is_a_formula_and_numbers_stay_numbers(bakeoff: Store) -> None:
    table = list(csv.DictReader(io.StringIO(to_csv(bakeoff), newline="")))
    for row in table:
        assert not row["learner"].startswith(("=", "+", "-", "@", "\t", "\r"))
        assert 0.0 <= float(row["loss"]) <= 1.0
    assert {row["learner"] for row in table} == {f"'{name}".replace("\r", " ") for name in EVIL[:-1]} | {"a=b"}


def test_a_negative_number_is_no_formula(reproduction: Store) -> None:
    cells = {row["value"] for row in csv.DictReader(io.StringIO(to_csv(reproduction)))}
    assert not any(cell.startswith("'") for cell in cells)


def test_a_reproduction_has_a_row_per_number(reproduction: Store, tmp_path: Path) -> None:
    table = list(csv.DictReader(io.StringIO(to_csv(reproduction))))
    assert {row["claim"] for row in table} == {"figure-1", "resampling"}
    one = next(row for row in table if row["claim"] == "resampling" and row["measured"] == "draws")
    assert (one["K"], one["T"], one["cap"], one["p"]) == ("2", "1000", "printed", "")
    assert 0.0 < float(one["value"]) <= 2.0
    to_parquet(reproduction, tmp_path / "o.parquet")
    frame = pq.read_table(tmp_path / "o.parquet")
    assert frame.num_rows == len(table) == 2 * 10 * 4 + 3 * 16 * 8  # with one control, and with two
    assert str(frame.schema.field("p").type) == "double"
    assert str(frame.schema.field("T").type) == "int64"


def test_nothing_finished_is_said(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(ValueError, match="neither a bake-off nor a reproduction"):
            rows(store)
        store.set_facts(Plan.of(data=["iris"], learners=["Uniform"], rounds=20, seeds=1).facts())
        with pytest.raises(ValueError, match="nothing has been finished yet"):
            rows(store)
