"""Every route and every error over real HTTP, against a process of its own."""

import http.client
import json
import random
import re
import socket
import string
import time

import pytest

import weft
from serve.service_process import served
from weft.client import ServiceError
from weft.serve.openapi import document
from weft.serve.routes import ROUTES
from weft.serve.tokens import Tokens

LIMITS = ("--most-bytes", 4000, "--most-features", 50, "--longest-name", 40, "--most-seconds", 1.5)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(tmp_path_factory.mktemp("served") / "s", "--learner", "mt-ogd", *LIMITS) as found:
        yield found


def call(service, method, path, body=None, headers=None):
    """Status, headers and decoded body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, data, headers or {})
    answer = connection.getresponse()
    is_live = answer.getheader("content-type") == "text/event-stream"  # does not end by itself
    text = answer.readline() if is_live else answer.read()
    connection.close()
    is_json = answer.getheader("content-type") == "application/json"
    return answer.status, dict(answer.getheaders()), json.loads(text) if is_json else text


def refused(service, method, path, body=None, headers=None):
    """Status and code of a refused request, whose error has a sentence and all its fields."""
    status, _, found = call(service, method, path, body, headers)
    assert set(found) == {"error"}, found
    assert set(found["error"]) == {"code", "message", "field", "remedy"}
    assert found["error"]["message"]
    return status, found["error"]["code"]


def test_learn_and_predict(service):
    model = weft.Model("mt-ogd")
    for y in (1, -1, 1):
        status, _, found = call(service, "POST", "/v1/learn", {"task": "one", "x": {"a": 1, "b": 2.5}, "y": y})
        assert status == 200
        assert found["score"] == model.learn_one({"a": 1.0, "b": 2.5}, y, "one")
        assert set(found) == {"seq", "score", "probability", "duplicate"}
    status, _, found = call(service, "POST", "/v1/predict", {"task": "one", "x": {"a": 1}})
    assert found["score"] == model.predict_one({"a": 1.0}, "one")
    assert found["probability"] == pytest.approx(model.predict_proba_one({"a": 1.0}, "one"))
    assert found["label"] in (-1, 1)
    assert found["task"] == "one"
    assert "id" not in found


def test_a_remembered_prediction_and_its_label(service):
    _, _, kept = call(service, "POST", "/v1/predict", {"task": "two", "x": {"a": 1}, "remember": True})
    assert kept["id"]
    _, _, found = call(service, "POST", "/v1/feedback", {"id": kept["id"], "y": 1})
    assert (found["seq"], found["duplicate"], found["correction"]) == (kept["seq"] + 1, False, False)
    assert call(service, "POST", "/v1/feedback", {"id": kept["id"], "y": 1})[2]["duplicate"]
    assert refused(service, "POST", "/v1/feedback", {"id": kept["id"], "y": -1}) == (409, "other_label")
    _, _, found = call(service, "POST", "/v1/feedback", {"id": kept["id"], "y": -1, "correct": True})
    assert found["correction"]
    assert refused(service, "POST", "/v1/feedback", {"id": "nothing", "y": 1}) == (404, "unknown_id")


def test_an_upload(service):
    _, _, kept = call(service, "POST", "/v1/predict", {"task": "up", "x": {"a": 1}, "remember": True})
    lines = [b'{"id": "u1", "task": "up", "x": {"a": 1}, "y": 1}', b"nonsense", b"", b'{"task": "up", "x": {}, "y": 7}']
    lines += [b'{"id": "u1", "task": "up", "x": {"a": 1}, "y": 1}', json.dumps({"id": kept["id"], "y": 1}).encode()]
    lines += [
        b'{"y": 1}',
        b'{"id": "u2", "task": "up", "x": [1, 2], "y": -1}',
        b'{"task": "up", "x": {"a": ' + b" " * 5000,
    ]
    status, _, found = call(service, "POST", "/v1/events", b"\n".join(lines[:-1]))
    assert status == 200
    assert (found["accepted"], found["duplicates"], found["rejected_total"]) == (2, 1, 4)
    assert [rejected["line"] for rejected in found["rejected"]] == [2, 4, 7, 8]
    assert all(rejected["error"]["message"] for rejected in found["rejected"])
    assert refused(service, "POST", "/v1/events", b"\n".join(lines)) == (413, "too_large")


def test_tasks(service):
    for task in ("a/b", "ünï", 7, ["x", 1], "policy", "a/policy"):
        call(service, "POST", "/v1/learn", {"task": task, "x": {"a": 1}, "y": 1})
    with service.client() as client:
        for task in ("a/b", "ünï", 7, ["x", 1], "policy"):
            assert client.task(task)["task"] == task
            assert client.task(task)["events"] == 1
    _, _, found = call(service, "GET", "/v1/tasks?limit=2&sort=-events")
    assert len(found["tasks"]) == 2
    assert found["total"] > 5
    counts = [row["events"] for row in call(service, "GET", "/v1/tasks?limit=1000&sort=events")[2]["tasks"]]
    assert counts == sorted(counts)
    assert refused(service, "GET", "/v1/tasks/nobody") == (404, "unknown_task")
    for query in ("limit=0", "limit=x", "sort=colour", "other=1", "limit=" + "9" * 50):
        assert refused(service, "GET", f"/v1/tasks?{query}") == (422, "bad_query")


def test_forgetting_a_task_and_policies(service):
    for y in (1, -1, 1):
        call(service, "POST", "/v1/learn", {"task": "gone", "x": {"a": 1}, "y": y})
    _, _, found = call(service, "GET", "/v1/tasks/gone")
    assert 0.0 < found["recent"] < 1.0
    assert call(service, "PUT", "/v1/tasks/gone/policy", {"gives": False})[0] == 200
    assert call(service, "GET", "/v1/tasks/gone")[2]["gives"] is False
    assert call(service, "PUT", "/v1/tasks/gone/policy", {})[0] == 200
    assert call(service, "GET", "/v1/tasks/gone")[2]["gives"] is True
    assert call(service, "DELETE", "/v1/tasks/gone")[0] == 200
    assert refused(service, "GET", "/v1/tasks/gone") == (404, "unknown_task")
    assert refused(service, "DELETE", "/v1/tasks/nobody") == (404, "unknown_task")


def test_an_explanation_adds_up(service):
    call(service, "POST", "/v1/learn", {"task": "why", "x": {"a": 1}, "y": 1})
    _, _, found = call(service, "POST", "/v1/explain", {"task": "why", "x": {"a": 1}})
    assert sum(found["parts"].values()) == pytest.approx(found["score"])


def test_the_model_is_what_replay_writes(service, tmp_path):
    from weft.serve.recovery import rebuilt

    status, headers, data = call(service, "GET", "/v1/model")
    assert status == 200
    model, seq = rebuilt(service.folder)
    assert data == model.to_bytes()
    assert headers["weft-seq"] == str(seq)
    with service.client() as client:
        client.save(tmp_path / "m.weft")
    assert (tmp_path / "m.weft").read_bytes() == data
    assert not list(service.folder.glob(".export*"))


def test_figures(service):
    status, _, text = call(service, "GET", "/metrics")
    figures = dict(re.findall(r"^(weft_\w+) (\S+)$", text.decode(), re.MULTILINE))
    assert status == 200
    assert int(figures["weft_log_seq"]) > 0
    assert "one" not in re.findall(r'"(\w+)"', text.decode())
    for line in text.decode().splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .*|\w+(\{.*\})? (-?[\d.e+-]+|NaN|[+-]Inf)", line), line
    page = call(service, "GET", "/")
    shown = re.search(r'data-figure="weft_log_seq">([\d,]+)<', page[2].decode())
    assert shown[1].replace(",", "") == figures["weft_log_seq"]
    assert "default-src 'none'" in page[1]["content-security-policy"]
    assert call(service, "GET", "/healthz")[2]["status"] == "ok"
    assert call(service, "GET", "/readyz")[2]["status"] == "ready"


def test_other_methods_and_what_is_not_http(service):
    status, headers, found = call(service, "PUT", "/v1/tasks/a")
    assert (status, headers["allow"], found["error"]["code"]) == (405, "GET, DELETE", "method")
    for data in (b"\x16\x03\x01\x02\x00", b"GET /v1/tasks HTTP/9.9\r\n\r\n", b"GARBAGE <secret>\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", service.port), timeout=20) as one:
            one.sendall(data)
            answer = b"".join(iter(lambda: one.recv(1 << 16), b""))
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert set(json.loads(answer.partition(b"\r\n\r\n")[2])["error"]) == {"code", "message", "field", "remedy"}
    count = 0
    while count < 3:
        service.lines.append(service.process.stderr.readline())
        count += json.loads(service.lines[-1])["level"] == "warning"
        assert "secret" not in service.lines[-1]


def test_the_description_names_every_route_and_no_other(service):
    found = call(service, "GET", "/v1/openapi.json")[2]
    assert found == json.loads(json.dumps(document(ROUTES, is_open=True)))
    assert found["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert described == {(route.method, route.path.replace(":path", "")) for route in ROUTES}
    for method, path in described:  # each is really there: never "no such path", and never another method
        filled = path.replace("{task}", "nobody").replace("{name}", "weft.css")
        status, _, answer = call(service, method, filled, b"{")
        assert status not in (404, 405) or answer["error"]["code"] == "unknown_task", (method, path)
    used = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found["paths"])))
    assert used <= set(found["components"]["schemas"])


BAD = {
    "not JSON": (b"{", "bad_json"),
    "nothing": (b"", "bad_json"),
    "not UTF-8": (b'{"task": "\xff", "x": {}, "y": 1}', "bad_json"),
    "a list": (b"[]", "bad_message"),
    "unknown field": ({"task": "a", "x": {}, "y": 1, "z": 2}, "bad_message"),
    "no task": ({"x": {}, "y": 1}, "missing"),
    "no row": ({"task": "a", "y": 1}, "missing"),
    "no label": ({"task": "a", "x": {"a": 1}}, "bad_label"),
    "a strange label": ({"task": "a", "x": {"a": 1}, "y": 3}, "bad_label"),
    "a label that is a list": ({"task": "a", "x": {"a": 1}, "y": [1]}, "bad_message"),
    "NaN": (b'{"task": "a", "x": {"a": NaN}, "y": 1}', "bad_json"),
    "1e999": (b'{"task": "a", "x": {"a": 1e999}, "y": 1}', "bad_message"),
    "1e200": ({"task": "a", "x": {"a": 1e200}, "y": 1}, "bad_value"),
    "a value that is text": ({"task": "a", "x": {"a": "1"}, "y": 1}, "bad_message"),
    "a value that is true": ({"task": "a", "x": {"a": True}, "y": 1}, "bad_message"),
    "a feature twice": (b'{"task": "a", "x": {"a": 1, "a": 2}, "y": 1}', "twice"),
    "a field twice": (b'{"task": "a", "task": "b", "x": {"a": 1}, "y": 1}', "twice"),
    "a task that is null": ({"task": None, "x": {}, "y": 1}, "bad_message"),
    "a task that is a float": ({"task": 1.5, "x": {}, "y": 1}, "bad_message"),
    "a task with true in it": ({"task": ["a", True], "x": {"a": 1}, "y": 1}, "bad_task"),
    "a task of an empty list": ({"task": [], "x": {"a": 1}, "y": 1}, "bad_task"),
    "a long task": ({"task": "a" * 41, "x": {}, "y": 1}, "name_too_long"),
    "a long feature": ({"task": "a", "x": {"f" * 41: 1}, "y": 1}, "name_too_long"),
    "a long id": ({"id": "i" * 41, "task": "a", "x": {}, "y": 1}, "name_too_long"),
    "an empty id": ({"id": "", "task": "a", "x": {}, "y": 1}, "bad_id"),
    "many features": ({"task": "a", "x": {f"f{i}": 1 for i in range(51)}, "y": 1}, "too_many_features"),
    "a record": ({"record": {"user": "ann"}}, "no_schema"),
    "a negative weight": ({"task": "a", "x": {"a": 1}, "y": 1, "weight": -1}, "bad_weight"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_learned_is_refused_with_a_sentence(service, name):
    body, code = BAD[name]
    before = call(service, "GET", "/readyz")[2]["seq"]
    assert refused(service, "POST", "/v1/learn", body) == (422, code)
    assert call(service, "GET", "/readyz")[2]["seq"] == before


def test_what_cannot_be_written_to_the_log_is_refused_also_under_a_known_id(service):
    """It must not reach the writer, whose errors end the process."""
    call(service, "POST", "/v1/learn", {"id": "known", "task": "a", "x": {"a": 1}, "y": 1})
    deep = json.loads("[" * 200 + '"a"' + "]" * 200)
    for task in (1 << 70, ["a", -(1 << 70)], deep):
        body = {"id": "known", "task": task, "x": {"a": 1}, "y": 1}
        assert refused(service, "POST", "/v1/learn", body)[0] == 422
        assert refused(service, "POST", "/v1/predict", {**body, "y": 1})[0] == 422
        assert call(service, "POST", "/v1/events", body)[2]["rejected_total"] == 1
    assert call(service, "GET", "/readyz")[0] == 200


def test_paths_methods_and_sizes(service):
    assert refused(service, "GET", "/nothing") == (404, "no_route")
    assert refused(service, "GET", "/v1/learn") == (405, "method")
    assert refused(service, "POST", "/v1/learn", b" " * 4001) == (413, "too_large")
    chunked = {"transfer-encoding": "chunked"}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    connection.request("POST", "/v1/learn", iter([b"x" * 3000, b"x" * 3000]), chunked, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_page_of_another_site_cannot_use_a_service_without_tokens(service):
    body = {"task": "a", "x": {"a": 1}, "y": 1}
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": "127.0.0.1.evil.example"}):
        assert refused(service, "POST", "/v1/learn", body, headers) == (403, "not_local")


def test_slow_and_half_open_clients_are_let_go_and_others_are_served(service):
    head = b"POST /v1/learn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n"
    slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(12)]
    for i, connection in enumerate(slow):
        connection.settimeout(10)
        connection.sendall([b"", b"POST /v1/le", head + b"{"][i % 3])
    assert call(service, "POST", "/v1/learn", {"task": "a", "x": {"a": 1}, "y": 1})[0] == 200
    for i, connection in enumerate(slow):
        try:
            answer = connection.recv(1000)
        except ConnectionResetError:
            answer = b""
        assert answer == b"" if i % 3 < 2 else b" 408 " in answer
        connection.close()


def test_a_head_without_end_is_cut(service):
    connection = socket.create_connection(("127.0.0.1", service.port))
    connection.settimeout(10)
    with pytest.raises(OSError):  # noqa: PT012
        for _ in range(200):
            connection.sendall(b"GET / HTTP/1.1\r\n" if _ == 0 else b"X-%d: %s\r\n" % (_, b"y" * 1000))
            time.sleep(0.001)
        if not connection.recv(10):
            raise ConnectionResetError
    connection.close()


def test_many_connections(tmp_path):
    with served(tmp_path / "s", "--learner", "mt-ogd", "--most-connections", 20) as service:
        held = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)]
        late = socket.create_connection(("127.0.0.1", service.port))
        late.settimeout(10)
        answer = late.recv(2000)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in answer
        for connection in [*held, late]:
            connection.close()
        with service.client() as client:
            assert client.predict_one({"a": 1.0}, "t") is not None


def test_random_requests_never_break_it(service):
    chance = random.Random(5)
    words = ['"task"', '"x"', '"y"', "{", "}", "[", "]", ":", ",", "1", "-1", "1e400", "null", "true", '"a"', "\\", "\x00", '"id"', '"\ud83d"']  # fmt: skip # noqa: E501
    for _ in range(300):
        body = "".join(chance.choice(words) for _ in range(chance.randrange(1, 25))).encode("utf-8", "surrogatepass")
        path = chance.choice(["/v1/learn", "/v1/predict", "/v1/feedback", "/v1/events", "/v1/explain"])
        status, _, found = call(service, "POST", path, body)
        assert status in (200, 422, 409, 404), (path, body, found)
        noise = "".join(chance.choice(string.printable) for _ in range(20)).encode()
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(noise)
    assert call(service, "GET", "/readyz")[0] == 200


def test_no_secret_and_no_name_reaches_a_line(tmp_path):
    with served(tmp_path / "s", "--learner", "mt-ogd") as service:
        token = Tokens(service.folder).add("learn")
        time.sleep(1.1)
        with service.client(token) as client:
            client.learn_one({"hidden-feature\x1b[2J": 1.0}, 1, "hidden-task")
            with pytest.raises(ServiceError):
                client.learn_one({"a": 1.0}, 17, "hidden-task")
    text = "".join(service.lines)
    assert len(service.told()) >= 4
    assert not re.search("hidden|\x1b", text)
    assert token.split("_", 2)[2] not in text


def test_scopes(tmp_path):
    with served(tmp_path / "s", "--learner", "mt-ogd") as service:
        tokens = Tokens(service.folder)
        held = {scope: tokens.add(scope) for scope in ("read", "learn", "admin")}
        time.sleep(1.1)
        body = {"task": "a", "x": {"a": 1}, "y": 1}
        assert refused(service, "POST", "/v1/learn", body) == (401, "no_token")
        for wrong in ("Bearer x", "Basic abc", f"Bearer {held['learn'][:-1]}", "Bearer weft_"):
            assert refused(service, "POST", "/v1/learn", body, {"Authorization": wrong})[0] == 401
        ranks = {"read": 0, "learn": 1, "admin": 2}
        for route in ROUTES:
            for scope, token in held.items():
                path = route.path.replace("{task:path}", "a")
                status = call(service, route.method, path, b"{}", {"Authorization": f"Bearer {token}"})[0]
                allowed = route.permission is None or ranks[scope] >= ranks[route.permission]
                assert (status == 403) == (not allowed), (route.path, scope, status)
        remember = {"task": "a", "x": {"a": 1}, "remember": True}
        assert refused(service, "POST", "/v1/predict", remember, {"Authorization": f"Bearer {held['read']}"}) == (403, "scope")  # fmt: skip # noqa: E501
        assert call(service, "POST", "/v1/predict", remember, {"Authorization": f"Bearer {held['learn']}"})[0] == 200
        tokens.remove(held["read"].split("_")[1])
        time.sleep(1.1)
        plain = {"task": "a", "x": {"a": 1}}
        assert refused(service, "POST", "/v1/predict", plain, {"Authorization": f"Bearer {held['read']}"})[0] == 401
    text = (tmp_path / "s" / "tokens.json").read_text()
    assert all(token.split("_", 2)[2] not in text for token in held.values())
