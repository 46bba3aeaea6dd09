"""`weft route`: every route over two shards, a shard that is down, tokens, and moves under load."""

import json
import threading
import time
import urllib.error
import urllib.request

import msgspec
import pytest

import weft
from serve.histories import History, entries_of
from serve.routed import LEARNER, routed
from serve.service_process import served
from weft.client import ServiceError
from weft.cluster.placement import virtual_shard
from weft.route.merging import merged_metrics, merged_tasks
from weft.route.moving import Move
from weft.route.placement import Map, Shard, numbers_of, read_map, text_of, write_map
from weft.serve.tokens import Tokens
from weft.store.digests import FileError

pytest.importorskip("httpx", reason="httpx is not installed")
TASKS = [f"t{i}" for i in range(12)]


def event(i):
    return {"task": TASKS[i * 7 % 12], "x": {"a": i % 3 - 1.0, "b": 0.5}, "y": 1 - 2 * (i * 5 % 7 > 3)}


def get(url, token=None):
    """Status, headers and body."""
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10.0) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def name_of(task):
    return "a" if virtual_shard(task) < 128 else "b"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with routed(tmp_path_factory.mktemp("route")) as found:
        yield found


@pytest.fixture
def client(running):
    with running[0].client(retries=0) as found:
        yield found


def test_the_shards_have_their_own_tasks_alone(running, client):
    for i in range(24):
        client.learn_one(event(i)["x"], event(i)["y"], event(i)["task"])
    for name, shard in running[1].items():
        with shard.client() as asking:
            found = {row["task"] for row in asking.tasks() if row["task"] in TASKS}
        assert found == {task for task in TASKS if name_of(task) == name}
        assert found
    listed = client.tasks(sort="task")
    assert [row["task"] for row in listed] == sorted(row["task"] for row in listed)
    assert {row["task"] for row in listed} >= set(TASKS)
    assert len(client.tasks(limit=3)) == 3
    status, headers, body = get(f"{running[0].url}/v1/tasks?limit=2&sort=-events")
    assert (status, headers["weft-missing"]) == (200, "")
    assert json.loads(body)["total"] == len(listed)
    with pytest.raises(ServiceError, match="sort is 'nothing'"):
        client.tasks(sort="nothing")
    assert client.explain({"a": 1.0}, "t0")["task"] == "t0"
    assert client.task("t0")["events"] >= 2


def test_an_upload_is_answered_as_one_service_does(running, client, tmp_path):
    lines = [event(i) | {"id": f"u{i}"} for i in range(40)]
    lines[5:5] = [{"task": "t0"}, {"nothing": 1}]
    lines[30:30] = [
        {"task": "t1", "x": {"a": "text"}, "y": 1},
        {"id": "u0", "task": "t0", "x": {"a": 9.0}, "y": -1, "weight": 3},
    ]
    lines += [event(0) | {"id": "u0"}]
    body = b"\n".join(json.dumps(line).encode() for line in lines) + b"\nnot json\n"

    def answer(url):
        request = urllib.request.Request(f"{url}/v1/events", body, {"content-type": "application/x-ndjson"})
        with urllib.request.urlopen(request, timeout=30.0) as found:
            return json.loads(found.read())

    with served(tmp_path / "one", *LEARNER) as one:
        expected = answer(one.url)
    found = answer(running[0].url)
    assert [row["line"] for row in found["rejected"]] == [6, 7, 31, 32, 46]
    for row in (*found["rejected"], *expected["rejected"]):
        row["error"].pop("message")  # numbers of entries are those of a shard
    assert {**found, "seq": 0} == {**expected, "seq": 0}


def test_labels_find_their_predictions(client):
    kept = [client._post("/v1/predict", {"task": task, "x": {"a": 1.0}, "remember": True})["id"] for task in TASKS]
    assert [int(id[-2:], 16) for id in kept] == [virtual_shard(task) for task in TASKS]
    own = [client.predict({"a": 1.0}, task, remember=True, id=f"own-{task}")["id"] for task in TASKS]
    for id in kept + own[:6]:
        assert not client.feedback(id, 1)["duplicate"]
        assert client.feedback(id, 1)["duplicate"]
    lines = [{"id": id, "y": 1} for id in own[6:]] + [{"id": "nobody", "y": 1}, {"id": "nobody~05", "y": 1}]
    found = client.learn(lines)
    assert found.accepted == 6
    assert [(row["line"], row["error"]["code"]) for row in found.rejected] == [(7, "unknown_id"), (8, "unknown_id")]
    for id in ("nobody", "nobody~05"):
        with pytest.raises(ServiceError, match="no prediction is remembered"):
            client.feedback(id, 1)


def test_names_that_are_not_plain_strings(client):
    for task in (7, "7", ["team", 1], "ä/ö?&%", "\ud800"):
        if task != "\ud800":
            client.learn_one({"a": 1.0}, 1, task)
            assert client.task(task)["events"] == 1
    assert client.forget("ä/ö?&%")["task"] == "ä/ö?&%"
    with pytest.raises(ServiceError, match="does not know the task"):
        client.task("ä/ö?&%")


def test_routes_that_are_not_of_one_task(running):
    url = running[0].url
    status, _, body = get(f"{url}/metrics")
    text = body.decode()
    assert status == 200
    assert 'weft_route_shard_up{shard="a"} 1' in text
    assert 'weft_log_seq{shard="b"}' in text
    assert text.count("# TYPE weft_log_seq gauge") == 1
    assert json.loads(get(f"{url}/readyz")[2])["shards"] == {"a": True, "b": True}
    assert json.loads(get(f"{url}/healthz")[2])["older"] == 0
    assert json.loads(get(f"{url}/v1/openapi.json")[2])["openapi"] == "3.1.0"
    assert get(f"{url}/v1/model")[0] == 422
    assert weft.Model.from_bytes(get(f"{url}/v1/model?shard=b")[2]).name == "pa"
    assert get(f"{url}/")[0] == 404
    assert get(f"{url}/v1/live")[0] == 404


@pytest.mark.parametrize("body", [b"", b"nope", b"[]", b'{"task": {}}', b'{"task": 1e999, "x": {}}', b"\xff" * 9])
def test_bad_bodies_are_refused_by_a_shard(running, body):
    for path in ("/v1/predict", "/v1/learn", "/v1/feedback", "/v1/explain"):
        request = urllib.request.Request(running[0].url + path, body, {"content-type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=10.0)
        with caught.value as answer:
            assert answer.code in (404, 422), answer.read()


def test_pages_of_other_sites_do_not_get_in(running):
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        request = urllib.request.Request(f"{running[0].url}/v1/tasks", headers=headers)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=10.0)
        with caught.value as answer:
            assert answer.code == 403


def test_a_shard_that_is_down_costs_its_own_tasks(tmp_path):
    with routed(tmp_path) as (router, shards, _), router.client(retries=0) as client:
        here, there = (next(task for task in TASKS if name_of(task) == name) for name in "ab")
        kept = {task: client._post("/v1/predict", {"task": task, "x": {"a": 1.0}, "remember": True})["id"]
                for task in (here, there)}  # fmt: skip
        client.predict({"a": 1.0}, there, remember=True, id="own")
        shards["b"].process.kill()
        shards["b"].process.wait()
        shards["b"].process.stderr.close()
        assert client.learn_one({"a": 1.0}, 1, here) is not None
        for ask in (lambda: client.learn_one({"a": 1.0}, 1, there), lambda: client.feedback(kept[there], 1),
                    lambda: client.feedback("own", 1), lambda: client.task(there)):  # fmt: skip
            with pytest.raises(ServiceError) as caught:
                ask()
            assert (caught.value.status, caught.value.code) == (503, "shard_down")
        assert client.feedback(kept[here], 1)["seq"]
        found = client.learn([event(i) for i in range(24)] + [{"id": "own", "y": 1}])
        assert found.accepted == sum(name_of(event(i)["task"]) == "a" for i in range(24))
        assert {row["error"]["code"] for row in found.rejected} == {"shard_down"}
        assert len(found.rejected) == 25 - found.accepted
        status, headers, _ = get(f"{router.url}/v1/tasks")
        assert (status, headers["weft-missing"]) == (200, "b")
        assert 'weft_route_shard_up{shard="b"} 0' in get(f"{router.url}/metrics")[2].decode()
        request = urllib.request.Request(f"{router.url}/v1/predict", json.dumps({"task": there, "x": {}}).encode())
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10.0)
        with refused.value as answer:
            assert answer.headers["retry-after"] == "1"
        with served(tmp_path / "b") as again:
            map_ = read_map(tmp_path / "map.json")
            others = map_.shards | {"b": Shard(again.url, map_.shards["b"].virtual)}
            write_map(tmp_path / "map.json", msgspec.structs.replace(map_, version=2, shards=others))
            time.sleep(0.3)
            assert client.feedback("own", 1)["seq"]


def test_tokens_are_passed_on(tmp_path):
    with routed(tmp_path) as (router, _, _path):
        token = {name: Tokens(tmp_path / name).add("learn") for name in "a"}["a"]
        (tmp_path / "b" / "tokens.json").write_bytes((tmp_path / "a" / "tokens.json").read_bytes())
        time.sleep(1.2)
        with router.client(token, retries=0) as client:
            found = client.learn([event(i) for i in range(24)])
            assert found.accepted == 24
            assert client.tasks()
            with pytest.raises(ServiceError, match="this needs admin"):
                client.forget(TASKS[0])
        with router.client(retries=0) as client:
            for ask in (lambda: client.learn([event(0)]), client.tasks, lambda: client.task(TASKS[0])):
                with pytest.raises(ServiceError) as caught:
                    ask()
                assert caught.value.status == 401


# --- moves ---


class Load(threading.Thread):
    """Learns under ids, as a client does: what is not acknowledged is sent again."""

    def __init__(self, url, first):
        super().__init__(daemon=True)
        self.url, self.history, self.first, self.count = url, History(), first, 0
        self.stopping, self.refused, self.error = threading.Event(), 0, None

    def run(self):
        try:
            with weft.Client(self.url, retries=0) as client:
                while not self.stopping.is_set():
                    i = self.first + 10 * self.count
                    found = event(i)
                    self.history.send(f"e{i}", (found["task"], found["x"], found["y"]))
                    while True:
                        try:
                            client._post("/v1/learn", found | {"id": f"e{i}"})
                            break
                        except ServiceError as error:
                            if error.status != 503:
                                raise
                            self.refused += 1
                            time.sleep(0.01)
                    self.count += 1
        except BaseException as error:
            self.error = error


def learned_in(folder):
    """Ids by task of what the log of a shard says that its model knows now, in its order."""
    found = {}
    for _, (kind, *fields) in entries_of(folder):
        if kind == "learn":
            found.setdefault(fields[0], []).append(fields[4])
        elif kind == "forget":
            found.pop(fields[0], None)
    return found


def test_a_move_under_load_loses_nothing(tmp_path):
    """Every event is at exactly one shard, once, in the order of its task; that of its virtual shard."""
    with routed(tmp_path) as (router, shards, path), served(tmp_path / "c", *LEARNER) as new:
        map_ = read_map(path)
        with router.client() as client:
            kept = {task: client._post("/v1/predict", {"task": task, "x": {"a": 1.0}, "remember": True})["id"]
                    for task in TASKS}  # fmt: skip
            client.feedback(kept["t0"], 1)
            client.feedback(kept["t0"], -1, correct=True)
            client.learn([event(i) for i in range(60)])  # without ids of the client's own
        write_map(path, msgspec.structs.replace(map_, version=2, shards=map_.shards | {"c": Shard(new.url)}))
        loads = [Load(router.url, at) for at in range(2)]
        for load in loads:
            load.start()
        time.sleep(0.3)
        told = []
        for name, virtual in (("b", "128-255"), ("a", "0-63")):
            move = Move(path, tmp_path / name, [router.url], None, told.append)
            moved = move.run(virtual, "c")
            assert moved.tasks == sum(virtual_shard(task) in numbers_of(virtual) for task in TASKS)
        time.sleep(0.3)
        for load in loads:
            load.stopping.set()
            load.join(30.0)
            assert load.error is None
            assert load.count > 20
        owners = read_map(path).owners()
        with router.client() as client:
            assert client.feedback(kept["t0"], -1)["duplicate"]
            assert not client.feedback(kept["t1"], 1)["duplicate"]
            listed = client.tasks()
            assert len(listed) == len({row["task"] for row in listed}) == 12
        shards["c"] = new
        at = {name: learned_in(tmp_path / name) for name in "abc"}
        with new.client() as asking:
            served_now = asking.to_bytes()
    for load in loads:
        for id, (task, _, _) in load.history.sent.items():
            places = [name for name in "abc" for ids in [at[name].get(task, [])] for found in ids if found == id]
            assert places == [owners[virtual_shard(task)]], f"{id} of {task} is at {places}"
    for task in TASKS:
        own = at[owners[virtual_shard(task)]][task]
        for load in loads:
            order = [id for id, sent in load.history.sent.items() if sent[0] == task]
            assert [id for id in own if id in load.history.sent] == order
    assert weft.Model.from_bytes(served_now).name == "pa"


def test_a_move_that_fails_leaves_the_map_as_it_was_and_can_be_repeated(tmp_path, monkeypatch):
    """Tasks of pa do not depend on each other: those that have moved have the weights that they had."""
    with routed(tmp_path) as (router, shards, path), served(tmp_path / "c", *LEARNER) as new, router.client() as client:
        client.learn([event(i) for i in range(60)])
        map_ = read_map(path)
        write_map(path, msgspec.structs.replace(map_, version=2, shards=map_.shards | {"c": Shard(new.url)}))
        move, there = Move(path, tmp_path / "b", [router.url], None, str), next(t for t in TASKS if name_of(t) == "b")
        send = move._send

        def past_the_router(*given):
            found = send(*given)
            with shards["b"].client() as asking:
                asking.learn_one({"a": 1.0}, 1, there)
            return found

        with monkeypatch.context() as patched:
            patched.setattr(move, "_send", past_the_router)
            with pytest.raises(ValueError, match="the map is as it was"):
                move.run("128-255", "c")
        assert (read_map(path).moving, read_map(path).owners()) == (None, map_.owners())
        move._wait_for_routers()
        assert not client.learn([event(i) for i in range(60, 120)]).rejected
        before = {task: client.predict_one({"a": 1.0, "b": 1.0}, task) for task in TASKS}
        moved = move.run("128-255", "c")
        assert moved.events == sum(name_of(event(i)["task"]) == "b" for i in range(120)) + 1
        assert {task: client.predict_one({"a": 1.0, "b": 1.0}, task) for task in TASKS} == before
        with new.client() as asking:
            assert {row["task"] for row in asking.tasks()} == {task for task in TASKS if name_of(task) == "b"}
        assert sum(row["events"] for row in client.tasks()) == 121


# --- parts ---


def test_maps():
    assert text_of(numbers_of("0-3,7,255")) == "0-3,7,255"
    for wrong, told in [("3-1", "in this order"), ("256", "within 0 to 255"), ("x", "does not name")]:
        with pytest.raises(ValueError, match=told):
            numbers_of(wrong)
    whole = Map(shards={"a": Shard("http://h:1", "0-255")})
    for map_, told in [
        (Map(shards={"a": Shard("http://h:1", "0-254")}), "255 is served by no shard"),
        (Map(shards=whole.shards | {"b": Shard("http://h:2", "7")}), "7 is served by"),
        (Map(shards={"a": Shard("h:1", "0-255")}), "write http://HOST:PORT"),
    ]:
        with pytest.raises(ValueError, match=told):
            map_.check()


def test_a_file_that_is_not_a_map_is_refused(tmp_path):
    for text in ("", "{}", '{"shards": {}}', '{"format": 2, "shards": {"a": {"url": "http://h", "virtual": "0-255"}}}'):
        (tmp_path / "map.json").write_text(text)
        with pytest.raises(FileError, match="is not the map of a router"):
            read_map(tmp_path / "map.json")


def test_a_task_that_is_at_two_shards_is_listed_once():
    owners = ["a"] * 128 + ["b"] * 128
    row = {"task": "t3", "events": 5, "error": None}
    answers = {name: {"tasks": [row], "total": 1, "seq": 3} for name in "ab"}
    assert merged_tasks(answers, owners, 10, "-error")["tasks"] == [row]
    lines = merged_metrics({"a": "# HELP x y\n# TYPE x gauge\nx 1\n", "b": '# HELP x y\n# TYPE x gauge\nx{k="v"} 2\n'})
    assert lines == ["# HELP x y", "# TYPE x gauge", 'x{shard="a"} 1', 'x{k="v",shard="b"} 2']
