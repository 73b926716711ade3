"""The page of the paper: a row for every statement of it, and everything that a row names exists."""

import importlib
import re
from pathlib import Path

import pytest

from marginbandits.experiments.claims import CLAIMS
from marginbandits.experiments.reproduce import Programme
from tests.paper_labels import EQUATIONS, LABELS, UNLABELLED

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "paper.md").read_text()
ROWS = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", PAGE.split("## Where every statement is")[1], re.MULTILINE))
KINDS = ("def", "thm", "lem", "prop", "corr", "fact", "ex", "alg", "fig")


def test_every_statement_has_a_row_and_every_row_a_statement() -> None:
    assert set(ROWS) - {"statement", "---"} == {*LABELS, *EQUATIONS, *UNLABELLED}
    assert len(LABELS) == len(set(LABELS)) == 36
    assert len(EQUATIONS) == len(set(EQUATIONS)) == 15
    assert all(label.split(":")[0] in KINDS for label in LABELS)


@pytest.mark.parametrize("statement", [*LABELS, *EQUATIONS, *UNLABELLED])
def test_what_a_row_names_exists(statement: str) -> None:
    row = ROWS[statement]
    named = re.findall(r"`([^`]+)`", row)
    assert named or re.search(r"not run, because \w|^see: \w|erratum E\d", row), row
    for name in named:
        assert exists(name), f"{statement}: there is no {name}"


def test_claims_that_rows_do_not_name_are_not_the_papers() -> None:
    named = {name for row in ROWS.values() for name in re.findall(r"claim `([\w-]+)`", row)}
    theirs = {claim.name for claim in CLAIMS if "No theorem" not in claim.reference}
    assert named == theirs


def test_the_number_of_experiments_is_that_of_the_claims() -> None:
    (said,) = re.findall(r"^([\d,]+) experiments; they took", PAGE, re.MULTILINE)
    assert int(said.replace(",", "")) == len(Programme(CLAIMS))


@pytest.mark.parametrize(
    "name", ["theory.margin_rump", "HingeLMC.from_practice", "figure-2", "test_bounds.py::test_it"]
)
def test_a_name_of_nothing_would_be_seen(name: str) -> None:
    assert not exists(name)


def exists(name: str) -> bool:
    """A claim, a test as file::function, or a public name, from the package or below a module of it."""
    if "::" in name:
        file, function = name.split("::")
        return (TESTS / file).exists() and f"def {function}(" in (TESTS / file).read_text()
    if name in {claim.name for claim in CLAIMS}:
        return True
    parts = name.split(".")
    for at in range(len(parts)):
        try:
            found: object = importlib.import_module(".".join(["marginbandits", *parts[:at]]))
        except ModuleNotFoundError:
            break
        for part in parts[at:]:
            found = getattr(found, part, None)
        if found is not None:
            return True
    return False
