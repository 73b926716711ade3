"""Bad calls of everything exported: each must be refused with a short ValueError, and change nothing.

Everything is found by itself, from `marginbandits.__all__` down: functions, classes, their constructors, public methods
and class methods. A good call (`examples`) is spoilt in one argument or two, by a value its declaration calls bad, by
one of a pool of hostile values, or by leaving an argument out. Then only these are right:

    refused     a ValueError of at most 300 characters; a TypeError where the call does not fit the signature;
                a learner's state as before
    accepted    if the declaration allows the value

and these are wrong: a value accepted against its declaration, another exception, a changed state, a call that takes
longer than `PATIENCE` seconds, a crash. Calls run in processes of their own, so that a crash is seen and counted.

    python -m tests.fuzz.calls --calls 100000 --seed 0
"""

import argparse
import collections
import contextlib
import functools
import hashlib
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import marginbandits as mb
from marginbandits.learners import Learner
from marginbandits.validation import Constraint, constraints, quoted
from tests.fuzz import examples
from tests.fuzz.hostile import hostile

__all__ = ["RECORDS", "Target", "discover", "run"]

PATIENCE, LONGEST, MEMORY = 10, 300, 8 * 2**30

RECORDS = {
    "Decision": "a record that learners check when it is given to them",
    "Interaction": "a record, like Decision",
    "PlacedDecision": "a record, like Decision",
    "Estimate": "an answer, never an argument",
    "Log": "what read_log makes, and evaluate checks",
    "Trace": "an answer, never an argument",
    "evaluation.Interval": "an answer, never an argument",
    "samplers.Diagnostics": "an answer, never an argument",
    "checks.LEARNER_CHECKS": "a dictionary",
    "checks.check_oracle": "takes its own arguments by place only; any name is the oracle's",
    "Expert": "abstract",
    "FeatureMap": "abstract",
    "Learner": "abstract",
    "theory.Entropy": "abstract",
}
"""What takes no arguments from a user, with the reason."""

INNER = ("attach", "undo", "Rounds.drawn_by", "Rounds.joined", "Rounds.where", "Rounds.name")
"""What a record's owner calls, with its own journal, or of rounds that it has made: nothing for users."""


@dataclass
class Target:
    """Something to be called, the rule of each argument, and a good call of it."""

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    rules: dict[str, Constraint]
    required: set[str]
    unknown: list[str] = field(default_factory=list)  # arguments without a good value
    undeclared: list[str] = field(default_factory=list)  # arguments without a rule
    learner: str | None = None


def discover(module: types.ModuleType = mb, prefix: str = "") -> Iterator[Target]:
    """Every function, constructor and public method that `__all__` leads to, once."""
    for name in module.__all__:
        thing, title = getattr(module, name), prefix + name
        if title in RECORDS or (prefix and name in mb.__all__):
            continue
        if isinstance(thing, types.ModuleType):
            yield from discover(thing, f"{name}.")
        elif inspect.isclass(thing):
            yield _target(title, thing, thing.__init__)
            yield from _methods(title, thing)
        elif callable(thing):
            yield _target(title, thing, thing)


def _methods(title: str, cls: type) -> Iterator[Target]:
    for name in dir(cls):
        raw = inspect.getattr_static(cls, name)
        if (name.startswith("_") and name != "__call__") or not callable(getattr(cls, name)):
            continue
        if (name == "__call__" or not name.startswith("__")) and not {name, f"{title}.{name}"} & set(INNER):
            if isinstance(raw, classmethod | staticmethod):
                function = raw.__func__
                yield _target(f"{title}.{name}", getattr(cls, name), function)
            elif (
                inspect.isfunction(raw)
                and raw.__module__.startswith("marginbandits")
                and len(inspect.signature(raw).parameters) > 1
            ):
                yield _target(f"{title}.{name}", functools.partial(_on_instance, cls, title, name), raw)


def _is_ours(raw: object) -> bool:
    return inspect.isfunction(raw) and raw.__module__.startswith("marginbandits")


@functools.cache
def _instance(cls: type, title: str) -> Any:
    if issubclass(cls, Learner):
        return _trained(cls, title)
    made = cls(**_target(title, cls, cls.__init__).good)
    if isinstance(made, mb.MarginPolicy):
        return made.fit(*examples.LOGGED)
    return made.start(examples.D, np.random.default_rng(0)) if isinstance(made, mb.FeatureMap) else made


def _on_instance(cls: type, title: str, name: str, *args: object, **kwargs: object) -> object:
    return getattr(_instance(cls, title), name)(*args, **kwargs)


def _trained(cls: type[Learner], title: str) -> Learner:
    made = cls(n_actions=examples.K, seed=0, **examples.SMALL.get(title, {}))
    for row in examples.ROWS[:3]:
        made.learn(row, made.act(row), 0.5)
    return made


def _target(title: str, call: Callable[..., Any], function: Callable[..., Any]) -> Target:
    owner = getattr(mb, title.split(".")[0], None)
    learner = title.split(".")[0] if inspect.isclass(owner) and issubclass(owner, Learner) else None
    rules = dict(constraints(function))
    own = examples.OF.get("*." + title.split(".")[-1], {}) | examples.OF.get(title, {})
    own |= {} if "." in title else examples.SMALL.get(title, {})
    good, required, unknown, undeclared = dict(own), set(), [], []
    parameters = inspect.signature(function).parameters
    for name, one in parameters.items():
        if name in ("self", "cls") or one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            continue
        by_hand = learner or title in ("interval", "load", "loads") or title.endswith((".transform", ".observe"))
        if by_hand and name not in rules and name in examples.BY_HAND:
            rules[name] = examples.BY_HAND[name]
        if name not in rules:
            undeclared.append(name)
        if one.default is one.empty:
            required.add(name)
            if name not in good:
                if name in examples.BY_NAME:
                    good[name] = examples.BY_NAME[name]
                else:
                    unknown.append(name)
    if learner and "loss" in parameters:
        good["loss"] = 0.5
    if learner and "losses" in parameters:
        good["losses"] = [0.5, 0.0, 1.0]
    good = {name: value for name, value in good.items() if name in parameters}
    return Target(title, call, good, rules, required, unknown, undeclared, learner)


def _spoilt(target: Target, rng: np.random.Generator) -> tuple[dict[str, Any], str, bool, bool]:
    """Arguments, a description, whether the call must be refused, and whether it does not fit the signature."""
    names = [*target.rules, *target.undeclared]
    arguments = dict(target.good)
    if not names or rng.random() < 0.02:
        if target.required and rng.random() < 0.5:
            gone = sorted(target.required)[rng.integers(len(target.required))]
            arguments.pop(gone, None)
            return arguments, f"{target.name} without {gone}", True, True
        return {**arguments, "no_such_argument": 1}, f"{target.name} with no_such_argument", True, True
    must, words = False, []
    for _ in range(1 + (rng.random() < 0.2)):
        name = names[rng.integers(len(names))]
        pool = hostile()
        if name in target.rules and rng.random() < 0.5:
            pool = list(target.rules[name].bad_values())
        value = pool[rng.integers(len(pool))]
        arguments[name] = value
        words.append(f"{name}={quoted(value)}")
    for name in {word.split("=")[0] for word in words} & target.rules.keys():
        try:
            target.rules[name].clean(arguments[name])
        except Exception:
            must = True
    return arguments, f"{target.name}({', '.join(words)})", must, False


def _fingerprint(title: str) -> bytes:
    learner = _instance(getattr(mb, title), title)
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(learner.state().items()):
        digest.update(name.encode() + str(array.dtype).encode() + np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _outcome(target: Target, arguments: dict[str, Any], must: bool, misfit: bool) -> tuple[str, str]:
    # A function of the user's own may raise what it likes.
    own = any(callable(arguments[name]) and arguments[name] is not target.good.get(name) for name in arguments)
    signal.alarm(PATIENCE)
    try:
        target.call(**arguments)
    except ValueError as error:
        text = str(error)
        return ("refused", "") if len(text) <= LONGEST else ("long message", text[:100])
    except TypeError as error:
        fine = misfit or (own and not must)
        return ("refused", "") if fine else ("wrong type", f"TypeError: {str(error)[:100]}")
    except AssertionError as error:
        fine = target.name.startswith("checks.")  # the verdict on a callable that is no learner, environment, …
        return ("refused", "") if fine else ("wrong type", f"AssertionError: {str(error)[:100]}")
    except _TooLong:
        return "hang", ""
    except OSError as error:
        fine = bool(arguments.keys() & {"path", "data_id", "source", "target"}) and (misfit or not must)
        return ("refused", "") if fine else ("wrong type", f"{type(error).__name__}: {str(error)[:100]}")
    except Exception as error:
        return ("refused", "") if own and not must else ("wrong type", f"{type(error).__name__}: {str(error)[:100]}")
    finally:
        signal.alarm(0)
    return ("accepted against the declaration", "") if must else ("accepted", "")


class _TooLong(BaseException):
    pass


def _stop(*_: object) -> None:
    raise _TooLong


def _work(first: int, last: int, seed: int, log: Path, only: str) -> None:
    """Calls `first` to `last`, each with a generator of its own, so that any one can be repeated."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _stop)
    os.chdir(log.parent)  # where learners are saved
    targets = [t for t in discover() if _chosen(t, only)]
    for target in targets:  # what is compiled at the first call shall not count against a bad one
        if not target.name.startswith(("checks.", "Classification.openml")):
            with contextlib.suppress(Exception):
                target.call(**target.good)
    prints: dict[str, bytes] = {}
    counts: collections.Counter[str] = collections.Counter()
    failures: dict[str, int] = {}
    now = os.open(log.with_suffix(".now"), os.O_RDWR | os.O_CREAT)
    for number in range(first, last):
        rng = np.random.default_rng([seed, number])
        target = targets[rng.integers(len(targets))]
        arguments, words, must, misfit = _spoilt(target, rng)
        os.pwrite(now, json.dumps([number, words[:300]]).ljust(600).encode()[:600], 0)
        key = target.learner
        if key and key not in prints:
            prints[key] = _fingerprint(key)
        if os.environ.get("MARGINBANDITS_FUZZ_CRASH") == str(number):  # the tests' own negative control
            os.abort()
        what, detail = _outcome(target, arguments, must, misfit)
        if key:
            after = _fingerprint(key)
            if after != prints[key] and what != "accepted":
                failures[f"changed state: {words}"] = number
                counts["changed state"] += 1
            prints[key] = after
        counts[what] += 1
        if what not in ("refused", "accepted"):
            failures.setdefault(f"{what}: {words} {detail}", number)
        if number % 1000 == 999 or number + 1 == last:
            log.write_text(json.dumps({"counts": counts, "failures": failures}))


def _chosen(target: Target, only: str) -> bool:
    return not only or target.name.startswith(only)


def run(calls: int, seed: int, *, only: str = "") -> tuple[collections.Counter[str], dict[str, int]]:
    """Counts of outcomes, and every failure with the number of its call; a crash costs one process and is counted."""
    counts: collections.Counter[str] = collections.Counter()
    failures: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        first = 0
        while first < calls:
            log = Path(folder) / f"{first}.json"
            command = [sys.executable, "-m", "tests.fuzz.calls", "--calls", str(calls), "--seed", str(seed)]
            command += ["--worker", str(first), str(log), "--only", only]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            found: dict[str, Any] = json.loads(log.read_text()) if log.exists() else {"counts": {}, "failures": {}}
            counts.update(found["counts"])
            failures.update(found["failures"])
            first = calls
            if ended.returncode != 0:
                now = log.with_suffix(".now")
                number, words = json.loads(now.read_text()) if now.exists() else (calls, ended.stderr[-500:])
                counts["crash"] += 1
                failures[f"crash {ended.returncode}: {words} {ended.stderr[-200:]}"] = number
                first = number + 1
    return counts, failures


def main() -> None:
    """Run, print, and fail if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names that begin so")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        _work(int(given.worker[0]), given.calls, given.seed, Path(given.worker[1]), given.only)
        return
    counts, failures = run(given.calls, given.seed, only=given.only)
    for words, number in sorted(failures.items()):
        print(f"{number:7d}  {words}")
    wrong = {name: n for name, n in counts.items() if name not in ("refused", "accepted")}
    things = len([one for one in discover() if _chosen(one, given.only)])
    print(f"{given.calls} calls of {things} things exported:")
    for name in ("refused", "accepted", *sorted(wrong)):
        print(f"{counts[name]:7d}  {name}" + (" (the declaration allows it)" if name == "accepted" else ""))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
