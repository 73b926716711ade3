"""Extremely randomised trees: as good as scikit-learn's, the same from the same seed, and as large as they say."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesRegressor

from marginbandits.oracles.extra_trees import Forest, Small, grow, joined, walk
from marginbandits.types import Array

X, LABELS = load_digits(return_X_y=True)
X, Y = X.astype(np.float32), (LABELS % 2).astype(np.float32)


def predicted(forest: Forest, rows: Small) -> Array:
    out = np.empty(len(rows))
    walk(rows, True, np.array([0, len(rows)]), *joined([forest]), out)
    return out


@pytest.mark.parametrize(("n_trees", "as_good"), [(60, True), (2, False)])
def test_they_predict_as_well_as_scikit_learn_s(n_trees: int, as_good: bool) -> None:
    """Mean squared error on 1,297 digits after 500, over five seeds; ours within 5% of theirs (they vary by 2%)."""
    ours = [
        ((predicted(grow(X[:500], Y[:500], n_trees=n_trees, n_columns=64, seed=s), X[500:]) - Y[500:]) ** 2).mean()
        for s in range(5)
    ]
    theirs = [
        ((ExtraTreesRegressor(60, random_state=s).fit(X[:500], Y[:500]).predict(X[500:]) - Y[500:]) ** 2).mean()
        for s in range(5)
    ]
    assert (np.mean(ours) < 1.05 * np.mean(theirs)) == as_good


def test_what_was_seen_is_known_by_heart() -> None:
    forest = grow(X[:300], Y[:300], n_trees=3, n_columns=8, seed=0)
    assert (predicted(forest, X[:300]) == Y[:300]).all()
    assert len(forest.columns) <= 3 * 599


def test_the_same_seed_grows_the_same_trees() -> None:
    one, same, other = (grow(X[:100], Y[:100], n_trees=3, n_columns=8, seed=s) for s in (1, 1, 2))
    assert [array.tobytes() for array in one] == [array.tobytes() for array in same]
    assert not np.array_equal(predicted(one, X[500:]), predicted(other, X[500:]))


def test_rows_that_are_all_alike_are_one_leaf() -> None:
    forest = grow(np.ones((4, 2), np.float32), np.array([0, 1, 1, 1], np.float32), n_trees=2, n_columns=2, seed=0)
    assert len(forest.columns) == 2
    assert predicted(forest, np.zeros((1, 2), np.float32)).tolist() == [0.75]


def test_several_blocks_are_one_table() -> None:
    forests = [grow(X[k : k + 50], Y[k : k + 50], n_trees=3, n_columns=8, seed=k) for k in (0, 50)]
    out = np.empty(3)
    walk(X[500:501], False, np.array([0, 3]), *joined([forests[0], None, forests[1]]), out)
    assert out == pytest.approx([predicted(forests[0], X[500:501])[0], 0.5, predicted(forests[1], X[500:501])[0]])
    walk(X[500:501], False, np.array([0, 3]), *joined([None, None, None]), out)
    assert out.tolist() == [0.5, 0.5, 0.5]
