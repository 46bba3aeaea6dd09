"""The handlers of pages for people: the dashboard, a task's page, the page that asks for a token, and live figures."""

import asyncio
import time
from urllib.parse import parse_qs

from weft.serve.calls import Call, task_in
from weft.serve.http import Answer, encode, pieces
from weft.serve.overview import live, overview, task_page
from weft.serve.problems import Problem
from weft.serve.rendering import CSP, login_page, overview_page, quantity, static_file, task_html
from weft.serve.requests import ToSetPolicy
from weft.serve.service import Service
from weft.serve.tokens import COOKIE

EVERY = 1.0
"""Seconds between two messages of a live page."""
LONGEST_FORM = 4096
_HEADERS = [
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]


def html(text: str, status: int = 200) -> Answer:
    """A page."""
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store"), *_HEADERS]
    return Answer(status, text.encode(), headers)


def see(place: str, *headers: tuple[bytes, bytes]) -> Answer:
    """Go there."""
    return Answer(303, b"", [(b"location", place.encode("latin-1")), *headers])


async def dashboard(call: Call) -> Answer:
    """The first page."""
    found = await asyncio.to_thread(overview, call.service)
    return html(overview_page(found, call.service.model.target == "binary"))


async def task(call: Call) -> Answer:
    """The page of a task."""
    found = await asyncio.to_thread(task_page, call.service, task_in(call))
    return html(task_html(found, call.held == "admin"))


async def set_policy(call: Call) -> Answer:
    """The switches of a task's page."""
    name, form = task_in(call), await _form(call)
    call.service.task(name)
    await call.service.submit_one(ToSetPolicy(name, "gives" in form, "receives" in form))
    return see(call.scope["raw_path"].decode("latin-1"))


async def login(call: Call) -> Answer:
    """The page that asks for a token."""
    return html(login_page())


async def enter(call: Call) -> Answer:
    """A token that was typed: kept by the browser, for this site alone and out of reach of scripts."""
    token = (await _form(call)).get("token", "").strip()
    if call.scope_of(token) is None:
        return html(login_page("This is not a token of this service."), 401)
    cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
    return see("/", (b"set-cookie", cookie.encode("latin-1", "replace")))


async def static(call: Call) -> Answer:
    """A file that pages load."""
    found = static_file(call.scope["path_params"]["name"])
    if found is None:
        raise Problem("no_route", 404, "there is no such file", "see the page at /")
    return Answer(200, found[0], [(b"content-type", found[1].encode()), (b"cache-control", b"no-cache"), *_HEADERS])


async def stream(call: Call) -> None:
    """Figures as server-sent events, until the client goes or the service stops."""
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), *_HEADERS]
    await call.send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.ensure_future(_gone(call))
    stopping = asyncio.ensure_future(call.stopping.wait())
    try:
        while not gone.done() and not stopping.done():
            body = b"retry: 1000\ndata: " + message(call.service) + b"\n\n"
            await call.send({"type": "http.response.body", "body": body, "more_body": True})
            await asyncio.wait([gone, stopping], timeout=EVERY, return_when=asyncio.FIRST_COMPLETED)
        await call.send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        stopping.cancel()


async def _gone(call: Call) -> None:
    while (await call.receive())["type"] != "http.disconnect":
        pass


def message(service: Service) -> bytes:
    """The figures of now; those of a moment ago for another client that asks at the same time."""
    now = time.monotonic()
    if now - service.live_at > EVERY / 2:
        found = live(service)
        shown = {name: quantity(value or 0.0, name) for name, value in found["figures"].items() if _has_unit(name)}
        service.live_at, service.live_text = now, encode({**found, "shown": shown})
    return service.live_text


def _has_unit(name: str) -> bool:
    return name.endswith(("_bytes", "_seconds"))


async def _form(call: Call) -> dict[str, str]:
    body = b"".join([piece async for piece in pieces(call.receive, LONGEST_FORM, call.limits.seconds)])
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=10)
    except ValueError:
        raise Problem("bad_form", 422, "the form cannot be read", "use the page that it is on") from None
    return {name: values[0] for name, values in found.items()}
