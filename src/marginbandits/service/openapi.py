"""The OpenAPI document, from the same table as the routes and the same types as the decoders."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from marginbandits.service.keys import Scope
from marginbandits.service.requests import Problem

__all__ = ["Operation", "document"]

_REFUSALS = {
    "400": "what was asked is not as it should be",
    "401": "no key",
    "403": "the key is for something else",
    "404": "no such loop or event",
    "409": "an id was used for something else",
    "413": "too large",
    "429": "too much, or too fast",
    "500": "our fault",
}


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
    return {
        "openapi": "3.1.0",
        "info": {"title": "marginbandits", "version": "1", "description": "Decide, log, join, learn, deploy."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation, by_type: dict[str, Any]) -> dict[str, Any]:
    def content(kind: Any) -> dict[str, Any]:
        return {"application/json": {"schema": by_type[repr(kind)]}}

    refusals = {status: {"description": why, "content": content(Problem)} for status, why in _REFUSALS.items()}
    found: dict[str, Any] = {
        "operationId": one.act.__name__,
        "summary": (one.act.__doc__ or "").strip(),
        "responses": {"200": {"description": "done", "content": content(one.answer)}, **refusals},
    }
    if one.scope is not None:
        found["security"] = [{"key": []}]
    parameters: list[dict[str, Any]] = []
    if "{loop}" in one.path:
        name = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}
        parameters.append({"name": "loop", "in": "path", "required": True, "schema": name})
    if one.method == "POST":
        key = {"type": "string", "maxLength": 200}
        parameters.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": key})
    if parameters:
        found["parameters"] = parameters
    if one.request is not None:
        found["requestBody"] = {"required": True, "content": content(one.request)}
    return found
