"""The OpenAPI document, from the same table as the routes and the same types as the decoders."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from marginbandits.service.door import LONGEST_KEY
from marginbandits.service.keys import Scope
from marginbandits.service.requests import Problem

__all__ = ["Operation", "document"]

_REFUSALS = {
    "400": "what was asked is not as it should be",
    "401": "no key",
    "403": "the key is for something else",
    "404": "no such loop or event",
    "409": "an id was used for something else, or another policy decides since",
    "413": "too large",
    "429": "too much, or too fast",
    "500": "our fault",
    "503": "it is written, but not taken in yet; or it cannot be written",
}


_PLAIN = {
    "/metrics": ("metrics", "Counts and gauges, as Prometheus reads them.", "text/plain"),
    "/page/{loop}": ("page", "What a loop does, for people.", "text/html"),
    "/page/{loop}/event": ("event", "One decision, for people.", "text/html"),
}
"""What is read as text: its name, what it is, and its kind; errors of pages are pages."""


@dataclass(frozen=True)
class Operation:
    """What can be asked of the service."""

    method: str
    path: str
    scope: Scope | None
    act: Callable[[str, Any, str | None], Awaitable[Any]]
    request: Any
    answer: Any


def document(operations: list[Operation]) -> dict[str, Any]:
    """OpenAPI 3.1."""
    types = [one for operation in operations for one in (operation.request, operation.answer) if one is not None]
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template="#/components/schemas/{name}")
    by_type = dict(zip(map(repr, [*types, Problem]), schemas, strict=True))
    paths: dict[str, Any] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, by_type)
    paths |= {path: {"get": _read(path, *told)} for path, told in _PLAIN.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "marginbandits", "version": "1", "description": "Decide, log, join, learn, deploy."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


_LOOP = {
    "name": "loop",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"},
}


_AGAIN = {"Retry-After": {"description": "seconds until it may be tried again", "schema": {"type": "integer"}}}


def _refusals(content: dict[str, Any]) -> dict[str, Any]:
    """What any operation may answer, where it does not do what it is asked."""
    found = {status: {"description": why, "content": content} for status, why in _REFUSALS.items()}
    for status in ("429", "503"):
        found[status]["headers"] = _AGAIN
    return found


def _read(path: str, name: str, what: str, kind: str) -> dict[str, Any]:
    errors = "application/json" if path == "/metrics" else kind
    parameters = [_LOOP] if "{loop}" in path else []
    if path.endswith("/event"):
        parameters.append({"name": "id", "in": "query", "required": True, "schema": {"type": "string"}})
    return {
        "operationId": name,
        "summary": what,
        "security": [{"key": []}],
        "parameters": parameters,
        "responses": {
            "200": {"description": "done", "content": {kind: {"schema": {"type": "string"}}}},
            **_refusals({errors: {}}),
        },
    }


def _operation(one: Operation, by_type: dict[str, Any]) -> dict[str, Any]:
    def content(kind: Any) -> dict[str, Any]:
        return {"application/json": {"schema": by_type[repr(kind)]}}

    refusals = _refusals(content(Problem))
    if one.scope is None:  # its own answer, and not a refusal
        refusals["503"] = {"description": "it does not write, or does not learn", "content": content(one.answer)}
    found: dict[str, Any] = {
        "operationId": one.act.__name__,
        "summary": (one.act.__doc__ or "").strip(),
        "responses": {"200": {"description": "done", "content": content(one.answer)}, **refusals},
    }
    if one.scope is not None:
        found["security"] = [{"key": []}]
    parameters: list[dict[str, Any]] = []
    if "{loop}" in one.path:
        parameters.append(_LOOP)
    if one.method == "POST":
        key = {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY}
        parameters.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": key})
    if parameters:
        found["parameters"] = parameters
    if one.request is not None:
        found["requestBody"] = {"required": True, "content": content(one.request)}
    return found
