"""A request on its way to a handler."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from weft.serve import decoding
from weft.serve.entries import Task, as_task
from weft.serve.http import Answer, Receive, Scope, Send
from weft.serve.limits import Limits
from weft.serve.problems import Problem
from weft.serve.service import Service
from weft.serve.tokens import Scope as Permission


class Call(NamedTuple):
    """A request; `body` is empty for routes that read it themselves, `held` is what its token allows."""

    service: Service
    scope: Scope
    receive: Receive
    send: Send
    body: bytes
    held: Permission | None
    limits: Limits
    stopping: asyncio.Event
    scope_of: Callable[[str], Permission | None]
    """What a token allows; None if it is not one of the folder's."""


Handler = Callable[[Call], Awaitable[Answer | None]]
"""Returns the answer, or None if it has sent one itself."""


def task_in(call: Call) -> Task:
    """The task in a path: its name; a JSON list or, where no task has that text as its name, an integer."""
    text = call.scope["path_params"]["task"]
    known = call.service.model.vocabulary.tasks
    if known.find(text) >= 0:
        return str(text)
    try:
        value = as_task(decoding.decoded(decoding.any_body, text.encode("utf-8", "surrogatepass")))
    except Problem:
        return str(text)
    return value if isinstance(value, int | tuple) and not isinstance(value, bool) else str(text)
