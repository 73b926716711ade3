"""Contexts of names and values: what each entry means, columns of its own, the same by every door, refused by name."""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import marginbandits as mb
from marginbandits.contexts import Sparse
from marginbandits.features import entries
from marginbandits.features.entries import Entries


class Colour(str, Enum):  # noqa: UP042 - what people have
    RED = "red"


USUAL: dict[str, Any] = {"text": (), "categorical": (), "drop": (), "interactions": (), "seed": 0}


def read(context: Mapping[str, Any], **options: Any) -> dict[int, float]:
    codes, values, _ = Entries(**{**USUAL, **options}).rows([context])
    found: dict[int, float] = {}
    for code, value in zip(codes.tolist(), values.tolist(), strict=True):
        found[code] = found.get(code, 0.0) + value
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": np.float32(0.5)}, {"a": 0.5}),
        ({"a": np.int64(3)}, {"a": 3}),
        ({"a": True}, {"a": np.True_}),
        ({"a": True}, {"a": "True"}),
        ({"a": None}, {"a": float("nan")}),
        ({"a": {"b": "c"}}, {"a.b": "c"}),
        ({"a": ["x", "y"]}, {"a": {"y", "x"}}),
        ({"a": [1.0, 2.0]}, {"a": np.array([1, 2])}),
        ({"a": [1.0, 2.0]}, {"a.0": 1.0, "a.1": 2.0}),
        ({"a": "red shoes"}, {"a": "Shoes, RED"}),
        ({"a": np.str_("x")}, {"a": "x"}),
        ({"a": Colour.RED}, {"a": "red"}),
        ({"a": [Colour.RED]}, {"a": ["red"]}),
        ({"a": [np.float32(1.0), np.int64(2)]}, {"a": [1, 2]}),
        ({"a": np.array(5.0)}, {"a": 5.0}),
        ({"a": Fraction(1, 2)}, {"a": 0.5}),
        ({"a": ["x", "y", "x"]}, {"a": ["x", "y"]}),
        ({"a": "red red shoes"}, {"a": "red shoes"}),
    ],
)
def test_these_mean_the_same(one: Any, other: Any) -> None:
    assert read(one) == read(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": "x"}, {"b": "x"}),
        ({"a": "x"}, {"a": "X"}),
        ({"a": None}, {}),
        ({"a": None}, {"a": "missing"}),
        ({"a": 0.0}, {}),
        ({"a": "x"}, {"a": {"x": 1}}),
    ],
)
def test_these_do_not(one: Any, other: Any) -> None:
    assert read(one) != read(other)


@pytest.mark.parametrize("most", [2**16, 8])
def test_codes_are_the_same_however_much_is_remembered(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "_REMEMBERED", most)
    contexts = [{"tags": [f"tag {k % 5}", f"tag {k}"], "kind": f"kind{k % 3}", "size": k} for k in range(40)]
    one = Entries(**USUAL)
    for _ in range(2):
        for context in contexts:
            for known, fresh in zip(one.rows([context]), Entries(**USUAL).rows([context]), strict=True):
                assert np.array_equal(known, fresh)
    assert sum(map(len, one._values.values())) == one._n_values <= most
    bags = one.rows([{"tags": ("tag 3", "tag 3")}, {"tags": ["tag 3", "tag 3"]}])[0]
    assert len(bags) == 2
    assert bags[0] == bags[1]


def test_declarations() -> None:
    shoes = {"title": "red shoes"}
    assert len(read(shoes)) == 2
    assert len(read(shoes, categorical=("title",))) == 1
    assert read({"zip": 12345}, categorical=("zip",)) != read({"zip": 12346}, categorical=("zip",))
    assert set(read({"zip": 12345}, categorical=("zip",)).values()) == {1.0}
    assert read({"title": "Red"}, text=("title",)) == read({"title": "red"}, text=("title",))
    assert read({"a": 1, "b": "x", "c": [1]}, drop=("a", "b", "c")) == {}
    assert read({"user": {"id": 7, "vip": True}}, drop=("user.id",)) == read({"user": {"vip": True}})
    assert read({"a": float("nan"), "b": None}, drop=("a", "b")) == {}
    assert read({"a": "x"}, seed=1) != read({"a": "x"})


def test_interactions_are_products() -> None:
    user, item = {"age": 3.0, "vip": True}, {"kind": "hat", "price": 2.0}
    plain, crossed = (
        read({"user": user, "item": item}),
        read({"user": user, "item": item}, interactions=[("user", "item")]),
    )
    more = {code: value for code, value in crossed.items() if code not in plain}
    assert sorted(more.values()) == [1.0, 2.0, 3.0, 6.0]
    assert sum(code % 2 for code in more) == 3, "a product is a number if either is"
    assert read({"user": user}, interactions=[("user", "item")]) == read({"user": user})


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({1: 2}, "strings for names, got 1"),
        ({"a": 1e200}, r"context\['a'\] must be a number within ±1e100, got 1e\+200"),
        ({"a": float("inf")}, r"context\['a'\] must be a number"),
        ({"a": np.datetime64("2020-01-01")}, r"context\['a'\] must be a number, a string"),
        ({"a": np.timedelta64(3, "s")}, r"context\['a'\] must be a number, a string"),
        ({"a": 1j}, r"context\['a'\] must be a number, a string"),
        ({"a": 10**400}, r"context\['a'\] must be a number within ±1e100"),
        ({"a": [10**400]}, r"context\['a.0'\] must be a number within ±1e100"),
        ({"a": Fraction(10**400)}, r"context\['a'\] must be a number within ±1e100"),
        ({"a": np.array(["2020-01-01"], "datetime64[ns]")}, r"context\['a'\] must have only"),
        ({"x" * 200_000: 1}, "at most 100,000 characters"),
        ({"a": b"x"}, r"context\['a'\] must be a number, a string"),
        ({"a": ["x", 1]}, r"context\['a'\] must have only strings"),
        ({"a": [["x"]]}, r"context\['a'\] must have only strings"),
        ({"a": {1.0, 2.0}}, r"context\['a'\] must have only strings"),
        ({"user": {"age": [None]}}, r"context\['user.age'\] must have only strings"),
        ({"a": "x" * 10_000_000}, r"context\['a'\] must have at most 100,000 characters, got 10,000,000"),
        ({"a": ["x"] * 200_000}, "at most 10,000 entries"),
    ],
)
def test_bad_entries_are_refused_by_name_and_nothing_is_learnt(context: Any, message: str) -> None:
    agent = mb.SquareCB(2, seed=0)
    agent.learn({"a": 1.0}, mb.Decision(0, 0.5), 0.0)
    before = agent.dumps()
    with pytest.raises(ValueError, match=message):
        agent.learn(context, mb.Decision(0, 0.5), 1.0)
    with pytest.raises(ValueError, match=message):
        agent.act_many([context])
    assert agent.dumps() == before


def test_few_that_are_many_are_refused() -> None:
    context: dict[str, Any] = {}
    for _ in range(10):
        context = {str(i): context for i in range(6)}
    with pytest.raises(ValueError, match="at most 10,000 entries"):
        mb.LinUCB(2).act(context)
    crossed = mb.Table(interactions=[["a", "b"]])
    with pytest.raises(ValueError, match="at most 10,000 entries"):
        mb.LinUCB(2, features=crossed).act({"a": [f"x{i}" for i in range(200)], "b": [f"y{i}" for i in range(200)]})


def test_a_thousand_namespaces_are_too_deep() -> None:
    context: dict[str, Any] = {"a": 1}
    for _ in range(1000):
        context = {"a": context}
    with pytest.raises(ValueError, match="at most 16 deep"):
        mb.LinUCB(2).act(context)


def rows(table: mb.Table, *contexts: Mapping[str, Any]) -> Any:
    return table._transform(table._codes(contexts))


def test_every_entry_has_a_column_of_its_own_while_there_is_room() -> None:
    table = mb.Table(hash_bits=6)._start(sparse=True)
    names = [{"name": f"n{i}"} for i in range(40)]
    assert len(rows(table, *names).values) == 0, "what was never learnt says nothing"
    for one in names:
        table._observe(table._codes([one]))
    assert (table.n_names, table.n_collisions) == (40, 0)
    shown = rows(table, *names)
    assert sorted(shown.values) == [1.0] * 40
    assert len(set(shown.columns)) == 40
    for i in range(200):
        table._observe(table._codes([{"name": f"m{i}"}]))
    assert (table.n_names, table.n_collisions) == (64, 176)
    assert np.array_equal(rows(table, *names).columns, shown.columns), "who has a column keeps it"
    others = rows(table, *({"name": f"m{i}"} for i in range(200)))
    assert set(others.values) == {-1.0, 1.0}


def test_where_rows_are_dense_one_name_leaves_room_for_others() -> None:
    table = mb.Table()._start(sparse=False)
    for i in range(1000):
        table._observe(table._codes([{"id": f"{i}", "kind": "ab"[i % 2], "age": float(i)}]))
    assert table.n_names == 64 + 2 + 1
    assert table.n_collisions == 1000 - 64
    assert np.count_nonzero(rows(table, {"id": "7"})) == 2, "itself, and the mean of what is absent"
    assert np.count_nonzero(rows(table, {"id": "700"})) == 1, "who found no column is left out"


def test_numbers_are_standardised_where_rows_are_sparse_and_absent_ones_are_the_mean_where_dense() -> None:
    rng = np.random.default_rng(0)
    sparse, dense = mb.Table()._start(sparse=True), mb.Table()._start(sparse=False)
    for x in [41.0, *rng.normal(40.0, 10.0, 2000)]:
        for table in (sparse, dense):
            table._observe(table._codes([{"age": float(x), "kind": "a"}]))
    shown = rows(sparse, {"age": 50.0}, {"age": 1e9}, {})
    assert isinstance(shown, Sparse)
    assert shown.values == pytest.approx([1.0, 5.0], abs=0.1)
    assert shown.starts.tolist() == [0, 1, 2, 2]
    raw = rows(dense, {"age": 50.0}, {}, {"age": 41.0})
    column = int(raw[0].argmax())
    assert raw[:, column] == pytest.approx([9.0, -1.0, 0.0], abs=0.5), "counted from the first"
    assert np.count_nonzero(raw) == 2


@pytest.mark.parametrize("kind", [mb.SquareCB, mb.HingeLMC, mb.LinUCB])
@pytest.mark.parametrize("before", [{"x": 50.0}, {"kind": "a"}])
def test_a_number_may_vary_late_or_come_late(kind: Any, before: Any) -> None:
    """300 rounds in which it is constant, or absent; then it tells all."""
    agent, rng, wrong = kind(2, seed=0), np.random.default_rng(0), []
    for t in range(300):
        agent.learn(before, mb.Decision(t % 2, 0.5), float(rng.random() < 0.5))
    for _ in range(500):
        context = {**before, "x": float(rng.normal(50.0, 1.0))}
        decision = agent.act(context)
        wrong.append(decision.action != (context["x"] > 50.0))
        agent.learn(context, decision, loss=float(wrong[-1]))
    assert np.mean(wrong[-200:]) < 0.15


def test_numbers_of_any_size_leave_files_that_can_be_read() -> None:
    for kind in (mb.SquareCB, mb.HingeLMC, mb.LinUCB, mb.Mixture):
        agent = kind(2, features=mb.Table(interactions=[["a", "b"]]), seed=0)
        for i in range(12):
            numbers = {"a": 1e100 * (-1.0) ** i, "b": 1e100, "c": 3e-162 * i, "d.e": 1e100, "d": {"e": 1e100}}
            agent.learn(numbers, mb.Decision(i % 2, 0.5), 0.5)
            assert np.isfinite(agent.law({"a": 1.0, "c": 1.5e-162})).all()
        assert mb.loads(agent.dumps()).dumps() == agent.dumps()


def test_many_at_once_are_what_each_is_where_a_table_is_full() -> None:
    agent = mb.SquareCB(2, features=mb.Table(hash_bits=2), seed=0)
    for i in range(11):
        agent.learn({"a": "1"}, mb.Decision(i % 2, 0.5), float(i % 2))
    contexts = [{"b": str(i)} for i in range(10)]
    assert np.array_equal(agent.laws(contexts), [agent.law(one) for one in contexts])
    assert np.array_equal(agent.law({"b": "1"}), agent.law({})), "what was never learnt says nothing"


def test_a_frame_is_read_by_name_where_a_table_is_declared() -> None:
    frame = pa.table({"id": [1.0, 2.0], "age": [31.0, 45.0]})
    agent = mb.LinUCB(2, features=mb.Table(drop=["id"]), seed=0)
    agent.learn_many(frame, [mb.Decision(0, 0.5), mb.Decision(1, 0.5)], [0.0, 1.0])
    names = agent.names()
    assert names is not None
    assert names.n_names == 1


def test_an_outlier_does_not_blind_the_scale() -> None:
    table, rng = mb.Table()._start(sparse=True), np.random.default_rng(0)
    for t, x in enumerate(rng.normal(0.0, 1.0, 500)):
        table._observe(table._codes([{"x": 1e90 if t == 300 else float(x)}]))
    assert abs(rows(table, {"x": 1.0}).values[0] - 1.0) < 0.3
