"""What only `make soak` tries."""

from collections.abc import Iterable
from typing import Any

import pytest


def at_length(values: Iterable[Any]) -> list[Any]:
    """These values of a parameter for `make soak` only."""
    return [pytest.param(one, marks=pytest.mark.soak) for one in values]
