from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

from marginbandits.arrays import Booleans, Integers, Numbers
from marginbandits.types import Array
from marginbandits.validation import (
    Choice,
    Constraint,
    Function,
    Instance,
    Integer,
    ListOf,
    OneOf,
    Real,
    constraints,
    fits,
    quoted,
    validated,
)


@validated
def example(
    count: Annotated[int, Integer(1, 9)],
    *,
    share: Annotated[float, Real(0, below=1)] = 0.5,
    word: Annotated[str, Choice("hot", "cold")] = "hot",
    part: Annotated[int | None, OneOf(Integer(0), Instance(type(None)))] = None,
) -> tuple[object, ...]:
    return count, share, word, part


def test_good_values_pass_as_plain_numbers() -> None:
    numbers: dict[str, Any] = {"count": np.int32(3), "share": np.float32(0.25), "part": np.int8(4)}
    result = example(**numbers, word="cold")
    assert result == (3, 0.25, "cold", 4)
    assert [type(value) for value in result] == [int, float, str, int]
    assert example(3) == (3, 0.5, "hot", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count must be a whole number at least 1 and at most 9, got 0"),
        ({"count": True}, "count must be a whole number .*, got True"),
        ({"count": 3, "share": 1}, "share must be a finite number at least 0 and below 1, got 1"),
        ({"count": 3, "share": float("nan")}, "share .* got nan"),
        ({"count": 3, "share": "1"}, "share .* got '1'"),
        ({"count": 3, "word": "warm"}, "word must be one of 'hot', 'cold', got 'warm'"),
        ({"count": 3, "part": -1}, "part must be a whole number at least 0, or None, got -1"),
    ],
)
def test_bad_values_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        example(**arguments)  # type: ignore[arg-type]  # refused on purpose


CONSTRAINTS = [
    Integer(),
    Integer(2),
    Integer(0, 3),
    Real(),
    Real(0, 1),
    Real(above=0),
    Real(above=-1, below=1),
    Choice("a", "b"),
    Instance(list, tuple),
    OneOf(Integer(0), Instance(type(None))),
    OneOf(Real(0), Choice("auto")),
    ListOf(Real(0, 1)),
    Function(),
    Numbers(),
    Numbers(1),
    Numbers(2, 3, low=0, high=1),
    Numbers(above=0, below=1),
    Numbers(1, finite=False, empty=True),
    Integers(1, low=0, high=3),
    Booleans(2),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_every_constraint_refuses_its_own_bad_values(constraint: Constraint) -> None:
    bad = list(constraint.bad_values())
    assert bad
    for value in bad:
        with pytest.raises(ValueError):  # noqa: PT011  # the message is written by `validated`
            constraint.clean(value)


def test_declarations_can_be_read() -> None:
    assert list(constraints(example)) == ["count", "share", "word", "part"]


def test_a_wrong_call_is_a_type_error_as_usual() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'count'"):
        example()  # type: ignore[call-arg]  # refused on purpose


def test_a_plain_class_and_a_callable_are_declarations() -> None:
    @validated
    def play(rng: np.random.Generator, sharp: bool, f: Callable[[], int], loose: float, n: Any) -> None: ...

    assert {name: str(one) for name, one in constraints(play).items()} == {
        "rng": "a Generator",
        "sharp": "a bool",
        "f": "a function",
    }
    play(np.random.default_rng(0), True, int, "as you like", None)  # type: ignore[arg-type]  # it says too little
    for bad in ({"rng": 3}, {"sharp": 1}, {"f": "f"}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be a"):
            play(**{"rng": np.random.default_rng(0), "sharp": True, "f": int, "loose": 1.0, "n": 1, **bad})  # type: ignore[arg-type]


@validated
def total(values: Annotated[Array, Numbers(1, 2)]) -> Array:
    return values


@pytest.mark.parametrize(
    "good",
    [
        [1, 2.5],
        (1, 2),
        range(3),
        np.arange(3, dtype=np.uint8),
        np.array([1, 2.5], object),
        np.ma.masked_array([1.0, 2.0], [False, False]),
        [np.float32(1), np.int8(2)],
        [np.ones(2), np.zeros(2)],
        np.asfortranarray(np.ones((3, 2))),
        np.ones((4, 4))[:, ::2],
    ],
    ids=quoted,
)
def test_numbers_of_any_container_become_plain_arrays(good: Any) -> None:
    made = total(good)
    assert type(made) is np.ndarray
    assert made.dtype == float
    assert made.flags.c_contiguous
    assert np.array_equal(made, np.asarray(good, float))


def test_an_array_that_is_right_already_is_not_copied() -> None:
    x = np.ones(3)
    assert total(x) is x


def test_booleans_are_numbers_only_where_that_is_said() -> None:
    for bad in (np.ones(2, bool), [True, 0.5], [np.True_, np.False_]):
        with pytest.raises(ValueError):  # noqa: PT011  # the message is written by `validated`
            Numbers(1).clean(bad)
        assert Numbers(1, booleans=True).clean(bad).dtype == float


def test_what_would_not_fit_is_refused_before_it_is_made() -> None:
    fits(n_rounds=10**6, n_features=400)
    with pytest.raises(ValueError, match="n_rounds x n_features must be at most 10"):
        fits(n_rounds=10**6, n_features=10**6)


@pytest.mark.parametrize(
    "value",
    ["x" * 10**7, b"x" * 10**7, 10**5000, ["x" * 10**7], {"a": "x" * 10**7}, np.zeros(10**6), [[0.5] * 60] * 60],
    ids=lambda one: type(one).__name__,
)
def test_errors_quote_at_most_a_line(value: object) -> None:
    assert len(quoted(value)) <= 80
    assert "\n" not in quoted(value)
