"""OpenAPI 3.1, made from the table of routes and the types of their messages."""

import re
from typing import TYPE_CHECKING, Any

import msgspec

from weft import __version__
from weft.serve import messages
from weft.serve.service import SORTS

if TYPE_CHECKING:
    from weft.serve.routes import Route

MOST_TASKS = 100_000
_PARAMETER = re.compile(r"{(\w+)(?::path)?}")
ERRORS = {
    "401": "A token is missing or wrong.",
    "403": "The token's scope does not suffice.",
    "404": "There is no such task or remembered prediction.",
    "405": "The path has other methods, which the header Allow names.",
    "408": "The body came too slowly.",
    "409": "It contradicts what was learned, or the learner cannot do it.",
    "410": "The remembered prediction has expired.",
    "413": "A body or line is too large.",
    "422": "The message cannot be used; field and remedy say why.",
    "500": "Something went wrong inside of the service.",
    "503": "The service is starting, stopping, or has too much to do; try again after Retry-After seconds.",
}


_LIST: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "default": 100, "minimum": 1, "maximum": MOST_TASKS},
    "sort": {"type": "string", "default": "-events", "enum": [sign + name for name in SORTS for sign in ("", "-")]},
}
"""Parameters of the list of tasks."""


def document(routes: "tuple[Route, ...]", is_open: bool) -> dict[str, Any]:
    """The description of all routes; `is_open`: the folder has no tokens, and none has to be sent."""
    types = [kind for route in routes for kind in (route.request, route.answer) if kind is not None]
    unique = list(dict.fromkeys([*types, messages.ErrorAnswer]))
    _, schemas = msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")
    for name in ("PredictRequest", "LearnRequest", "ExplainRequest"):
        schemas[name]["oneOf"] = [{"required": ["task", "x"]}, {"required": ["record"]}]
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = _PARAMETER.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, is_open)
    return {
        "openapi": "3.1.0",
        "info": {"title": "weft", "version": __version__, "description": "A model that learns while it answers."},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: "Route", is_open: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}{re.sub('[^a-z]+', '_', route.path.replace(':path', ''))}".rstrip("_"),
        "responses": {"200": {"description": "Done.", **_content(route.answer, route.media)}},
    }
    if route.media == "text/html":
        found["responses"]["303"] = {"description": "See the page that the header Location names."}
    for status, meaning in ERRORS.items():
        found["responses"][status] = {"description": meaning, **_content(messages.ErrorAnswer, "application/json")}
    if route.permission is not None:
        found["security"] = [{"token": []}, {}] if is_open else [{"token": []}]
        found["description"] = f"Needs a token of scope {route.permission}, unless the folder has no tokens."
    names = _PARAMETER.findall(route.path)
    if names:
        found["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if route.path == "/v1/tasks":
        found["parameters"] = [{"name": name, "in": "query", "schema": schema} for name, schema in _LIST.items()]
    if route.request is not None:
        kind = "application/x-ndjson" if route.streams else "application/json"
        found["requestBody"] = {"required": not route.streams, **_content(route.request, kind)}
    return found


def _content(kind: type | None, media: str) -> dict[str, Any]:
    if kind is None:
        return {} if media == "application/json" else {"content": {media: {}}}
    return {"content": {media: {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}}
