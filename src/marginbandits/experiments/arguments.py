"""One grammar for what people write: options of a command, learners with their parameters, plan files.

    LinUCB                                            a name
    LinTS(scale=0.3)                                  with parameters: numbers, words, True and False
    ExponentialWeights(margins=[0.1, 0.2])            and lists
    HingeLMC(scores=Networks(width=32))               and what it is made of

>>> words("LinUCB, LinTS(scale=0.3, features=fourier)")
['LinUCB', 'LinTS(scale=0.3, features=fourier)']
>>> value("[0.1, [fourier, True]]")
[0.1, ['fourier', True]]
"""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

from marginbandits.experiments.parts import known_parts, part
from marginbandits.experiments.sources import is_name
from marginbandits.experiments.specs import LearnerSpec, spec
from marginbandits.validation import quoted, suggestion

__all__ = ["called", "chosen", "learner_spec", "names", "plan_entries", "value", "words"]

_OPEN, _CLOSE = "([{", ")]}"
_DEEPEST = 20
_ENTRIES = ("rounds", "seeds", "shuffle", "data", "label", "drop", "missing", "learners")


def words(text: str) -> list[str]:
    """What stands between commas, but for those inside brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += (not quote) * ((letter in _OPEN) - (letter in _CLOSE))
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
        if depth > _DEEPEST:
            raise ValueError(f"brackets must not be nested more than {_DEEPEST} deep, got {quoted(text)}")
        if depth < 0:
            raise ValueError(f"a bracket is closed that was not opened, in {quoted(text)}")
    if depth or quote:
        raise ValueError(f"brackets and quotes must be closed, got {quoted(text)}")
    return [part.strip() for part in parts if part.strip()]


def value(text: str) -> Any:
    """A number, True, False, None, a quoted word, a list of values, a part of a learner; anything else is a word.

    >>> value("0.1"), value("fourier"), value("[1, two]"), value("Fourier(width=2)").width
    (0.1, 'fourier', [1, 'two'], 2.0)
    """
    if _is_part(text):
        return part(*called(text))
    if text.startswith("[") and text.endswith("]"):
        return [value(one) for one in words(text[1:-1])]
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def _is_part(text: str) -> bool:
    return text in known_parts() or re.fullmatch(r"[A-Za-z]\w*\s*\(.*\)", text, re.DOTALL) is not None


def names(text: str) -> list[str]:
    """Words that may be quoted, as one with a comma must be.

    >>> names("id, 'size, mm'")
    ['id', 'size, mm']
    """
    return [one[1:-1] if one[0] in "\"'" and one[0] == one[-1] else one for one in words(text)]


def learner_spec(text: str) -> LearnerSpec:
    """`LinUCB`, or with parameters.

    >>> learner_spec("LinUCB(features=fourier, alpha=0.1)").parameters
    {'features': 'fourier', 'alpha': 0.1}
    """
    return spec(*called(text))


def called(text: str) -> tuple[str, dict[str, Any]]:
    """A name, and the parameters in brackets after it.

    >>> called("LinUCB(alpha=0.1)")
    ('LinUCB', {'alpha': 0.1})
    """
    match = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?", text.strip(), re.DOTALL)
    if not match:
        raise ValueError(f"it is written Name or Name(parameter=value, …), got {quoted(text)}")
    parameters: dict[str, Any] = {}
    for one in words(match[2] or ""):
        name, equals, rest = (piece.strip() for piece in one.partition("="))
        if not equals or not name.isidentifier():
            raise ValueError(f"a parameter is written name=value, got {quoted(one)} in {quoted(text)}")
        if name in parameters:
            raise ValueError(f"the parameter {name} is given twice in {quoted(text)}")
        parameters[name] = value(rest)
    return match[1], parameters


def chosen(text: str | None, known: dict[str, Any], what: str) -> list[Any]:
    """Those named, in their own order; all if none is."""
    wanted = list(known) if text is None else words(text)
    for name in wanted:
        if name not in known:
            raise ValueError(f"no {what} is called {quoted(name)}{suggestion(name[:80], known)}")
    if not wanted:
        raise ValueError(f"name at least one {what}: {', '.join(known)}")
    return [one for name, one in known.items() if name in wanted]


def plan_entries(path: Path) -> dict[str, Any]:
    """The arguments of `Plan.of` that a TOML file holds; relative data paths are relative to it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it is not TOML: {error}") from error
    if "device" in table:
        raise ValueError("device is no entry of a plan: say where on the command line, --device")
    for name in table.keys() - set(_ENTRIES):
        raise ValueError(f"unknown entry {quoted(name)}{suggestion(name[:80], _ENTRIES)}")
    for name in ("data", "learners"):
        if not isinstance(table.get(name), list):
            raise ValueError(f"it must have a list of data and at least one [[learners]] table; {name} is no list")
    for one in table["data"]:
        if not isinstance(one, str):
            raise ValueError(f"data must be a list of words, got {quoted(one)} in it")
    table["data"] = [one if is_name(one) else str(path.parent / one) for one in table["data"]]
    table["learners"] = [_entry(one) for one in table["learners"]]
    return table


def _entry(entry: object) -> LearnerSpec:
    if isinstance(entry, str):
        return learner_spec(entry)
    if not isinstance(entry, dict) or "class" not in entry:
        raise ValueError(f"a learner must be a name or a table with a class, got {quoted(entry)}")
    parameters = {name: _made(one) for name, one in entry.items() if name not in ("class", "name")}
    return spec(entry["class"], label=entry.get("name"), parameters=parameters)


def _made(entry: object, depth: int = 1) -> Any:
    """A value of a learner's table; a table with a class is a part of the learner, and so are words that name one."""
    if depth > _DEEPEST:
        raise ValueError(f"a learner's tables must not be nested more than {_DEEPEST} deep")
    if isinstance(entry, list):
        return [_made(one, depth + 1) for one in entry]
    if isinstance(entry, str) and _is_part(entry):
        return part(*called(entry))
    if not isinstance(entry, dict):
        return entry
    rest = {name: _made(one, depth + 1) for name, one in entry.items() if name != "class"}
    return part(entry["class"], rest) if isinstance(entry.get("class"), str) else {**entry, **rest}
