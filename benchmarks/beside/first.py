"""Imports and first rounds: seconds of a fresh process until a library is there, and until it has learnt once.

Everything has been run before, so that compiled code comes from where it is kept. A first round is LinUCB's, or that
of the explorer nearest to it, with ten actions and twenty columns.
"""

import json
import subprocess
from pathlib import Path

LIBRARIES = "import numpy, scipy.sparse, numba"
STATEMENTS: dict[str, tuple[str, str]] = {
    "libraries": (LIBRARIES, ""),
    "marginbandits": (
        "import marginbandits as mb; mb.LinUCB",
        "agent = mb.LinUCB(10, seed=0); x = [0.5] * 20; agent.learn(x, agent.act(x), loss=1.0)",
    ),
    "Vowpal Wabbit": (
        "from vowpalwabbit import Workspace",
        "vw = Workspace('--quiet --cb_explore 10'); x = '| ' + ' '.join(f'f{i}:0.5' for i in range(20)); "
        "vw.predict(x); vw.learn('1:1:0.1 ' + x)",
    ),
    "MABWiser": (
        "from mabwiser.mab import MAB, LearningPolicy",
        "bandit = MAB(list(range(10)), LearningPolicy.LinUCB(1.0)); x = [[0.5] * 20]; bandit.fit([0], [1.0], x); "
        "bandit.partial_fit([bandit.predict(x)], [1.0], x)",
    ),
    "contextualbandits": (
        "import numpy; from contextualbandits.online import LinUCB",
        "bandit = LinUCB(10, beta_prior=None); x = numpy.full((1, 20), 0.5); "
        "bandit.partial_fit(x, numpy.array([0]), numpy.array([1.0])); bandit.predict(x)",
    ),
    "river": (
        "from river import bandit",
        "one = bandit.LinUCBDisjoint(); x = {f'f{i}': 0.5 for i in range(20)}; "
        "one.update(one.pull(list(range(10)), context=x), x, 1.0)",
    ),
    "Open Bandit Pipeline": (
        "import numpy; from beside.obp import linear; policies = linear()",
        "one = policies.LinUCB(dim=20, n_actions=10); x = numpy.full((1, 20), 0.5); "
        "one.update_params(int(one.select_action(x)[0]), 1.0, x)",
    ),
    "coba": (
        "import coba",
        "one = coba.LinUCBLearner(features=['xa']); x = [0.5] * 20; "
        "actions = [tuple(int(a == b) for b in range(10)) for a in range(10)]; "
        "action, p, *_ = one.predict(x, actions); one.learn(x, action, 1.0, p)",
    ),
    "JAX": (
        "import jax, jax.numpy as jnp",
        "jax.jit(jax.grad(lambda w: jnp.maximum(1.0 + w, 0.0).sum()))(jnp.ones(20)).block_until_ready()",
    ),
}


def seconds(python: Path, name: str, environment: dict[str, str]) -> tuple[float, float]:
    """Of the import, and of the first round after it."""
    imported, learnt = STATEMENTS[name]
    script = (
        f"import time; start = time.perf_counter()\n{imported}\nmiddle = time.perf_counter()\n{learnt}\n"
        "end = time.perf_counter(); print(f'\\n[{middle - start}, {end - middle}]')"
    )
    done = subprocess.run(
        [python, "-W", "ignore", "-c", script], check=True, capture_output=True, text=True, env=environment
    )
    first, second = json.loads(done.stdout.splitlines()[-1])
    return first, second
