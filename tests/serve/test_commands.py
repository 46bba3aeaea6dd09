"""The commands of a service, its client, and the page that tells how to begin."""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import weft
from command_line import weft_command
from serve import engines
from serve.engines import ask, close, opened, to_learn
from serve.service_process import served
from weft.client import ServiceError
from weft.serve.recovery import rebuilt

__all__ = ["weft_command"]
PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    """The folder of a service that has learned twenty events and was stopped."""
    service = opened(tmp_path / "s")
    for i in range(0, 20, 5):
        ask(service, *map(to_learn, range(i, i + 5)))
    close(service)
    return tmp_path / "s"


def test_tokens(weft_command, folder):
    words = weft_command("token", "add", folder, "--scope", "learn").stdout.split()
    assert words[-1].startswith("weft_")
    name = words[-1].split("_")[1]
    assert json.loads(weft_command("token", "list", folder, "--json").stdout) == [{"name": name, "scope": "learn"}]
    assert name in weft_command("token", "list", folder).stdout
    weft_command("token", "remove", folder, name)
    assert json.loads(weft_command("token", "list", folder, "--json").stdout) == []
    assert "there is no token" in weft_command("token", "remove", folder, name, code=2).stderr
    assert "is not the folder of a service" in weft_command("token", "add", ".", "--scope", "read", code=2).stderr


def test_replay(weft_command, folder):
    weft_command("replay", folder, "--out", "m.weft")
    assert Path("m.weft").read_bytes() == rebuilt(folder)[0].to_bytes()
    found = json.loads(weft_command("replay", folder, "--until", 7, "--out", "m.weft", "--json").stdout)
    assert (found["seq"], found["events"]) == (7, 7)
    weft_command("replay", folder, "--without-task", "t1", "--out", "m.weft")
    assert "t1" not in weft.load("m.weft").tasks
    assert "is not in it" in weft_command("replay", folder, "--until", 21, "--out", "m.weft", code=2).stderr


def test_a_backup_while_it_is_served_is_served_again(weft_command, tmp_path):
    service = opened(tmp_path / "s", every=4)
    for i in range(0, 20, 5):
        ask(service, *map(to_learn, range(i, i + 5)))
    found = json.loads(weft_command("backup", tmp_path / "s", tmp_path / "copy", "--json").stdout)
    assert found["seq"] == 20
    state = service.model.to_bytes()
    ask(service, to_learn(20))
    close(service)
    again = opened(tmp_path / "copy")
    assert again.model.to_bytes() == state
    assert ask(again, to_learn(3))[0].duplicate
    close(again)
    assert "is not empty" in weft_command("backup", tmp_path / "s", tmp_path / "copy", code=2).stderr


def test_mistakes_are_sentences(weft_command, folder, tmp_path):
    assert "is served by mt-ogd, not pa" in weft_command("serve", folder, "--learner", "pa", code=2).stderr
    told = weft_command("serve", folder, "--host", "0.0.0.0", "--port", 0, code=2).stderr
    assert "without tokens is served on 127.0.0.1 only" in told
    assert "is not a time" in weft_command("serve", tmp_path / "n", "--remember-for", "soon", code=2).stderr
    assert "number of entries, or all" in weft_command("serve", tmp_path / "n", "--keep-log", "0", code=2).stderr
    assert "unknown learner" in weft_command("serve", tmp_path / "n", "--learner", "nobody", code=2).stderr.lower()
    assert not (tmp_path / "n" / "config.json").exists()
    (folder / "config.json").write_text("{}")
    assert "has format None" in weft_command("serve", folder, code=2).stderr


def test_without_the_extra_it_says_how_to_install_it(weft_command, monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    told = weft_command("serve", tmp_path / "s", code=2).stderr
    assert "pip install 'weft[serve]'" in told


def test_a_model_is_served_and_goes_on_after_a_restart(tmp_path):
    model = weft.Model("mt-ogd", classes=["ham", "spam"])
    for i in range(30):
        task, x, y = engines.event(i)
        model.learn_one(x, "spam" if y > 0 else "ham", task)
    model.save(tmp_path / "m.weft")
    with served(tmp_path / "s", "--from-model", tmp_path / "m.weft") as service, service.client() as client:
        assert client.to_bytes() == model.to_bytes()
        assert client.learn_one({"a": 1.0}, "spam", "t0") == model.learn_one({"a": 1.0}, "spam", "t0")
        assert client.predict({"a": 1.0}, "t0")["label"] in ("ham", "spam")
        with pytest.raises(ServiceError, match="the classes of this model are"):
            client.learn_one({"a": 1.0}, "eggs", "t0")
        uploaded = client.learn({"task": "t1", "x": {"a": float(i)}, "y": "ham"} for i in range(12))
        assert uploaded.accepted == 12
        for i in range(12):
            model.learn_one({"a": float(i)}, "ham", "t1")
        assert client.explain({"a": 1.0}, "t0")["score"] == client.predict_one({"a": 1.0}, "t0")
    with served(tmp_path / "s") as service, service.client() as client:
        assert client.to_bytes() == model.to_bytes()
    with served(tmp_path / "s") as service:
        assert service.stop(signal.SIGINT) == 130


def test_a_client_without_a_service_says_so():
    with (
        weft.Client("http://127.0.0.1:9", retries=0) as client,
        pytest.raises(ConnectionError, match="does not answer"),
    ):
        client.predict_one({"a": 1.0}, "t")
    with pytest.raises(ValueError, match="is not the address"):
        weft.Client("127.0.0.1:9")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_five_minutes_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    minutes, _ = PAGE.read_text().split("### From a clone")
    blocks = BLOCK.findall(minutes)
    with served(tmp_path / "spam") as service:
        answers = answers_to(blocks, service)
        assert len(answers) == 6
        assert not any("error" in answer for answer in answers), answers
        assert json.dumps(answers[0], separators=(",", ":")) in PAGE.read_text()
        assert answers[1]["duplicate"]
        [code] = [text for kind, text in blocks if kind == "py"]
        space = {}
        exec(code.replace("http://127.0.0.1:8765", service.url), space)
        assert space["kept"]["id"]
        assert Path("spam.weft").exists()
        space["client"].close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_walk_from_a_clone(tmp_path):
    _, walk = PAGE.read_text().split("### From a clone")
    blocks = BLOCK.findall(walk)
    assert "weft learn examples/mail.csv --model mail.weft" in blocks[0][1]
    (tmp_path / "mail.csv").write_bytes((PAGE.parents[1] / "examples" / "mail.csv").read_bytes())
    model = weft.Model(schema=weft.Schema(task="user", label="label", text=["subject"]))
    for stream in weft.read(tmp_path / "mail.csv", model.schema):
        model.learn(stream)
    model.save(tmp_path / "mail.weft")
    with served(tmp_path / "mail", "--from-model", tmp_path / "mail.weft") as service:
        [answer] = answers_to(blocks, service)
        assert answer["label"] == "ham"
        record = {"user": "eve", "subject": "free prize"}
        assert answer["score"] == model.predict_one(record)
        assert answer["probability"] == model.predict_proba_one(record)


def answers_to(blocks, service):
    """What the service answers to the page's calls of curl."""
    answers = []
    for line in (line for kind, text in blocks if kind == "sh" for line in text.splitlines()):
        if line.startswith("curl"):
            words = line.replace("localhost:8765", f"127.0.0.1:{service.port}")
            answers.append(json.loads(subprocess.run(["sh", "-c", words], capture_output=True, check=True).stdout))
    return answers


def test_the_page_names_every_limit_and_route():
    from weft.serve.limits import Limits
    from weft.serve.routes import ROUTES

    text = PAGE.read_text()
    assert [route.path for route in ROUTES if route.path.replace(":path", "") not in text] == []
    for value in (Limits().features, Limits().name, Limits().queue, Limits().connections, Limits().listed):
        assert f"{value:,}" in text


def test_records_of_a_schema(tmp_path):
    schema = weft.Schema(task="user", label="label", positive="spam", text=["body"], ignore=["ts"])
    options = ("--task", "user", "--label", "label", "--positive", "spam", "--text", "body", "--ignore", "ts")
    records = [
        {"user": "ann", "ts": 1, "body": "free money", "age": 31, "country": "us", "label": "spam"},
        {"user": "bob", "ts": 2, "body": "lunch today", "age": None, "country": "de", "label": "ham"},
        {"user": "ann", "ts": 3, "body": "free lunch", "label": "ham"},
    ]
    model = weft.Model("mt-ogd", schema=schema)
    with served(tmp_path / "s", "--learner", "mt-ogd", *options) as service, service.client() as client:
        for record in records:
            assert client._post("/v1/learn", {"record": record})["score"] == model.learn_one(record)
        question = {"user": "ann", "body": "free money"}
        found = client._post("/v1/predict", {"record": question})
        assert (found["score"], found["task"]) == (model.predict_one(question), "ann")
        assert found["label"] in ("ham", "spam")
        kept = client._post("/v1/predict", {"record": question, "remember": True})
        client.feedback(kept["id"], "spam")
        model.learn_one({**question, "label": "spam"})
        uploaded = client.learn([{"record": records[0]}, {"record": {"body": "nobody"}}])
        assert (uploaded.accepted, [line["line"] for line in uploaded.rejected]) == (1, [2])
        model.learn_one(records[0])
        with pytest.raises(ServiceError, match="beside"):
            client._post("/v1/learn", {"record": records[0], "task": "ann"})
        assert client.to_bytes() == model.to_bytes()
    with served(tmp_path / "s") as service, service.client() as client:
        assert client.to_bytes() == model.to_bytes()
        assert rebuilt(tmp_path / "s", without=frozenset(["bob"]))[0].tasks == ["ann"]
