"""The ASGI application: finds the route, checks the token, reads the body, answers; every error is JSON."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from ipaddress import IPv6Address, ip_address
from typing import Any

from starlette.routing import Route as StarletteRoute
from starlette.routing import Router

from weft.serve import routes
from weft.serve.calls import Call
from weft.serve.dashboard import see
from weft.serve.figures import Figures
from weft.serve.http import Gone, Receive, Scope, Send, header, pass_over, problem_answer, read_body, send_answer
from weft.serve.limits import Limits
from weft.serve.problems import Problem, stopping
from weft.serve.routes import ROUTES, Route
from weft.serve.service import Service
from weft.serve.tokens import COOKIE, Tokens, allows
from weft.serve.tokens import Scope as Permission

LOCAL = ("127.0.0.1", "localhost", "[::1]")
FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip")
"""What proxies add to the requests of others."""
_REFRESH = 1.0  # seconds between two looks at the file of tokens


class Door:
    """Who may come in: everybody from this machine while there are no tokens, else who has one."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._looked = 0.0

    def check(self, scope: Scope, route: Route, remembers: bool = False) -> Permission | None:
        """What the request's token allows; Problem unless the request may use the route."""
        now = time.monotonic()
        if now - self._looked > _REFRESH:
            self._looked = now
            self._tokens.refresh()
        if not len(self._tokens):
            expect_local(scope)
            return "admin"
        needed = "learn" if remembers else route.permission
        if needed is None:
            return None
        given = header(scope, b"authorization")
        if given is None:
            held = self.scope_of(_cookie(scope))
        elif given[:7].lower() == b"bearer ":
            held = self.scope_of(given[7:].strip().decode("latin-1"))
        else:
            raise Problem("no_token", 401, "a token is missing", "send Authorization: Bearer TOKEN")
        if held is None:
            raise Problem("bad_token", 401, "the token is not one of this service", "make one with weft token add")
        if not allows(held, needed):
            raise Problem(
                "scope", 403, f"the token's scope is {held}, and this needs {needed}", f"use a token of scope {needed}"
            )
        return held

    def scope_of(self, token: str) -> Permission | None:
        """What a token allows; None if it is not one of the folder's."""
        return self._tokens.scope_of(token)


def _cookie(scope: Scope) -> str:
    """The token of a browser that was asked for one; Problem if there is none, or if another site sent the request."""
    found = SimpleCookie()
    with suppress(CookieError):
        found.load((header(scope, b"cookie") or b"").decode("latin-1"))
    if COOKIE not in found:
        raise Problem("no_token", 401, "a token is missing", "send Authorization: Bearer TOKEN")
    if scope["method"] != "GET":
        host = (header(scope, b"host") or b"").decode("latin-1")
        origin = (header(scope, b"origin") or b"").decode("latin-1")
        if origin not in (f"http://{host}", f"https://{host}"):
            raise Problem("other_site", 403, "the request comes from another site", "use the pages of this service")
    return found[COOKIE].value


def expect_local(scope: Scope) -> None:
    """Without tokens, nobody but programs of this machine may come in, also after the last token was removed.

    Neither another machine, which may claim any name of the host, nor a proxy that hands on what others ask, nor a page
    of another site in a browser of this machine.
    """
    client = scope.get("client")
    if client is not None and client[0] != "127.0.0.1" and not _is_loopback(client[0]):
        raise _not_local()
    if any(header(scope, name) is not None for name in FORWARDED):
        raise _not_local()
    host = (header(scope, b"host") or b"").decode("latin-1")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    origin = header(scope, b"origin")
    if name.lower() not in LOCAL or (origin is not None and origin.decode("latin-1") != f"http://{host}"):
        raise _not_local()


def _is_loopback(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def _not_local() -> Problem:
    return Problem(
        "not_local", 403,
        "a service without tokens answers requests to 127.0.0.1 and localhost only, from this machine",
        "add tokens with weft token add",
    )  # fmt: skip


class Endpoint:
    """The methods of one path."""

    def __init__(self, path: str, found: "App") -> None:
        self._app = found
        self._name = path.replace(":path", "")
        self._routes = {route.method: route for route in ROUTES if route.path == path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app, status = self._app, 200
        try:
            answer = await self._answer(scope, receive, send)
            if answer is not None:
                status = answer.status
                await send_answer(send, answer)
        except Gone:
            status = 499
        except asyncio.CancelledError:
            if not app.stopping.is_set():
                raise
            status = 503
            await send_answer(send, problem_answer(stopping()))
        except Problem as problem:
            status = problem.status
            route = self._routes.get(scope["method"])
            if status == 401 and route is not None and route.is_page:
                status = 303
                await send_answer(send, see("/login"))
            else:
                await send_answer(send, problem_answer(problem))
        except Exception as error:
            status = 500
            app.report(error)
            hidden = Problem("internal", 500, "something went wrong inside of weft", "look at the log of the service")
            await send_answer(send, problem_answer(hidden))
        app.answers[self._name, status] += 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Any:
        app = self._app
        route = self._routes.get(scope["method"])
        if route is None:
            allowed = ", ".join(self._routes)
            raise Problem("method", 405, f"{scope['method']} is not for this path", f"use {allowed}", allow=allowed)
        held = app.door.check(scope, route)
        service = app.service
        if route.ready and service is None:
            raise Problem("starting", 503, "the service is starting", "try again in a moment", retry_after=1)
        limits, body, is_late = app.limits, b"", app.stopping.is_set()
        if route.request is not None and not route.streams:
            body = await read_body(scope, receive, limits.body, limits.seconds)
            if route.handler is routes.predict and b'"remember"' in body:
                app.door.check(scope, route, remembers=True)
        if is_late and route.ready:
            if route.streams:
                await pass_over(receive, limits.upload, limits.seconds)
            raise stopping()
        call = Call(service, scope, receive, send, body, held, limits, app.stopping, app.door.scope_of)  # type: ignore[arg-type]
        return await route.handler(call)


class App:
    """The application; `service` is None until recovery is done."""

    def __init__(self, tokens: Tokens, limits: Limits, report: Callable[[BaseException], None]) -> None:
        self.door = Door(tokens)
        self.limits = limits
        self.report = report
        self.service: Service | None = None
        self.stopping = asyncio.Event()
        self.answers = Figures().answers
        paths = sorted({route.path for route in ROUTES}, key=lambda path: (path.count("{"), -len(path)))
        ends = {path: Endpoint(path, self) for path in paths}
        self._plain = {path: end for path, end in ends.items() if "{" not in path}
        table = [StarletteRoute(path, end) for path, end in ends.items() if "{" in path]
        self._router = Router(table, redirect_slashes=False, default=self._nowhere)

    def serve(self, service: Service) -> None:
        """From now on requests are answered."""
        service.figures.answers = self.answers
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._plain.get(scope["path"], self._router)(scope, receive, send)

    async def _nowhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = Problem("no_route", 404, "there is no such path", "GET /v1/openapi.json lists all of them")
        self.answers["(none)", 404] += 1
        await send_answer(send, problem_answer(problem))
