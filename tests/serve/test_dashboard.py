"""The pages of a service: what they say, who may see them, and how they do in a real browser."""

import hashlib
import http.client
import json
import re
import urllib.parse

import pytest

import weft
from serve import engines
from serve.browsers import browser, looked, why_not
from serve.engines import ask, close, opened, to_learn
from serve.service_process import served
from weft.serve import history, overview, rendering
from weft.serve.recovery import rebuilt
from weft.serve.requests import ToForget
from weft.serve.tokens import Tokens

EVIL = "<script>alert(1)</script>\"'&\u202e"


def call(service, method, path, headers=None, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def figures_of(service):
    text = call(service, "GET", "/metrics")[2]
    return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", text, re.MULTILINE)}


def events(count, task=None):
    found = [engines.event(i) for i in range(count)]
    return [{"task": task or name, "x": x, "y": y} for name, x, y in found]


def test_vendored_files_are_those_of_their_page():
    text = (rendering.HERE / "static" / "README.md").read_text()
    for name in ("uplot.js", "uplot.css"):
        assert hashlib.sha256((rendering.HERE / "static" / name).read_bytes()).hexdigest() in text
    assert "MIT License" in (rendering.HERE / "static" / "uplot.LICENSE").read_text()


def test_names_are_escaped_and_policies_strict(tmp_path):
    with served(tmp_path / "s", "--learner", "mt-ogd") as service, service.client() as client:
        client.learn(events(60, EVIL))
        link = "/tasks/" + urllib.parse.quote(EVIL, safe="")
        for path in ("/", link):
            status, headers, text = call(service, "GET", path)
            assert status == 200
            assert "<script>alert" not in text
            assert "&lt;script&gt;alert" in text
            assert "\u202e" not in text
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert not re.search(r"\son\w+=|style=", text)
        assert link.lower() in call(service, "GET", "/")[2].lower()
        assert call(service, "GET", "/tasks/nobody")[0] == 404
        for name in rendering.STATIC:
            assert call(service, "GET", f"/static/{name}")[0] == 200
        for name in ("weft.html", "..%2fapp.py", "README.md", ""):
            assert call(service, "GET", f"/static/{name}")[0] == 404
        assert call(service, "POST", link, body="gives=yes")[0] == 303
        assert (
            "Its events move what others use; it does not use what others have taught." in call(service, "GET", link)[2]
        )


def test_a_browser_with_tokens(tmp_path):
    """The page asks for a token; the cookie serves this site alone; switches need an admin."""
    service = opened(tmp_path / "s")
    ask(service, *map(to_learn, range(8)))
    close(service)
    tokens = Tokens(tmp_path / "s")
    read, admin = tokens.add("read"), tokens.add("admin")
    with served(tmp_path / "s") as service:
        assert call(service, "GET", "/")[:2][0] == 303
        assert call(service, "GET", "/")[1]["location"] == "/login"
        assert call(service, "GET", "/v1/live")[0] == 401
        assert call(service, "GET", "/login")[0] == 200
        assert call(service, "POST", "/login", body="token=weft_a_b")[0] == 401
        status, headers, _ = call(service, "POST", "/login", body=f"token={read}")
        assert status == 303
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        with_cookie = {"Cookie": cookie.split(";")[0]}
        assert call(service, "GET", "/", with_cookie)[0] == 200
        here = {"Origin": f"http://127.0.0.1:{service.port}"}
        assert call(service, "POST", "/tasks/t0", {**with_cookie, **here}, "gives=yes")[0] == 403
        as_admin = {"Cookie": f"weft={admin}"}
        for origin in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            found = json.loads(call(service, "POST", "/tasks/t0", {**as_admin, **origin}, "gives=yes")[2])
            assert found["error"]["code"] == "other_site"
        assert call(service, "POST", "/tasks/t0", {**as_admin, **here}, "gives=yes")[0] == 303


def test_live_figures_are_those_of_the_metrics_and_end_with_the_service(tmp_path):
    with served(tmp_path / "s", "--learner", "mt-ogd") as service, service.client() as client:
        client.learn(events(40))
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
        connection.request("GET", "/v1/live")
        answer = connection.getresponse()
        assert answer.getheader("content-type") == "text/event-stream"
        assert answer.readline() == b"retry: 1000\n"
        found = json.loads(answer.readline().removeprefix(b"data: "))
        known = figures_of(service)
        for name in ("weft_events", "weft_error", "weft_tasks", "weft_log_seq", "weft_accepted_total"):
            assert found["figures"][name] == known[name]
        assert service.stop() == 0  # an open stream does not hold it up
        connection.close()


def test_the_history_is_bounded_and_forgets():
    kept = history.History()
    for i in range(3 * history.MOST_TASKS):
        kept.add(i, history.Seen(i, 1.0, 0.0))
    assert len(kept._tasks) == history.MOST_TASKS
    for i in range(3 * history.MOST_EVENTS):
        kept.add("t", history.Seen(i, 1.0, 0.0))
    assert [seen.seq for seen in kept.last_of("t")][-1] == 3 * history.MOST_EVENTS - 1
    assert len(kept.last_of("t")) == history.MOST_EVENTS
    kept.forget("t")
    assert kept.last_of("t") == []
    model = weft.Model("perceptron")
    for i in range(2 * history.MOST_SAMPLES):
        kept._next = 0.0
        kept.look(model, float(i))
        model.learn_one({"a": 1.0}, 1 if i % 2 else -1, "t")
    assert len(kept.samples) <= history.MOST_SAMPLES
    assert [sample.at for sample in kept.samples] == sorted(sample.at for sample in kept.samples)
    assert kept.samples[0].at == 0.0
    assert kept.samples[-1].lately == pytest.approx(1.0, abs=0.02)  # labels that alternate are always missed


def test_ranked_tasks_are_those_of_the_tally(tmp_path):
    service = opened(tmp_path / "s")
    ask(service, *map(to_learn, range(200)))
    found = overview.overview(service)
    recent = {row["task"]: row["error"] for row in service.model.tally.recent.rows()}
    assert [row.name for row in found.worst] == sorted(recent, key=lambda name: -recent[name])
    assert [row.value for row in found.worst] == sorted(recent.values(), reverse=True)
    assert found.gaining is None
    page = overview.task_page(service, "t1")
    assert [event.seen.seq for event in page.explained] == [198, 194, 190, 186, 182]
    row = engines.event(197)
    assert page.explained[0].score == service.model.predict_one(row[1], "t1")
    ask(service, ToForget("t1"))
    assert service.writer.history.last_of("t1") == []
    close(service)


def _refuse(route, statuses):
    """Answer with the next status while there is one."""
    status = next(statuses, None)
    if status:
        route.fulfill(status=status)
    else:
        route.continue_()


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_in_a_browser(tmp_path):
    """Figures on the page = /metrics = replayed log; live, after a restart, without scripts, at a phone's width."""
    port = None
    with browser() as found, looked(found, viewport={"width": 400, "height": 800}, color_scheme="dark") as seen:
        with served(tmp_path / "s", "--learner", "mt-ogd") as service, service.client() as client:
            port = service.port
            client.learn(events(60, EVIL) + events(60))
            page = seen.page
            page.goto(service.url)
            seen.expect("#state", "live")
            page.locator(".uplot").wait_for()
            client.learn(events(40))
            seen.expect("[data-figure=weft_events]", "160")
            known = figures_of(service)
            model = rebuilt(tmp_path / "s")[0]
            for name in ("weft_events", "weft_error", "weft_tasks", "weft_log_seq"):
                assert seen.figure(name) == pytest.approx(known[name], abs=5e-5)
            assert seen.figure("weft_error") == pytest.approx(model.tally.total["error"], abs=5e-5)
            assert page.evaluate("document.documentElement.scrollWidth") == 400
            page.screenshot(path=tmp_path / "page.png")
            refused = iter([503, 503])  # what a service answers that is just starting; a browser does not ask again
            page.route("**/v1/live", lambda route: _refuse(route, refused))
        with served(tmp_path / "s", "--port", port) as service, service.client() as client:
            seen.expect("#state", "live")
            assert list(refused) == []
            client.learn(events(7))
            seen.expect("[data-figure=weft_events]", "167")
            page.locator("section a", has_text="alert(1)").first.click()
            page.locator("h1", has_text="alert(1)").wait_for()
            assert page.evaluate("document.querySelectorAll('script').length") == 2
            with looked(found, java_script_enabled=False) as plain:
                plain.page.goto(service.url)
                assert plain.figure("weft_events") == 167
                assert not plain.errors
        assert not [error for error in seen.errors if "ERR_" not in error and "503" not in error], seen.errors
        assert all(place.startswith((service.url, "data:")) for place in seen.places)
