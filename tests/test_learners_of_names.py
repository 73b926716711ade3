"""Learners of names and values: one by one, in batches, by frames and files; and what is not theirs, refused."""

import copy
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

import marginbandits as mb
from marginbandits import frames


def problem(n: int, seed: int = 0) -> list[tuple[dict[str, Any], int]]:
    """Contexts, and the one of three actions that is right."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        context: dict[str, Any] = {
            "age": float(rng.integers(18, 80)),
            "country": str(rng.choice(["DE", "FR", "US", "IT"])),
            "tags": ["new"] if rng.random() < 0.5 else ["sale", "old"],
            "user": {"vip": bool(rng.random() < 0.3)},
        }
        right = 2 if "new" in context["tags"] else int(context["age"] > 40)
        found.append((context, right))
    return found


LEARNERS = [mb.LinUCB, mb.HingeLMC, mb.SmoothFTL, mb.SquareCB, mb.Mixture, mb.NearestNeighbours]


@pytest.mark.parametrize("kind", LEARNERS)
def test_learners_learn_from_names_and_values_and_continue_from_their_files(kind: Any) -> None:
    agent, wrong = kind(n_actions=3, seed=0), []
    for context, right in problem(600):
        decision = agent.act(context)
        wrong.append(decision.action != right)
        agent.learn(context, decision, loss=float(wrong[-1]))
    assert np.mean(wrong[-200:]) < 0.3
    again = mb.loads(agent.dumps())
    copies = [again, copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    for context, right in problem(20, seed=1):
        laws = [one.law(context) for one in (agent, *copies)]
        assert all(np.array_equal(laws[0], law) for law in laws)
        for one in (agent, *copies):
            one.learn(context, mb.Decision(right, 0.5), 0.0)
    assert again.dumps() == agent.dumps()


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    agent, other = mb.LinUCB(3, seed=0), mb.LinUCB(3, seed=0)
    contexts, rights = zip(*problem(50), strict=True)
    decisions = [mb.Decision(right, 0.5) for right in rights]
    for context, decision in zip(contexts, decisions, strict=True):
        agent.learn(context, decision, 0.0)
    other.learn_many(list(contexts), decisions, [0.0] * 50)
    assert agent.dumps() == other.dumps()
    assert np.array_equal(agent.laws(list(contexts)), [agent.law(one) for one in contexts])
    assert [one.action for one in agent.act_many(list(contexts))] == [other.act(one).action for one in contexts]


def test_a_mapping_for_each_action() -> None:
    """One weight for all actions: the cheaper of two is right."""
    agent, rng = mb.LinUCB(2, seed=0), np.random.default_rng(0)
    wrong = []
    for _ in range(300):
        items: list[dict[str, Any]] = [
            {"price": float(rng.random()), "shop": str(rng.choice(["a", "b"]))} for _ in range(2)
        ]
        decision = agent.act(items)
        wrong.append(items[decision.action]["price"] > items[1 - decision.action]["price"])
        agent.learn(items, decision, loss=float(wrong[-1]))
    assert np.mean(wrong[-100:]) < 0.1
    assert len(agent.laws([items, items])) == 2
    assert len(agent.law([*items, {"price": 0.5}])) == 3, "as many as the round has"


def test_a_bad_entry_among_many_is_found() -> None:
    message = r"contexts\[1\]: context\['a'\] must be a number within"
    with pytest.raises(ValueError, match=message):
        mb.LinUCB(2).act_many([{"a": 1.0}, {"a": 1e200}])
    with pytest.raises(ValueError, match=message):
        mb.LinUCB(2).act([{"a": 1.0}, {"a": 1e200}])


def test_layouts_do_not_change() -> None:
    agent = mb.LinUCB(2, seed=0)
    agent.learn({"a": 1.0}, mb.Decision(0, 0.5), 0.0)
    others: list[tuple[Any, str]] = [
        ([1.0], "a mapping as before, got a vector"),
        ([{"a": 1.0}], "got mappings, one for each"),
    ]
    for other, message in others:
        with pytest.raises(ValueError, match=message):
            agent.act(other)
    agent = mb.LinUCB(2, seed=0)
    agent.learn([1.0], mb.Decision(0, 0.5), 0.0)
    with pytest.raises(ValueError, match="a vector of 1 features as before, got a mapping"):
        agent.act({"a": 1.0})
    with pytest.raises(ValueError, match=r"contexts\[1\] must be a mapping as the first is, got list"):
        mb.LinUCB(2).act_many([{"a": 1.0}, [1.0]])
    with pytest.raises(ValueError, match="context of FaithfulHingeLMC must be numbers, got names"):
        mb.FaithfulHingeLMC(2).act({"a": 1.0})


def test_frames_are_contexts_row_by_row() -> None:
    contexts = [{"age": 31, "country": "DE"}, {"age": None, "country": "FR"}]
    frame = pa.Table.from_pylist(contexts)
    agent = mb.SquareCB(2, seed=0)
    agent.learn_many(frame, [mb.Decision(0, 0.5), mb.Decision(1, 0.5)], [0.0, 1.0])
    assert np.array_equal(agent.laws(frame), agent.laws(contexts))
    numbers = pa.Table.from_pylist([{"a": 1.0, "b": 2}, {"a": 3.0, "b": 4}])
    plain = mb.LinUCB(2, seed=0)
    plain.learn_many(numbers, [mb.Decision(0, 0.5), mb.Decision(1, 0.5)], [0.0, 1.0])
    assert plain._shape is not None
    assert plain._shape.width == 2
    assert np.array_equal(agent.laws(numbers), agent.laws([{"a": 1.0, "b": 2}, {"a": 3.0, "b": 4}])), "named before"


def test_a_table_is_saved_with_its_learner() -> None:
    table = mb.Table(text=["title"], categorical=["city"], drop=["id"], interactions=[["a", "b"]], hash_bits=10, seed=3)
    agent = mb.SquareCB(2, features=table, seed=0)
    agent.learn({"title": "red shoes", "city": "New York", "id": 7}, mb.Decision(0, 0.5), 0.0)
    again = mb.loads(agent.dumps())
    assert again.features.parameters() == table.parameters()  # type: ignore[union-attr]  # it is the table
    assert again.state()["names.owners"].shape == (1024,)
    assert np.count_nonzero(again.state()["names.owners"]) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "title"}, "text must be"),
        ({"drop": [1]}, "drop must be"),
        ({"interactions": [["a"]]}, "must be a pair"),
        ({"hash_bits": 40}, "hash_bits must be"),
        ({"features": "none"}, "features must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_tables_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mb.Table(**given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda owners: np.roll(owners, 100), "where it is looked for"),
        (lambda owners: np.where(owners > 0, owners.max(), 0), "each code once"),
    ],
)
def test_columns_that_learning_cannot_have_given_are_refused(change: Any, message: str) -> None:
    table = mb.Table()._start(sparse=True)
    table._observe(table._codes([{"a": "x", "b": "y", "c": 1.0}]))
    table.check()
    table._owners[...] = change(table._owners)
    with pytest.raises(ValueError, match=message):
        table.check()


def test_no_matrix_is_as_wide_as_codes() -> None:
    wide = scipy.sparse.csr_array(([1.0], ([0], [3])), shape=(1, 2**49))
    with pytest.raises(ValueError, match="fewer than"):
        mb.SquareCB(2).act(wide)


def test_a_row_of_a_frame_of_objects_is_a_mapping() -> None:
    """By the name of its class: none of the libraries needs to be there."""
    series = type("Series", (dict,), {"__module__": "pandas.core.series", "dtype": "object"})
    numbers = type("Series", (), {"__module__": "pandas.core.series", "dtype": "float64"})
    assert frames.is_row(series(a=1))
    assert not frames.is_row(numbers())
    assert not frames.is_row({"a": 1})
