"""What a service takes at most. Beyond a limit a request is refused with a sentence, never dropped."""

import msgspec

from weft.serve.entries import Row, Task
from weft.serve.problems import Problem


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes; all of them can be given on the command line."""

    body: int = 1 << 20
    """Bytes of a JSON body."""
    upload: int = 1 << 32
    """Bytes of an NDJSON body."""
    line: int = 1 << 20
    """Bytes of a line of NDJSON."""
    features: int = 10_000
    """Features of an event."""
    name: int = 1024
    """Characters of the name of a task or a feature, and of an id."""
    queue: int = 20_000
    """Requests that wait for the writer."""
    connections: int = 2_000
    """Connections at one time."""
    listed: int = 1_000
    """Refused lines that an answer to an upload names; the others are counted."""
    seconds: float = 30.0
    """For the whole body of a JSON request, and between two pieces of an upload."""


def expect_event(limits: Limits, task: Task | None, x: Row | None, id: str | None = None) -> None:
    """Raise Problem if an event has too many features or a name that is too long."""
    if x is not None and len(x) > limits.features:
        raise Problem(
            "too_many_features", 422, f"the event has {len(x):,} features, more than {limits.features:,}",
            "send fewer, or raise --most-features", field="x",
        )  # fmt: skip
    if isinstance(x, dict) and x and max(map(len, x)) > limits.name:
        _too_long("the name of a feature", max(x, key=len), limits, "x")
    if isinstance(task, str):
        if len(task) > limits.name:
            _too_long("the task", task, limits, "task")
    elif isinstance(task, tuple) and len(str(task)) > limits.name:
        _too_long("the task", str(task), limits, "task")
    if id is not None:
        expect_id(limits, id)


def expect_id(limits: Limits, id: str) -> None:
    """Raise Problem if an id is empty or too long."""
    if not id:
        raise Problem("bad_id", 422, "the id is empty", "leave it out, or give one", field="id")
    if len(id) > limits.name:
        _too_long("the id", id, limits, "id")


def _too_long(what: str, name: str, limits: Limits, field: str) -> None:
    raise Problem(
        "name_too_long", 422, f"{what}, {name[:20]!r}..., has more than {limits.name:,} characters",
        "use a shorter one, or raise --longest-name", field=field,
    )  # fmt: skip
