"""The data of the comparison: every repetition has its own order of rows, as some peers know no seed.

digits    scikit-learn's, 1,797 x 64, 10 actions
narrow    generated, 50,000 x 20, 10 actions
wide      generated, 50,000 x 100, 5 actions
sparse    generated, 10,000 x 1,000 with 20 columns filled, 20 actions
experts   generated, 20,000 x 20, 10 actions
"""

from pathlib import Path

import numpy as np

ROWS = {"digits": 1_797, "narrow": 50_000, "wide": 50_000, "sparse": 10_000, "experts": 20_000}


def generated(rows: int, columns: int, n_actions: int, seed: int) -> tuple[object, object]:
    """Normal columns in scales of their own; the best action is that of a noisy linear score."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((columns, n_actions)) / columns**0.5
    scales, shifts = np.exp(rng.standard_normal(columns)), rng.standard_normal(columns)
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((rows, columns))
    labels = np.argmax(X @ weights + 0.3 * rng.standard_normal((rows, n_actions)), 1)
    return scales * (X + shifts), labels


def words(rows: int, columns: int, n_actions: int, filled: int, seed: int) -> tuple[dict[str, object], object]:
    """Rows that fill columns of any kind, and a third as many of those that are their action's own."""
    rng = np.random.default_rng(0)
    own = np.array([rng.choice(columns, 50, replace=False) for _ in range(n_actions)])
    rng = np.random.default_rng([seed, 2])
    labels = rng.integers(n_actions, size=rows)
    common = np.minimum(rng.geometric(0.005, (rows, filled)) - 1, columns - 1)
    common[:, : filled // 3] = np.take_along_axis(own[labels], rng.integers(50, size=(rows, filled // 3)), 1)
    kept = [np.unique(row) for row in common]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in kept])])
    taken = np.concatenate(kept)
    return {"values": np.ones(len(taken)), "columns": taken, "starts": starts, "shape": [rows, columns]}, labels


def write(task: str, seed: int, folder: Path) -> Path:
    """The file of one repetition, made where it is missing."""
    path = folder / f"{task}-{seed}.npz"
    if path.exists():
        return path
    contexts: object
    parts: dict[str, object]
    if task == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(y))
        contexts, labels, n_actions = X[order], y[order], 10
        parts = {"contexts": contexts}
    elif task == "sparse":
        n_actions = 20
        parts, labels = words(10_000, 1_000, n_actions, 20, seed)
    else:
        rows, columns, n_actions = {"narrow": (50_000, 20, 10), "wide": (50_000, 100, 5), "experts": (20_000, 20, 10)}[
            task
        ]
        contexts, labels = generated(rows, columns, n_actions, seed)
        parts = {"contexts": contexts}
    losses = (np.asarray(labels)[:, None] != np.arange(n_actions)).astype(float)
    np.savez(path, losses=losses, **parts)  # type: ignore[arg-type]  # arrays by name, not its options
    return path
