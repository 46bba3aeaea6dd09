"""The ASGI application of a router: where a request belongs, and what comes of it."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from weft.names import Name
from weft.route.finding import Finder, message_of
from weft.route.merging import escaped, merged_metrics, merged_tasks
from weft.route.placement import read_map
from weft.route.shards import Shards, code_of, decoded, in_json, moving
from weft.route.uploads import Spread
from weft.serve.app import expect_local
from weft.serve.entries import as_task
from weft.serve.http import (
    Answer,
    Gone,
    Headers,
    Receive,
    Scope,
    Send,
    header,
    json_answer,
    pieces,
    problem_answer,
    read_body,
    send_answer,
)
from weft.serve.limits import Limits
from weft.serve.problems import Problem
from weft.store.digests import FileError

LOOK_EVERY = 0.1
"""Seconds between two looks at the file of the map."""
OPEN = ("/metrics", "/healthz", "/readyz", "/v1/openapi.json")
"""Routes that need no token."""
PASSED = (b"authorization", b"content-type")
"""Headers of requests that are passed on."""
MOST_TASKS = 100_000


class Request(NamedTuple):
    """A request with its body, and the map with which it is answered."""

    scope: Scope
    receive: Receive
    send: Send
    body: bytes
    finder: Finder

    @property
    def path(self) -> str:
        """As it was sent, with its query."""
        query = self.scope["query_string"].decode("latin-1")
        return str(self.scope["raw_path"].decode("latin-1")) + (f"?{query}" if query else "")

    @property
    def headers(self) -> Headers:
        """Those that are passed on."""
        return [(key, value) for key, value in self.scope["headers"] if key in PASSED]


Handler = Callable[[Request], Awaitable[Answer | None]]


class Router:
    """Finds the shard of every request. `busy` counts requests by the version of the map that they began with."""

    def __init__(
        self, path: Path, shards: Shards, limits: Limits, report: Callable[[BaseException], None], is_local: bool
    ) -> None:
        """`is_local`: only this machine can reach the router, so that shards need no tokens."""
        self._is_local = is_local
        self._path, self._shards, self.limits, self._report = path, shards, limits, report
        self.finder = Finder(read_map(path))
        self._looked, self._stamp = time.monotonic(), self._stamp_now()
        self.busy: Counter[int] = Counter()
        self.answers: Counter[int] = Counter()
        self._plain: dict[tuple[str, str], Handler] = {
            ("POST", "/v1/predict"): self._predict,
            ("POST", "/v1/learn"): self._by_task,
            ("POST", "/v1/explain"): self._by_task,
            ("POST", "/v1/feedback"): self._feedback,
            ("POST", "/v1/events"): self._events,
            ("GET", "/v1/tasks"): self._tasks,
            ("GET", "/v1/model"): self._model,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/healthz"): self._health,
            ("GET", "/readyz"): self._ready,
            ("GET", "/v1/openapi.json"): self._any,
        }

    # --- the map ---

    def _stamp_now(self) -> tuple[int, int, int]:
        found = os.stat(self._path)
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _look(self) -> None:
        """Follow the file of the map; one that cannot be used is not taken, and the earlier one stays."""
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        try:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._stamp = stamp
                self.finder = Finder(read_map(self._path))
        except (OSError, FileError) as error:
            self._report(error)

    # --- requests ---

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self._look()
        finder, status = self.finder, 200
        version = finder.map.version
        self.busy[version] += 1
        try:
            answer = await self._answer(scope, receive, send, finder)
            if answer is not None:
                status = answer.status
                await send_answer(send, answer)
        except Gone:
            status = 499
        except Problem as problem:
            status = problem.status
            await send_answer(send, problem_answer(problem))
        except Exception as error:
            status = 500
            self._report(error)
            hidden = Problem("internal", 500, "something went wrong inside of weft", "look at the log of the router")
            await send_answer(send, problem_answer(hidden))
        finally:
            self.busy[version] -= 1
            if not self.busy[version]:
                del self.busy[version]
        self.answers[status] += 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send, finder: Finder) -> Answer | None:
        method, path = scope["method"], scope["path"]
        if header(scope, b"authorization") is None and path not in OPEN:
            if not self._is_local:
                raise Problem("no_token", 401, "a token is missing", "send Authorization: Bearer TOKEN")
            expect_local(scope)
        handler = self._plain.get((method, path))
        if handler is None and path.startswith("/v1/tasks/") and method in ("GET", "DELETE", "PUT"):
            handler = self._task
        if handler is None:
            raise Problem(
                "no_route", 404, "the router has no such route",
                "see /v1/openapi.json; pages and live figures are at the shards",
            )  # fmt: skip
        body = b""
        if method in ("POST", "PUT") and handler != self._events:
            body = await read_body(scope, receive, self.limits.body, self.limits.seconds)
        return await handler(Request(scope, receive, send, body, finder))

    async def _ask(self, request: Request, name: str | None, body: bytes | None = None) -> Answer:
        """Pass a request on; Problem if the shard does not answer, or if the task is on its way to another one."""
        if name is None:
            raise moving()
        url, content = request.finder.map.shards[name].url, request.body if body is None else body
        method = request.scope["method"]
        await self._expect_tokens(name, url)
        return await self._shards.ask(name, url, method, request.path, content or None, request.headers)

    async def _expect_tokens(self, name: str, url: str) -> None:
        """A router that others can reach passes nothing on to a shard that would answer anybody."""
        if self._is_local or self._shards.is_guarded.get(name) == url:
            return
        answer = await self._shards.ask(name, url, "GET", "/v1/tasks?limit=1", None, [])
        if answer.status != 401:
            raise Problem(
                "open_shard", 503, f"the shard {name} asks for no token, and the router would open it to the network",
                "add tokens to its folder with weft token add", retry_after=5,
            )  # fmt: skip
        self._shards.is_guarded[name] = url

    async def _ask_each(self, request: Request) -> dict[str, Answer]:
        """The answers of all shards that answer."""
        names = list(request.finder.map.shards)
        found = await asyncio.gather(*(self._ask(request, name) for name in names), return_exceptions=True)
        answers = {}
        for name, answer in zip(names, found, strict=True):
            if isinstance(answer, Answer):
                answers[name] = answer
            elif not isinstance(answer, Problem):
                raise answer
        return answers

    # --- routes ---

    async def _by_task(self, request: Request) -> Answer:
        return await self._ask(request, request.finder.shard_of(message_of(request.body)))

    async def _predict(self, request: Request) -> Answer:
        message = message_of(request.body)
        return await self._ask(request, request.finder.shard_of(message), request.finder.with_id(message))

    async def _feedback(self, request: Request) -> Answer:
        """The shard that knows the prediction learns its label; one that does not answer may be that one."""
        message = message_of(request.body)
        why: Problem | None = None
        for name in request.finder.names_of(message.get("id") if isinstance(message, dict) else None):
            try:
                answer = await self._ask(request, name)
            except Problem as problem:
                why = problem
                continue
            if code_of(answer) != "unknown_id":
                return answer
        if why is not None:
            raise why
        return answer

    async def _events(self, request: Request) -> Answer:
        finder, shards = request.finder, request.finder.map.shards

        def place(line: bytes) -> str | None:
            message = message_of(line)
            names = [finder.shard_of(message)]
            if isinstance(message, dict) and not {"task", "x", "record"} & message.keys():
                names = finder.names_of(message.get("id"))
                if len(names) > 1:
                    return None
            if names[0] is None:
                raise moving()
            return names[0]

        async def send(name: str | None, lines: bytes) -> Answer:
            if name is None:
                raise moving()
            await self._expect_tokens(name, shards[name].url)
            return await self._shards.ask(name, shards[name].url, "POST", "/v1/events", lines, request.headers)

        spread = Spread(finder.names_of(None), place, send, self.limits)
        await spread.take(pieces(request.receive, self.limits.upload, self.limits.seconds))
        return in_json(spread.answer())

    async def _task(self, request: Request) -> Answer:
        """A task in a path: its name, or where there is none of that text, the JSON that it is."""
        text = unquote(request.scope["raw_path"].decode("latin-1").removeprefix("/v1/tasks/"), errors="surrogatepass")
        if request.scope["method"] == "PUT":
            text = text.removesuffix("/policy")
        names: list[Name] = [text]
        value = message_of(text.encode("utf-8", "surrogatepass"))
        if isinstance(value, int | list) and not isinstance(value, bool):
            names.append(as_task(value))
        for name in names:
            answer = await self._ask(request, request.finder.placement.shard_of(name))
            if code_of(answer) != "unknown_task":
                break
        return answer

    async def _tasks(self, request: Request) -> Answer:
        query = dict(parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True))
        answers = await self._ask_each(request)
        for answer in answers.values():
            if answer.status != 200:
                return answer
        if not answers:
            raise Problem("shard_down", 503, "no shard answers", "try again in a moment", retry_after=1)
        found = {name: decoded(answer) for name, answer in answers.items()}
        limit = min(int(query.get("limit", "100")), MOST_TASKS)
        owners = request.finder.map.owners()
        whole = in_json(merged_tasks(found, owners, limit, query.get("sort", "-events")))
        missing = [quote(name) for name in request.finder.map.shards if name not in answers]
        return whole._replace(headers=[*whole.headers, (b"weft-missing", ",".join(missing).encode())])

    async def _model(self, request: Request) -> None:
        """The model of one shard, which the query names: `?shard=a`."""
        query = dict(parse_qsl(request.scope["query_string"].decode("latin-1")))
        shards = request.finder.map.shards
        name = query.get("shard", next(iter(shards)) if len(shards) == 1 else "")
        if name not in shards:
            raise Problem(
                "no_shard", 422, "every shard has a model of its own", f"write ?shard= and one of {', '.join(shards)}",
                field="shard",
            )  # fmt: skip
        await self._expect_tokens(name, shards[name].url)
        async with self._shards.stream(shards[name].url, "/v1/model", request.headers) as found:
            headers = [(key, value) for key, value in found.headers.raw if key.lower() in _OF_A_FILE]
            await request.send({"type": "http.response.start", "status": found.status_code, "headers": headers})
            async for block in found.aiter_raw():
                await request.send({"type": "http.response.body", "body": block, "more_body": True})
            await request.send({"type": "http.response.body", "body": b""})

    async def _any(self, request: Request) -> Answer:
        """What every shard answers alike."""
        answers = await self._ask_each(request)
        if not answers:
            raise Problem("shard_down", 503, "no shard answers", "try again in a moment", retry_after=1)
        return next(iter(answers.values()))

    async def _metrics(self, request: Request) -> Answer:
        answers = {name: answer for name, answer in (await self._ask_each(request)).items() if answer.status == 200}
        lines = ["# HELP weft_route_shard_up Whether a shard answers.", "# TYPE weft_route_shard_up gauge"]
        for name in request.finder.map.shards:
            lines.append(f'weft_route_shard_up{{shard="{escaped(name)}"}} {int(name in answers)}')
        lines += ["# HELP weft_route_map_version The map that is used.", "# TYPE weft_route_map_version gauge"]
        lines.append(f"weft_route_map_version {request.finder.map.version}")
        lines += ["# HELP weft_route_answers_total Answers by status.", "# TYPE weft_route_answers_total counter"]
        lines += [f'weft_route_answers_total{{status="{code}"}} {n}' for code, n in sorted(self.answers.items())]
        lines += merged_metrics({name: answer.body.decode() for name, answer in answers.items()})
        return Answer(200, "\n".join([*lines, ""]).encode(), [(b"content-type", b"text/plain; version=0.0.4")])

    async def _health(self, request: Request) -> Answer:
        """That the router runs, with which map, and how many requests began with an earlier one."""
        older = sum(count for version, count in self.busy.items() if version < request.finder.map.version)
        return json_answer({"status": "ok", "seq": 0, "map": request.finder.map.version, "older": older})

    async def _ready(self, request: Request) -> Answer:
        """Ready with at least one shard: the tasks of the others are answered with 503."""
        answers = await self._ask_each(request)
        states = {name: name in answers and answers[name].status == 200 for name in request.finder.map.shards}
        if not any(states.values()):
            raise Problem("shard_down", 503, "no shard is ready", "try again in a moment", retry_after=1)
        return json_answer({"status": "ready", "seq": 0, "shards": states})


_OF_A_FILE = (b"content-type", b"content-length", b"content-disposition", b"weft-seq")
