"""A round takes as long as it has entries, and has an end."""

from typing import Any

import numpy as np
import pytest

from marginbandits.features import Table
from marginbandits.features import table as table_module


class Counted:
    """An array that counts how often it is looked at."""

    def __init__(self, of: Any) -> None:
        self.of, self.shape, self.looks = of, of.shape, 0

    def __getitem__(self, place: int) -> Any:
        self.looks += 1
        return self.of[place]

    def __setitem__(self, place: int, value: Any) -> None:
        self.of[place] = value


def test_a_round_takes_as_long_as_it_has_entries() -> None:
    """It once looked at all before for each: a decision of ordinary size stopped a service."""
    place: Any = getattr(table_module._place, "py_func", table_module._place)

    def looks(n: int) -> int:
        codes, owners, fresh = Counted(2 * np.arange(n)), Counted(np.zeros(2**12, np.int64)), Counted(np.zeros(n, bool))
        columns = Counted(np.zeros(n, np.int64))
        place(codes, owners, True, 2**12, columns, np.zeros(n, np.int64), fresh)
        assert fresh.of.all()
        return codes.looks + owners.looks + fresh.looks + columns.looks

    assert looks(800) <= 2.2 * looks(400)


def test_the_same_value_twice_in_a_round_is_one_of_its_name() -> None:
    table = Table(hash_bits=3)._start(sparse=False)  # 8 columns, 2 for a name
    table._observe(table._codes([{"town": "a"}, {"town": "a"}, {"town": "b"}]))
    assert table.n_names == 2
    table.undo(table.journal.stamp)
    assert table.n_names == 0


def test_what_is_offered_has_an_end() -> None:
    table = Table(interactions=[["user", "action"]])._start(sparse=True)
    user, own = {f"c{i}": i for i in range(100)}, {f"f{i}": i for i in range(90)}
    with pytest.raises(ValueError, match="at most 1,000,000 entries together"):
        table._offered(user, [f"a{i}" for i in range(200)], [own] * 200)
