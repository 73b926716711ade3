"""What is written is read again: bit for bit, whatever the rounds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginbandits as mb
from tests.logs.examples import event, json_log, same, some_rounds

ALL = ("actions", "losses", "probabilities", "laws", "keys")
WORD = st.text("abcxyzé_0123456789.", min_size=1, max_size=6).filter(lambda one: one[0] not in "_")
NUMBER = st.floats(-1e100, 1e100, allow_nan=False)
VALUE = NUMBER | st.booleans() | WORD | st.none() | st.lists(WORD, min_size=1, max_size=3)
CONTEXT = st.dictionaries(WORD, VALUE | st.dictionaries(WORD, VALUE, max_size=3), max_size=4)
FEATURE = st.text("abcxyz", min_size=1, max_size=4)
TEXT_VALUES = st.dictionaries(FEATURE, NUMBER | st.just(True) | FEATURE, min_size=1, max_size=3)
TEXT_CONTEXT = st.dictionaries(st.text("ABC", min_size=1, max_size=2), TEXT_VALUES, min_size=1, max_size=3)
LOSS = st.floats(0, 1)
PROBABILITY = st.floats(1e-15, 1)
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def outcomes(draw: Any, n: int, k: int) -> dict[str, Any]:
    several: dict[str, Any] = {"min_size": n, "max_size": n}
    return {
        "actions": np.array(draw(st.lists(st.integers(0, k - 1), **several)), np.int64),
        "losses": np.array(draw(st.lists(LOSS, **several))),
        "probabilities": np.array(draw(st.lists(PROBABILITY, **several))),
        "keys": [f"k{i}" for i in range(n)],
    }


@st.composite
def dense(draw: Any) -> mb.Rounds:
    n = draw(st.integers(1, 6))
    contexts = np.array(draw(st.lists(st.lists(NUMBER, min_size=2, max_size=2), min_size=n, max_size=n)))
    return mb.Rounds(contexts, **outcomes(draw, n, 3), labels=("a", "b", "c"), columns=("u", "v"))


@st.composite
def named(draw: Any, context: Any = CONTEXT) -> mb.Rounds:
    n = draw(st.integers(1, 6))
    contexts = draw(st.lists(context, min_size=n, max_size=n))
    return mb.Rounds(contexts, **outcomes(draw, n, 3), labels=("1", "2", "3"))


@st.composite
def offering(draw: Any, context: Any = CONTEXT, features: Any = CONTEXT) -> mb.Rounds:
    n = draw(st.integers(1, 4))
    contexts = draw(st.lists(context, min_size=n, max_size=n))
    named = st.lists(st.tuples(WORD, features), min_size=3, max_size=4, unique_by=lambda one: one[0])
    offers: Any = [dict(draw(named)) for _ in contexts]
    return mb.Rounds(contexts, **outcomes(draw, n, 3), offers=offers)


@FEW
@given(dense() | named())
@pytest.mark.parametrize("ending", ["parquet", "jsonl", "jsonl.gz"])
def test_tables_keep_everything(ending: str, tmp_path: Path, rounds: mb.Rounds) -> None:
    assert mb.write_log(rounds, tmp_path / f"log.{ending}") == len(rounds)
    by_name = isinstance(rounds.contexts, list)
    again = mb.read_log(tmp_path / f"log.{ending}", actions=list(rounds.labels or ()), named=by_name, chunk=2).rounds()
    assert same(rounds, again, "contexts", "labels", *ALL)


@FEW
@given(offering())
@pytest.mark.parametrize("ending", ["parquet", "jsonl", "dsjson"])
def test_offers_are_kept(ending: str, tmp_path: Path, rounds: mb.Rounds) -> None:
    mb.write_log(rounds, tmp_path / f"log.{ending}")
    again = mb.read_log(tmp_path / f"log.{ending}", named=True).rounds()
    assert same(rounds, again, "contexts", "offers", *ALL)


@FEW
@given(named(TEXT_CONTEXT))
def test_text_of_vowpal_wabbit_keeps_what_it_holds(tmp_path: Path, rounds: mb.Rounds) -> None:
    mb.write_log(rounds, tmp_path / "log.vw")
    again = mb.read_log(tmp_path / "log.vw", actions=[1, 2, 3]).rounds()
    assert same(rounds, again, "contexts", *ALL)


@FEW
@given(offering(TEXT_CONTEXT, TEXT_CONTEXT))
def test_text_with_a_line_for_each_action(tmp_path: Path, rounds: mb.Rounds) -> None:
    mb.write_log(rounds, tmp_path / "log.vw")
    again = mb.read_log(tmp_path / "log.vw").rounds()
    assert same(rounds, again, "contexts", "offers", *ALL)


@FEW
@given(named())
def test_what_text_does_not_hold_stays_what_it_becomes(tmp_path: Path, rounds: mb.Rounds) -> None:
    """Any context can be written; read and written again it does not change any more."""
    clashes = [name for one in rounds.contexts for name in one if "." in name or name in ("", ".")]
    if clashes:
        return
    mb.write_log(rounds, tmp_path / "one.vw")
    once = mb.read_log(tmp_path / "one.vw", actions=[1, 2, 3], bad="skip").rounds()
    mb.write_log(once, tmp_path / "two.vw")
    twice = mb.read_log(tmp_path / "two.vw", actions=[1, 2, 3]).rounds()
    assert same(once, twice, "contexts", *ALL)


@FEW
@given(named())
def test_events_keep_labels_where_they_are_declared(tmp_path: Path, rounds: mb.Rounds) -> None:
    mb.write_log(rounds, tmp_path / "log.dsjson")
    again = mb.read_log(tmp_path / "log.dsjson", actions=["1", "2", "3"]).rounds()
    assert same(rounds, again, "contexts", "labels", "available", "offers", *ALL)


def test_laws_masks_times_and_versions_are_kept(tmp_path: Path) -> None:
    few = some_rounds()
    laws = np.full((7, 3), 0.25)
    laws[np.arange(7), few.actions] = 0.5
    masks = np.ones((7, 3), bool)
    rounds = some_rounds(
        probabilities=np.full(7, 0.5), laws=laws, available=masks, times=[f"t{i}" for i in range(7)], versions=[3] * 7
    )
    for ending in ("parquet", "jsonl"):
        mb.write_log(rounds, tmp_path / f"log.{ending}")
        again = mb.read_log(tmp_path / f"log.{ending}", actions=["a", "b", "c"]).rounds()
        assert same(rounds, again, "contexts", "actions", "losses", "probabilities", "laws", "available", "times")
        assert again.versions == [3] * 7
    mb.write_log(rounds, tmp_path / "log.dsjson")
    again = mb.read_log(tmp_path / "log.dsjson", actions=["a", "b", "c"]).rounds()
    assert same(rounds, again, "actions", "losses", "probabilities", "laws", "times", "versions")
    assert again.contexts == [{"u": u, "v": v} for u, v in rounds.contexts.tolist()]


def test_what_readers_of_events_pass_over_is_not_written(tmp_path: Path) -> None:
    rounds = mb.Rounds([{"_x": 1.0}], np.array([0]), np.array([0.0]), np.array([1.0]), labels=("a", "b"))
    with pytest.raises(ValueError, match="round 0: '_x' begins with _"):
        mb.write_log(rounds, tmp_path / "log.dsjson")
    assert not list(tmp_path.iterdir())
    other = mb.Rounds([{"x y": 1.0}], np.array([0]), np.array([0.0]), np.array([1.0]), labels=("a", "b"))
    with pytest.raises(ValueError, match="round 0: 'x y' has a space"):
        mb.write_log(other, tmp_path / "log.vw")


def test_sparse_contexts_become_names_and_values(tmp_path: Path) -> None:
    rounds = some_rounds(2, contexts=scipy.sparse.csr_array(np.array([[0, 2.5], [0, 0]])), columns=None)
    for ending in ("jsonl", "parquet", "vw"):
        mb.write_log(rounds, tmp_path / f"log.{ending}")
        options: dict[str, Any] = {} if ending == "vw" else {"actions": ["a", "b", "c"]}
        assert mb.read_log(tmp_path / f"log.{ending}", **options).rounds().contexts == [{"1": 2.5}, {}]


def test_columns_are_columns_where_they_can_be(tmp_path: Path) -> None:
    contexts = [{"age": 31.0, "country": "DE"}, {"age": None, "country": "FR"}]
    rounds = mb.Rounds(contexts, np.array([0, 1]), np.zeros(2), np.ones(2), labels=("a", "b"))
    mb.write_log(rounds, tmp_path / "log.parquet")
    assert mb.read_log(tmp_path / "log.parquet").rounds().contexts == contexts


def test_a_log_becomes_another(tmp_path: Path) -> None:
    path = json_log(tmp_path, [event(), event(EventId="e2")], "log.dsjson")
    log = mb.read_log(path, reward_range=(0, 1))
    calls: list[int] = []
    assert mb.write_log(log, tmp_path / "log.jsonl", progress=calls.append) == 2
    assert calls == [2]
    first = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])
    assert first["action"] == "b3"
    assert first["loss"] == 0.0
    assert same(log.rounds(), mb.read_log(tmp_path / "log.jsonl").rounds(), "contexts", "offers", "times", *ALL)


def test_bad_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="CSV does not hold them all"):
        mb.write_log(some_rounds(), tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"must end in .parquet, .jsonl, .vw or .dsjson"):
        mb.write_log(some_rounds(), tmp_path / "log")
    with pytest.raises(FileNotFoundError, match="no folder"):
        mb.write_log(some_rounds(), tmp_path / "no" / "log.vw")
    with pytest.raises(ValueError, match="log must be a Log or LogParts or Rounds"):
        mb.write_log([1], tmp_path / "log.vw")  # type: ignore[arg-type]  # refused on purpose


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"losses": np.full(7, 2.0)}, r"losses must lie in \[0, 1\], got 2.0 in round 0"),
        ({"actions": np.full(7, 3)}, "actions must be whole numbers from 0 to 2, got 3 in round 0"),
        ({"probabilities": np.zeros(7)}, "probabilities must lie above 0"),
        ({"labels": None}, "labels must say what actions are called"),
        ({"keys": ["a"]}, "keys must be one for each of 7 rounds, got 1"),
        ({"available": np.zeros((7, 3), bool)}, "actions must be among those available"),
        ({"laws": np.zeros((7, 2))}, "laws must be 7 rounds x 3 actions"),
        ({"laws": np.zeros((7, 3))}, "laws must sum to 1"),
        ({"contexts": [1] * 7}, "contexts must be mappings"),
        ({"contexts": np.full((7, 1), np.nan)}, "contexts must be finite, got nan in round 0"),
    ],
)
def test_rounds_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        some_rounds(**changes)
