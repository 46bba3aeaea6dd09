"""Without tokens: who comes in, and tokens that are made before a folder is served."""

import json

import pytest

from command_line import weft_command
from serve import engines
from serve.service_process import served
from weft.client import ServiceError
from weft.serve.app import Door
from weft.serve.problems import Problem
from weft.serve.routes import ROUTES
from weft.serve.tokens import Tokens

__all__ = ["weft_command"]
LEARN = next(route for route in ROUTES if route.path == "/v1/learn")


def scope(client, **headers):
    found = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "client": (client, 40000), "headers": [(b"host", b"localhost"), *found]}


@pytest.mark.parametrize("client", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_programs_of_this_machine_come_in_without_tokens(tmp_path, client):
    assert Door(Tokens(tmp_path)).check(scope(client), LEARN) == "admin"


@pytest.mark.parametrize(
    "request_",
    [
        scope("192.0.2.7"), scope("::ffff:192.0.2.7"), scope("fe80::1"), scope("not an address"), scope(""),
        scope("127.0.0.1", x_forwarded_for="192.0.2.7"), scope("127.0.0.1", forwarded="for=192.0.2.7"),
        scope("127.0.0.1", x_real_ip="192.0.2.7"),
    ],
    ids=lambda request_: f"{request_['client'][0]} {request_['headers'][1:]}",
)  # fmt: skip
def test_others_do_not_whatever_host_they_claim(tmp_path, request_):
    """Also after the last token was removed."""
    tokens = Tokens(tmp_path)
    for _ in range(2):
        with pytest.raises(Problem, match="and localhost only, from this machine") as caught:
            Door(tokens).check(request_, LEARN)
        assert (caught.value.status, caught.value.code) == (403, "not_local")
        name = tokens.add("admin").split("_")[1]
        with pytest.raises(Problem, match="a token is missing"):
            Door(tokens).check(request_, LEARN)
        tokens.remove(name)


def test_a_token_before_the_folder_is_served_for_the_first_time(weft_command, tmp_path):
    result = weft_command("token", "add", "s", "--scope", "learn")
    token = result.stdout.split()[-1]
    assert "weft: note: s is not served yet; weft serve s begins" in result.stderr
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0
    listed = json.loads(weft_command("token", "list", "s", "--json").stdout)
    assert listed == [{"name": token.split("_")[1], "scope": "learn"}]
    with served(tmp_path / "s", "--learner", engines.LEARNER) as service:
        with service.client(token) as client:
            assert client.learn_one({"a": 1.0}, 1, "t") == 0.0
        with service.client() as client, pytest.raises(ServiceError, match="a token is missing"):
            client.learn_one({"a": 1.0}, 1, "t")
        weft_command("token", "remove", "s", token.split("_")[1])
    (tmp_path / "empty").mkdir()
    weft_command("token", "add", "empty", "--scope", "admin")
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("kept")
    told = weft_command("token", "add", "other", "--scope", "admin", code=2).stderr
    assert "is not the folder of a service: it holds other files, such as notes.txt" in told
    assert [path.name for path in other.iterdir()] == ["notes.txt"]
