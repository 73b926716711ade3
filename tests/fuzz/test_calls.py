"""The fuzzer in its small form, and what it rests on: everything exported is found, declared, and has a good call."""

import functools
import importlib
import inspect
import pkgutil
import warnings
from pathlib import Path

import pytest

import marginbandits as mb
from marginbandits.validation import constraints
from tests.fuzz import calls
from tests.marks import at_length

EVERYTHING = list(calls.discover())
OURS = [one for one in EVERYTHING if one.learner is None]
SLOW = ("checks.", "Classification.openml", "Classification.from_npz", "Finite.from_models", "read_open_bandit")


def test_everything_exported_is_found() -> None:
    names = {one.name for one in EVERYTHING}
    assert len(names) == len(EVERYTHING)
    assert {"policies.sample", "Hinge", "Hinge.slope", "Finite.from_weights", "theory.Power.at", "LinUCB.act"} <= names
    modules = [name for name in mb.__all__ if inspect.ismodule(getattr(mb, name))]
    exported = {f"{module}.{name}" for module in modules for name in getattr(mb, module).__all__}
    short = {name.split(".")[-1] if name.split(".")[-1] in mb.__all__ else name for name in exported}
    assert short - names - calls.RECORDS.keys() == set()


LOG = {"contexts", "actions", "losses", "probabilities", "rewards", "available"}
CHECKED_INSIDE = {
    "MarginPolicy.act": {"context", "available"},
    "MarginPolicy.certify": LOG,
    "MarginPolicy.fit": LOG,
    "MarginPolicy.law": {"context", "available"},
    "MarginPolicy.laws": {"contexts", "available"},
    "MarginPolicy.predict": {"contexts", "available"},
    "MarginPolicy.predict_proba": {"contexts", "available"},
    "MarginPolicy.save": {"target"},
    "Rounds": {"contexts"},
    "checks.check_scores": {"scores"},
    "evaluate": {"policy", "log", "against", "model"},
    "interval": {"within"},
    "load": {"device", "body"},
    "loads": {"device", "body"},
    "read_log": {"source"},
    "warm_start": LOG,
}


@pytest.mark.parametrize("target", OURS, ids=lambda one: one.name)
def test_every_argument_is_declared(target: calls.Target) -> None:
    assert not target.unknown, "tests/fuzz/examples.py needs a good value"
    assert set(target.undeclared) <= CHECKED_INSIDE.get(target.name, set())


@pytest.mark.parametrize("target", [one for one in OURS if not one.name.startswith(SLOW)], ids=lambda one: one.name)
def test_the_good_calls_are_good(target: calls.Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where some are saved
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target.call(**target.good)


@pytest.mark.parametrize("target", OURS, ids=lambda one: one.name)
def test_defaults_are_clean_already(target: calls.Target) -> None:
    """A default is not checked at the call, so it must be what the check would have made of it."""
    function = target.call.func if isinstance(target.call, functools.partial) else target.call
    if target.call is not function:
        _, title, name = target.call.args  # type: ignore[attr-defined]  # a method of an instance
        function = getattr(functools.reduce(getattr, title.split("."), mb), name)
    for name, one in inspect.signature(function).parameters.items():
        if (
            name in target.rules
            and one.default is not one.empty
            and type(one.default).__name__ != "_HAS_DEFAULT_FACTORY_CLASS"
        ):
            clean = target.rules[name].clean(one.default)
            assert type(clean) is type(one.default), name
            assert clean is one.default or clean == one.default, name


@pytest.mark.parametrize("n", [600, *at_length([3000])])
def test_bad_calls_are_refused(n: int) -> None:
    counts, failures = calls.run(n, seed=1)
    assert failures == {}
    assert counts["refused"] > 5 * n / 6
    assert set(counts) <= {"refused", "accepted"}


def test_the_fuzzer_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative controls: each wrong outcome is told apart."""
    target = next(one for one in EVERYTHING if one.name == "policies.sample")
    signal_free = functools.partial(calls._outcome, arguments={}, misfit=False)

    def answers(result: object) -> calls.Target:
        def call() -> None:
            if isinstance(result, BaseException):
                raise result

        return calls.Target("f", call, {}, target.rules, set())

    assert signal_free(answers(None), must=True)[0] == "accepted against the declaration"
    assert signal_free(answers(None), must=False)[0] == "accepted"
    assert signal_free(answers(ValueError("short")), must=True)[0] == "refused"
    assert signal_free(answers(ValueError("x" * 301)), must=True)[0] == "long message"
    for other in (TypeError(), ZeroDivisionError(), OverflowError(), MemoryError(), AssertionError(), OSError()):
        assert signal_free(answers(other), must=True)[0] == "wrong type"


def test_a_crash_is_counted_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINBANDITS_FUZZ_CRASH", "5")
    counts, failures = calls.run(20, 0, only="policies.")
    assert counts["crash"] == 1
    assert counts["refused"] + counts["accepted"] == 14  # those before it are lost with its process
    assert next(iter(failures.values())) == 5


def _modules() -> list[str]:
    return [one.name for one in pkgutil.walk_packages(mb.__path__, "marginbandits.") if "__main__" not in one.name]


@pytest.mark.parametrize(
    "name", [one for one in _modules() if one.split(".")[1] not in ("factors", "learners", "oracles")]
)
def test_no_compiled_function_is_exported(name: str) -> None:
    """Compiled code trusts its arguments (A6)."""
    module = importlib.import_module(name)
    compiled = [one for one in getattr(module, "__all__", []) if hasattr(getattr(module, one), "py_func")]
    assert compiled == []


def test_constraints_of_plain_classes_are_read() -> None:
    assert str(constraints(mb.theory.second_moment)["game"]) == "a Game"
