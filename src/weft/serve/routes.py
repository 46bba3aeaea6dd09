"""The routes as data: method, path, scope, messages, handler. The page /v1/openapi.json is made from this table."""

import os
from typing import NamedTuple
from urllib.parse import parse_qsl

from weft.serve import dashboard, decoding
from weft.serve.calls import Call, Handler, task_in
from weft.serve.http import Answer, json_answer, pieces
from weft.serve.messages import (
    ChangeAnswer,
    EventsAnswer,
    ExplainAnswer,
    ExplainRequest,
    FeedbackAnswer,
    FeedbackRequest,
    HealthAnswer,
    LearnAnswer,
    LearnRequest,
    LineRequest,
    PolicyRequest,
    PredictAnswer,
    PredictRequest,
    TaskAnswer,
    TasksAnswer,
)
from weft.serve.openapi import MOST_TASKS, document
from weft.serve.problems import Problem
from weft.serve.requests import ToForget, ToSetPolicy
from weft.serve.service import SORTS
from weft.serve.tokens import Scope as Permission
from weft.serve.uploads import Upload

BLOCK = 1 << 18


class Route(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    permission: Permission | None
    handler: Handler
    summary: str
    request: type | None = None
    answer: type | None = None
    media: str = "application/json"
    """What the answer is."""
    streams: bool = False
    """The handler reads the body itself."""
    ready: bool = True
    """Needs a service that has finished its recovery."""
    is_page: bool = False
    """For people: without a token they are asked for one."""


async def predict(call: Call) -> Answer:
    service = call.service
    message = decoding.read(decoding.predict_body, call.body)
    if message.remember is not True:
        found = decoding.event_of(service.limits, service.model.schema, message)
        return json_answer(service.predict(found.task, found.given))
    request = decoding.to_remember(service.limits, service.model.schema, message)
    done = await service.submit_one(request)
    score = done.issued.score
    if score is None:  # a prediction that was remembered long ago, or one that is not finite
        answer = service.predict(request.task, request.x if request.record is None else request.record)
    else:
        answer = service.answer(score, request.task, done.seq)
    answer.id = request.id
    return json_answer(answer)


async def learn(call: Call) -> Answer:
    message = decoding.read(decoding.learn_body, call.body)
    done = await call.service.submit_one(decoding.to_learn(call.service.limits, call.service.model.schema, message))
    return json_answer(LearnAnswer(done.seq, *done.issued, done.duplicate))


async def feedback(call: Call) -> Answer:
    message = decoding.read(decoding.feedback_body, call.body)
    done = await call.service.submit_one(decoding.to_feed_back(call.service.limits, message))
    return json_answer(FeedbackAnswer(done.seq, *done.issued, done.duplicate, done.correction))


async def events(call: Call) -> Answer:
    limits, upload = call.service.limits, Upload(call.service)
    await upload.take(pieces(call.receive, limits.upload, limits.seconds))
    return json_answer(upload.answer())


async def tasks(call: Call) -> Answer:
    query = dict(parse_qsl(call.scope["query_string"].decode("latin-1"), keep_blank_values=True))
    limit, sort = query.pop("limit", "100"), query.pop("sort", "-events")
    if query:
        name = next(iter(query))
        raise Problem("bad_query", 422, f"there is no parameter {name!r}", "use limit and sort", field=name)
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:9]) <= MOST_TASKS:
        raise Problem("bad_query", 422, f"limit is {limit!r}", f"write a number from 1 to {MOST_TASKS}", field="limit")
    if sort.removeprefix("-") not in SORTS:
        known = ", ".join(SORTS)
        raise Problem("bad_query", 422, f"sort is {sort!r}", f"write one of {known}; -error sorts down", field="sort")
    return json_answer(call.service.tasks(int(limit), sort.removeprefix("-"), sort.startswith("-")))


async def task(call: Call) -> Answer:
    return json_answer(call.service.task(task_in(call)))


async def forget(call: Call) -> Answer:
    name = task_in(call)
    call.service.task(name)
    done = await call.service.submit_one(ToForget(name))
    return json_answer(ChangeAnswer(name, done.seq, call.service.remains()))


async def policy(call: Call) -> Answer:
    message, name = decoding.read(decoding.policy_body, call.body), task_in(call)
    call.service.task(name)
    done = await call.service.submit_one(ToSetPolicy(name, message.gives is not False, message.receives is not False))
    return json_answer(ChangeAnswer(name, done.seq))


async def explain(call: Call) -> Answer:
    message = decoding.read(decoding.explain_body, call.body)
    found = decoding.event_of(call.service.limits, call.service.model.schema, message)
    return json_answer(call.service.explain(found.task, found.x))


async def model(call: Call) -> None:
    """The model file, from a copy beside the log, piece by piece."""
    path, seq = await call.service.export()
    try:
        with open(path, "rb", buffering=0) as file:
            os.unlink(path)
            size = os.fstat(file.fileno()).st_size
            headers = [(b"content-type", b"application/octet-stream"), (b"content-length", str(size).encode())]
            headers += [
                (b"weft-seq", str(seq).encode()),
                (b"content-disposition", b'attachment; filename="model.weft"'),
            ]
            await call.send({"type": "http.response.start", "status": 200, "headers": headers})
            while block := file.read(BLOCK):
                await call.send({"type": "http.response.body", "body": block, "more_body": True})
            await call.send({"type": "http.response.body", "body": b""})
    finally:
        path.unlink(missing_ok=True)


async def metrics(call: Call) -> Answer:
    return Answer(200, call.service.metrics().encode(), [(b"content-type", b"text/plain; version=0.0.4")])


async def health(call: Call) -> Answer:
    return json_answer(HealthAnswer("ok", call.service.seq if call.service else 0))


async def ready(call: Call) -> Answer:
    return json_answer(HealthAnswer("ready", call.service.seq))


async def openapi(call: Call) -> Answer:
    return json_answer(document(ROUTES, is_open=call.held is not None))


ROUTES = (
    Route("POST", "/v1/predict", "read", predict, "Score an event; with remember, keep it until its label comes.",
          PredictRequest, PredictAnswer),
    Route("POST", "/v1/learn", "learn", learn, "Learn an event, durably.", LearnRequest, LearnAnswer),
    Route("POST", "/v1/feedback", "learn", feedback, "Learn the label of a remembered prediction, once.",
          FeedbackRequest, FeedbackAnswer),
    Route("POST", "/v1/events", "learn", events, "Learn lines of JSON while they stream.", LineRequest, EventsAnswer,
          streams=True),
    Route("GET", "/v1/tasks", "read", tasks, "List tasks with their errors.", None, TasksAnswer),
    Route("GET", "/v1/tasks/{task:path}", "read", task, "One task.", None, TaskAnswer),
    Route("DELETE", "/v1/tasks/{task:path}", "admin", forget, "Forget a task.", None, ChangeAnswer),
    Route("PUT", "/v1/tasks/{task:path}/policy", "admin", policy, "Set what a task gives and receives.",
          PolicyRequest, ChangeAnswer),
    Route("POST", "/v1/explain", "read", explain, "A score in its parts.", ExplainRequest, ExplainAnswer),
    Route("GET", "/v1/model", "admin", model, "The model file as of the last entry.", media="application/octet-stream"),
    Route("GET", "/metrics", None, metrics, "Figures as Prometheus text.", media="text/plain"),
    Route("GET", "/healthz", None, health, "Whether the process runs.", None, HealthAnswer, ready=False),
    Route("GET", "/readyz", None, ready, "Whether recovery and compilation are done.", None, HealthAnswer),
    Route("GET", "/v1/openapi.json", None, openapi, "This description.", ready=False),
    Route("GET", "/v1/live", "read", dashboard.stream, "Figures as server-sent events, every second.",
          media="text/event-stream"),
    Route("GET", "/", "read", dashboard.dashboard, "The dashboard.", media="text/html", is_page=True),
    Route("GET", "/tasks/{task:path}", "read", dashboard.task, "The page of a task.", media="text/html", is_page=True),
    Route("POST", "/tasks/{task:path}", "admin", dashboard.set_policy, "The switches of a task's page.",
          media="text/html", is_page=True),
    Route("GET", "/login", None, dashboard.login, "A page that asks for a token.", media="text/html", ready=False),
    Route("POST", "/login", None, dashboard.enter, "Keep a token in the browser.", media="text/html", ready=False),
    Route("GET", "/static/{name}", None, dashboard.static, "Files that pages load.", media="*/*", ready=False),
)  # fmt: skip
"""All routes."""
