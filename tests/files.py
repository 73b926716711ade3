"""A learner's file, taken apart and put together again."""

import io
import json
from typing import Any

import numpy as np

import marginbandits as mb


def written() -> bytes:
    agent = mb.LinUCB(3, features="fourier", seed=0)
    mb.simulate(agent, mb.Classification.bundled("iris", seed=0))
    return agent.dumps()


def taken_apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("header").tobytes().decode()), arrays


def put_together(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    np.savez(out, allow_pickle=True, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    return out.getvalue()
