from typing import Annotated, Any

import numpy as np
import pytest

from marginbandits.validation import Choice, Constraint, Instance, Integer, OneOf, Real, constraints, validated


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
        ({"count": 3, "part": -1}, "part must be a whole number at least 0, or a None, got -1"),
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
