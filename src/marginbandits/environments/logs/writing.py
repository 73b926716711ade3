"""Logs written: as Parquet, JSON lines, Vowpal Wabbit text or dsjson, a part at a time.

Losses are written, within [0, 1], and numbers with as many digits as it takes to read the same ones again; or rewards
as they are, with the range that they lie within, and what stands beside (`rewards=True`).

    .parquet   columns as `read_log` finds them without being told; names and values have a column each where all rounds
               have the same names, and otherwise one that holds JSON
    .jsonl     an object for each round: context, action, loss, probability, …
    .vw        an action is its place from 1; where rounds offer actions, each has a line. What has no form there is
               given one: text is a category for each word, and a gap a category of its own
    .dsjson    an event for each round; labels become tags, so say actions= when reading them again

A file is whole or not there: it is written beside its place, and moved to it.
"""

import gzip
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse

from marginbandits.environments.logs.log import Log, kind_of
from marginbandits.environments.logs.table import HIGH, LOW
from marginbandits.frames import ParquetFile
from marginbandits.log_parts import LogParts
from marginbandits.rounds import Progress, Rounds
from marginbandits.types import Action
from marginbandits.validation import Function, Instance, OneOf, quoted, validated

__all__ = ["write_log"]

_UNFIT = re.compile(r"[\s|:]")
"""What cannot stand in a name of Vowpal Wabbit's text."""


@validated
def write_log(
    log: Annotated[Log | LogParts | Rounds, Instance(Log, LogParts, Rounds)],
    path: Annotated[str | os.PathLike[str], Instance(str, os.PathLike)],
    *,
    progress: Progress = None,
    rewards: bool = False,
    private: bool = False,
    left_out: Annotated[Callable[[str], object] | None, OneOf(Function(), Instance(type(None)))] = None,
) -> int:
    """Write a log, or some rounds, to a file in the format that its name ends in; returns how many rounds.

    `progress` is called with the number of rounds of each part that is written. With `rewards`, these are written as
    they are rather than losses; as costs, with their signs turned, where the format has costs. A round with a name that
    the format cannot hold is an error, unless `left_out` is to be told of such rounds: which, and why. A `private` file
    is its owner's alone to read.
    """
    target = Path(path)
    try:
        kind = kind_of(target, None)
    except ValueError:
        raise ValueError(
            f"{target} must end in .parquet, .jsonl, .vw or .dsjson; text may be compressed (.gz)"
        ) from None
    if kind == "csv":
        raise ValueError(f"{target}: logs are written as .parquet, .jsonl, .vw or .dsjson: CSV does not hold them all")
    parts: Iterable[Rounds] = [log] if isinstance(log, Rounds) else log
    n = 0
    with _whole(target, private=private) as partial:
        with _writer(kind, partial, target, parts, left_out) as write:
            for given in parts:
                if rewards and given.outcomes is None:
                    raise ValueError("rewards: this log has none as they are, but losses")
                rounds = given if rewards else replace(given, outcomes=None, beside=None)
                n += write(rounds)
                if progress is not None:
                    progress(len(rounds))
        if n == 0:
            raise ValueError("a log without rounds is not written")
    return n


@contextmanager
def _whole(target: Path, *, private: bool) -> Iterator[Path]:
    """A file to write to, that is moved to its place at the end, and removed if it does not come to that."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}")
    partial = target.with_name(f".{secrets.token_hex(12)}.partial")
    try:
        partial.touch(0o600 if private else 0o666, exist_ok=False)
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _writer(
    kind: str, partial: Path, target: Path, parts: Iterable[Rounds], left_out: Callable[[str], object] | None
) -> Iterator[Callable[[Rounds], int]]:
    """Writes rounds, and says how many of them."""
    if kind == "parquet":
        file = ParquetFile(partial)
        columns = _same_names(parts)

        def write_table(rounds: Rounds) -> int:
            file.write(_table(rounds, columns))
            return len(rounds)

        try:
            yield write_table
        finally:
            file.close()
        return
    lines = {"jsonl": _json_lines, "vw": _text_lines, "dsjson": _events}[kind]
    with (
        gzip.open(partial, "wt", encoding="utf-8")
        if target.suffix == ".gz"
        else partial.open("w", encoding="utf-8") as to
    ):

        def write(rounds: Rounds) -> int:
            found = list(_each(rounds, lines, left_out))
            to.writelines(found)
            return len(found)

        yield write


def _each(
    rounds: Rounds, lines: Callable[[Rounds, int], str], left_out: Callable[[str], object] | None
) -> Iterator[str]:
    for i in range(len(rounds)):
        try:
            yield lines(rounds, i)
        except ValueError as error:
            told = f"{rounds.where(i)}: {error}"
            if left_out is None:
                raise ValueError(told) from None
            left_out(told)


# What a round has, as plain values.


def _context(rounds: Rounds, i: int) -> dict[str, Any]:
    """By name, whatever it is."""
    contexts = rounds.contexts
    if contexts is None:
        return {}
    if isinstance(contexts, list):
        return dict(contexts[i] or {})
    if scipy.sparse.issparse(contexts):
        row = contexts[[i]].tocsr()
        return dict(zip(map(str, row.indices.tolist()), row.data.tolist(), strict=True))
    return dict(zip(_columns(rounds), contexts[i].tolist(), strict=True))


def _columns(rounds: Rounds) -> tuple[str, ...]:
    return rounds.columns or tuple(f"x{j}" for j in range(rounds.contexts.shape[1]))


def _beside(rounds: Rounds, i: int) -> dict[str, Any]:
    """Key, time and version."""
    given = {"key": rounds.keys, "time": rounds.times, "version": rounds.versions}
    return {name: _written(values[i]) for name, values in given.items() if values is not None}


def _outcome(rounds: Rounds, i: int) -> dict[str, Any]:
    """The loss, or the reward as it is, with what it lies within."""
    if rounds.outcomes is None:
        return {"loss": float(rounds.losses[i])}
    low, high = rounds.within or (0.0, 1.0)
    return {"reward": float(rounds.outcomes[i]), LOW: low, HIGH: high}


def _cost(rounds: Rounds, i: int) -> float:
    return float(rounds.losses[i] if rounds.outcomes is None else 0.0 - rounds.outcomes[i])


def _more(rounds: Rounds, i: int) -> dict[str, Any]:
    """What stands beside."""
    return {name: cells[i] for name, cells in (rounds.beside or {}).items()}


def _written(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{quoted(value)} cannot be written as JSON: {error}") from None


# JSON lines.


def _json_lines(rounds: Rounds, i: int) -> str:
    dense = isinstance(rounds.contexts, np.ndarray)
    found: dict[str, Any] = {
        "context": rounds.contexts[i].tolist() if dense else _context(rounds, i),
        "action": rounds.name(i),
        **_outcome(rounds, i),
    }
    if rounds.probabilities is not None:
        found["probability"] = float(rounds.probabilities[i])
    if rounds.available is not None:
        found["available"] = rounds.available[i].tolist()
    if rounds.offers is not None:
        found["offers"] = rounds.offers[i]
    if rounds.laws is not None:
        k = len(rounds.offers[i]) if rounds.offers is not None else rounds.n_actions
        found["law"] = rounds.laws[i, :k].tolist()
    return _dumped(found | _beside(rounds, i) | _more(rounds, i)) + "\n"


# Parquet.

_OWN = ("action", "loss", "probability", "available", "law", "offers", "key", "time", "version")


def _taken(rounds: Rounds) -> set[str]:
    """Names of columns that are no context's."""
    return {*_OWN, *(() if rounds.outcomes is None else ("reward", LOW, HIGH)), *(rounds.beside or ())}


def _same_names(parts: Iterable[Rounds]) -> dict[str, type] | None:
    """Names and types of contexts that can be columns: all rounds have them, and all values of one are alike."""
    found: dict[str, type] | None = None
    for rounds in parts:
        if not isinstance(rounds.contexts, list):
            return None
        own = _taken(rounds)
        for context in rounds.contexts:
            if found is None:
                found = dict.fromkeys(context or (), type(None))
            if context is None or context.keys() != found.keys() or not found.keys().isdisjoint(own):
                return None
            for name, value in context.items():
                kind = type(value)
                if kind is type(None) or kind is found[name]:
                    continue
                if found[name] is not type(None) or kind not in (bool, float, str):
                    return None
                found[name] = kind
    return None if not found or type(None) in found.values() else found


def _table(rounds: Rounds, columns: dict[str, type] | None) -> dict[str, Any]:
    contexts = rounds.contexts
    found: dict[str, Any] = {}
    if isinstance(contexts, np.ndarray):
        clash = [name for name in _columns(rounds) if name in _taken(rounds)]
        if clash:
            raise ValueError(f"the context column {clash[0]!r} has the name of a column of logs: rename it")
        found |= {name: contexts[:, j] for j, name in enumerate(_columns(rounds))}
    elif contexts is None:
        pass
    elif columns is not None:
        found |= {name: [one[name] for one in contexts] for name in columns}
    else:
        found["context"] = [_dumped(_context(rounds, i)) for i in range(len(rounds))]
    kinds = {isinstance(one, str) for one in rounds.labels or ()}
    if len(kinds) > 1:
        raise ValueError(f"a column of Parquet has words or numbers, and actions are both: {quoted(rounds.labels)}")
    found["action"] = [rounds.name(i) for i in range(len(rounds))]
    if rounds.offers is not None:
        found["action"] = list(map(str, found["action"]))
    if rounds.outcomes is None:
        found["loss"] = rounds.losses
    else:
        low, high = rounds.within or (0.0, 1.0)
        found |= {"reward": rounds.outcomes, LOW: np.full(len(rounds), low), HIGH: np.full(len(rounds), high)}
    if rounds.probabilities is not None:
        found["probability"] = rounds.probabilities
    if rounds.available is not None:
        found["available"] = list(rounds.available)
    if rounds.offers is not None:
        found["offers"] = [_dumped(one) for one in rounds.offers]
    if rounds.laws is not None:
        sizes = [rounds.n_actions] * len(rounds) if rounds.offers is None else [len(one) for one in rounds.offers]
        found["law"] = [law[:k] for law, k in zip(rounds.laws, sizes, strict=True)]
    given = {"key": rounds.keys, "time": rounds.times, "version": rounds.versions}
    return found | {name: values for name, values in given.items() if values is not None} | (rounds.beside or {})


# Vowpal Wabbit.


def _text_lines(rounds: Rounds, i: int) -> str:
    label = f":{_cost(rounds, i)!r}"
    if rounds.probabilities is not None:
        label += f":{float(rounds.probabilities[i])!r}"
    key = "" if rounds.keys is None else f"'{_UNFIT.sub(_escaped, str(rounds.keys[i]))}"
    context = _features(_context(rounds, i))
    if rounds.offers is None and rounds.available is None:
        return f"{rounds.actions[i] + 1}{label} {key}{context}\n"
    lines = [f"shared {key}{context}"]
    for place, (name, features) in enumerate(_offer(rounds, i).items()):
        tag = "" if name == place else f"'{_fit(str(name))}"
        taken = str(name) == str(rounds.name(i))
        lines.append(f"{f'0{label} ' * taken}{tag}{_features(features)}")
    return "\n".join(lines) + "\n\n"


def _offer(rounds: Rounds, i: int) -> Mapping[Action, Mapping[str, Any]]:
    """What a round offers; where actions are the same throughout, each with its name for a feature."""
    if rounds.offers is not None:
        return rounds.offers[i]
    masks = rounds.available
    able = range(rounds.n_actions) if masks is None else np.flatnonzero(masks[i]).tolist()
    return {str(rounds.labels[place]): {"action": str(rounds.labels[place])} for place in able if rounds.labels}


def _features(context: Mapping[str, Any]) -> str:
    own = [word for name, value in context.items() if not isinstance(value, Mapping) for word in _words(name, value)]
    text = "| " + " ".join(own)
    for name, value in context.items():
        if isinstance(value, Mapping):
            text += f" |{_fit(name)} " + " ".join(word for inner, one in value.items() for word in _words(inner, one))
    return text


def _words(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _words(f"{name}.{inner}", one)
    elif value is True:
        yield _fit(name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{_fit(name)}:{float(value)!r}"
    elif isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        for one in value:
            yield f"{_fit(name)}={_fit(one)}"
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _words(f"{name}.{place}", one)
    elif isinstance(value, str):
        for one in value.split() or [""]:
            yield f"{_fit(name)}={_fit(one, empty=True)}"
    else:  # False, None
        yield f"{_fit(name)}={value}"


def _escaped(found: re.Match[str]) -> str:
    """A character of a key, as addresses have it."""
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def _fit(name: str, *, empty: bool = False) -> str:
    if _UNFIT.search(name) or not (name or empty):
        raise ValueError(f"{quoted(name)} has a space, a colon or a bar in it, and this format no way to write it")
    return name


# Decision service.


def _events(rounds: Rounds, i: int) -> str:
    offer = _offer(rounds, i)
    names = list(map(str, offer))
    place = names.index(str(rounds.name(i)))
    found: dict[str, Any] = {"_label_cost": _cost(rounds, i)}
    if rounds.probabilities is not None:
        found["_label_probability"] = float(rounds.probabilities[i])
    found |= {"_label_Action": place + 1, "_labelIndex": place}
    beside = _beside(rounds, i)
    told = {"key": "EventId", "time": "Timestamp", "version": "ModelVersion"}
    found |= {told[name]: value for name, value in beside.items()}
    ranked = [place, *(k for k in range(len(names)) if k != place)]
    found["a"] = [k + 1 for k in ranked]
    tagged = list(offer) != list(range(len(names)))
    multi = [({"_tag": name} if tagged else {}) | _seen(offer[key]) for name, key in zip(names, offer, strict=True)]
    found["c"] = _seen(_context(rounds, i)) | {"_multi": multi}
    if rounds.laws is not None:
        law = rounds.laws[i, : len(names)] if rounds.offers is not None else _of_available(rounds, i)
        found["p"] = [float(law[k]) for k in ranked]
    if rounds.outcomes is not None:
        found |= {name: value for name, value in _outcome(rounds, i).items() if name != "reward"} | _more(rounds, i)
    return _dumped(found) + "\n"


def _of_available(rounds: Rounds, i: int) -> Any:
    law = (rounds.laws if rounds.laws is not None else np.empty((0, 0)))[i]
    return law if rounds.available is None else law[rounds.available[i]]


def _seen(context: Mapping[str, Any]) -> dict[str, Any]:
    """The same features, none of which this format passes over."""
    for name, value in context.items():
        if name.startswith("_"):
            raise ValueError(f"{quoted(name)} begins with _, and readers of this format pass over such names")
        if isinstance(value, Mapping):
            _seen(value)
    return dict(context)
