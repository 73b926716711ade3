"""What made a result: other code or other values, another fingerprint; other words, the same."""

import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments import fingerprint as module
from marginbandits.experiments.arguments import learner_spec
from marginbandits.experiments.claims import CLAIMS
from marginbandits.experiments.fingerprint import code, fingerprint, modules_behind
from marginbandits.experiments.measure import play
from marginbandits.experiments.specs import LearnerSpec, nameable_learners
from tests import doubles

CACHES = ("_digest", "_text", "_needs", "_imports", "_file")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    forget()


def forget() -> None:
    for name in CACHES:
        if hasattr(cached := getattr(module, name), "cache_clear"):
            cached.cache_clear()


def with_constant(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As if one module's file had another constant in it."""
    real = module._text.__wrapped__
    assert real(name)
    monkeypatch.setattr(module, "_text", lambda one: real(one) + "\nTURNS = 3\n" * (one == name))
    forget()


@pytest.mark.parametrize(
    "changed",
    [
        mb.HingeLMC.__module__,
        mb.Learner.__module__,
        "marginbandits.samplers.particles",
        "marginbandits.experiments.measure",
        "marginbandits.experiments.simulate",
        "marginbandits.experiments.sources",
    ],
)
def test_a_constant_changed_in_what_a_learner_uses_is_other_code(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = code(mb.HingeLMC, play)
    with_constant(monkeypatch, changed)
    assert code(mb.HingeLMC, play) != before


@pytest.mark.parametrize(
    "unrelated", ["cli", "experiments.report", "experiments.svg", "experiments.marks", "learners.baselines.bag"]
)
def test_a_change_elsewhere_is_not(unrelated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [code(mb.HingeLMC, play), *(code(claim.measure) for claim in CLAIMS)]
    with_constant(monkeypatch, f"marginbandits.{unrelated}")
    assert [code(mb.HingeLMC, play), *(code(claim.measure) for claim in CLAIMS)] == before


def test_a_claim_depends_on_its_learners_and_theory(monkeypatch: pytest.MonkeyPatch) -> None:
    (claim,) = (one for one in CLAIMS if one.name == "price-of-k")
    before = [unit.key for unit in claim.tasks(True)]
    with_constant(monkeypatch, mb.ExponentialWeights.__module__)
    assert not set(before) & {unit.key for unit in claim.tasks(True)}


def test_defaults_written_out_are_no_change_and_other_values_are() -> None:
    def identity(text: str) -> str:
        return fingerprint(learner_spec(text).identity(3))

    assert identity("LinUCB") == identity("LinUCB(alpha=0.2)") == identity("LinUCB(features=raw, alpha=0.20)")
    assert identity("LinTS(scale=1)") == identity("LinTS(scale=1.0)")
    assert len({identity(one) for one in ("LinUCB", "LinUCB(alpha=0.3)", "LinUCB(features=fourier)", "LinTS")}) == 4


def test_feature_maps_and_arrays_count_by_what_they_hold() -> None:
    def of(value: Any) -> str:
        return fingerprint({"x": value})

    assert of(mb.Identity()) == of(mb.Identity())
    assert of(np.arange(3.0)) == of(np.arange(3.0)) != of(np.arange(4.0)) != of(np.zeros(4))
    assert of(np.float64(2.0)) == of(2.0)
    assert of((1, 2)) == of([1, 2]) != of([2, 1])
    assert of(doubles.Slow) != of(doubles.Dying)
    assert of({1, 2}) == of({2, 1})
    with pytest.raises(ValueError, match="cannot be told from others"):
        of(lambda: 3)


def test_a_class_from_elsewhere_counts_with_its_own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "from marginbandits.learners import Uniform\nSTEP = 1\nclass Mine(Uniform):\n    pass\n"
    found = []
    for constant in ("1", "1", "2"):
        (tmp_path / "of_mine.py").write_text(text.replace("STEP = 1", f"STEP = {constant}"))
        script = (
            "import of_mine; from marginbandits.experiments.fingerprint import code, modules_behind;"
            "print(code(of_mine.Mine), 'marginbandits.learners.base' in modules_behind(of_mine.Mine))"
        )
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
        found.append(done.stdout)
    assert found[0] == found[1] != found[2]
    assert "True" in found[0]


@pytest.mark.parametrize(
    "changed",
    [
        *("x = 2", "@property\n    def p(self): return 2", "@staticmethod\n    def s(): return 2"),
        *("def f(self, a=2): pass", "def play(self): return 2 + self.x"),
    ],
)
def test_everything_in_a_class_typed_in_counts(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook: its module has no file."""

    def typed(body: str) -> type:
        place = types.ModuleType("typed_in")
        monkeypatch.setitem(sys.modules, "typed_in", place)
        exec(f"class Mine:\n    {body}\n", vars(place))
        made: type = vars(place)["Mine"]
        return made

    assert code(typed(changed)) == code(typed(changed)) != code(typed(changed.replace("2", "3")))


def test_every_learner_is_told_apart_fast() -> None:
    forget()
    start = time.process_time()
    found = {fingerprint(LearnerSpec(name, cls).identity(3)) for name, cls in nameable_learners().items()}
    assert time.process_time() - start < 0.2
    assert len(found) == len(nameable_learners())
    assert "marginbandits.experiments.plan" not in modules_behind(mb.HingeLMC, play)
