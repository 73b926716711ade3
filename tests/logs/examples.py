"""Small logs, as every format has them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import marginbandits as mb

__all__ = ["csv_log", "event", "json_log", "same", "some_rounds"]


def csv_log(folder: Path, rows: Sequence[str], header: str = "age,action,reward,probability") -> Path:
    path = folder / "log.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def json_log(folder: Path, rows: Sequence[Any], name: str = "log.jsonl") -> Path:
    path = folder / name
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows))
    return path


def event(**changes: Any) -> dict[str, Any]:
    """An event of the decision service; a value of None takes the entry out."""
    found = {
        "_label_cost": -1,
        "_label_probability": 0.25,
        "_label_Action": 2,
        "_labelIndex": 1,
        "EventId": "e1",
        "Timestamp": "2024-05-01T12:00:00Z",
        "a": [2, 1, 3],
        "p": [0.25, 0.5, 0.25],
        "c": {
            "user": {"age": 31, "_hidden": 7},
            "FromUrl": [{"weather": "sunny"}, {"hour": 9}],
            "_multi": [{"_tag": "a17", "i": {"price": 20}}, {"_tag": "b3", "i": {"price": 80}}, {"_tag": "c9"}],
        },
    }
    return {name: value for name, value in (found | changes).items() if value is not None}


def some_rounds(n: int = 7, **changes: Any) -> mb.Rounds:
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(3), n)
    actions = rng.integers(3, size=n)
    found: dict[str, Any] = {
        "contexts": rng.standard_normal((n, 2)),
        "actions": actions,
        "losses": rng.random(n),
        "probabilities": laws[np.arange(n), actions],
        "labels": ("a", "b", "c"),
        "columns": ("u", "v"),
    }
    return mb.Rounds(**(found | changes))


def same(one: mb.Rounds, other: mb.Rounds, *names: str) -> bool:
    """Whether two logs say the same in these fields, bit for bit and type for type."""
    for name in names:
        first, second = getattr(one, name), getattr(other, name)
        if isinstance(first, np.ndarray):
            if first.dtype != second.dtype or first.shape != second.shape or first.tobytes() != second.tobytes():
                return False
        elif repr(_sorted(first)) != repr(_sorted(second)):
            return False
    return True


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value, key=str)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value
