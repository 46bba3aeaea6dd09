"""Events of real brokers: the model is the one that the same events in a file give, whatever is killed."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import weft
from brokers.servers import NATS, REDIS, kafka_cluster, nats_server, redis_server
from weft.brokers.address import parse_address

confluent_kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
nats = pytest.importorskip("nats", reason="nats-py is not installed")
redis = pytest.importorskip("redis", reason="redis is not installed")

pytestmark = pytest.mark.xdist_group("brokers")
EVENTS = 3000


def events(count=EVENTS):
    random.seed(5)
    found = []
    for _ in range(count):
        task, x = random.choice("abcdef"), {name: random.gauss(0.0, 1.0) for name in random.sample("uvwxyz", 3)}
        found.append({"task": task, "x": x, "y": random.choice([-1, 1])})
    return [json.dumps(event).encode() for event in found]


def model_of_file(folder, lines):
    path = folder / "events.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    model = weft.Model("pa")
    for stream in weft.read(path):
        model.learn(stream)
    return model


def learning(source, model, *further, idle="0.8"):
    words = ["learn", source, "--model", str(model), "--learner", "pa", "--idle", idle, "--quiet", *further]
    return subprocess.Popen([sys.executable, "-m", "weft", *words], stderr=subprocess.PIPE, text=True)


def learn(*words, **options):
    process = learning(*words, **options)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def learn_with_kills(source, model):
    """Kill the learner some times (WEFT_KILLS), then let it finish."""
    for _ in range(int(os.environ.get("WEFT_KILLS", "1"))):
        process = learning(source, model, "--every", "200")
        time.sleep(random.uniform(0.5, 1.3))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    assert learn(source, model) == (0, "")


# --- Redis ---


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_redis(tmp_path):
    lines = events()
    with redis_server(tmp_path) as server, redis.Redis(port=server.port) as client:
        source = f"redis://127.0.0.1:{server.port}/mail"
        for line in lines[:2000]:
            client.xadd("mail", {"event": line})
        learn_with_kills(source, tmp_path / "m.weft")
        process = learning(source, tmp_path / "m.weft", idle="2")
        time.sleep(0.5)
        server.kill()
        server.start()
        with redis.Redis(port=server.port) as again:
            for line in lines[2000:]:
                again.xadd("mail", {"event": line})
        assert process.wait(60) == 0, process.stderr.read()
        process.stderr.close()
    assert weft.load(tmp_path / "m.weft").to_bytes() == model_of_file(tmp_path, lines).to_bytes()


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_a_trimmed_redis_stream_is_refused(tmp_path):
    with redis_server(tmp_path) as server, redis.Redis(port=server.port) as client:
        source = f"redis://127.0.0.1:{server.port}/mail"
        for line in events(30):
            client.xadd("mail", {"event": line})
        assert learn(source, tmp_path / "m.weft", idle="0.5") == (0, "")
        for line in events(20):
            client.xadd("mail", {"event": line})
        client.xtrim("mail", maxlen=5, approximate=False)
        code, told = learn(source, tmp_path / "m.weft", idle="0.5")
        assert code == 2
        assert "was trimmed" in told
        assert weft.load(tmp_path / "m.weft").tally.total["events"] == 30


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_dead_letters(tmp_path):
    good = events(40)
    lines = [*good[:20], b"not json", b'{"task": "a"}', b"\xff\xfe", *good[20:]]
    with redis_server(tmp_path) as server, redis.Redis(port=server.port) as client:
        source = f"redis://127.0.0.1:{server.port}/mail"
        for line in lines:
            client.xadd("mail", {"event": line})
        code, told = learn(source, tmp_path / "m.weft", idle="0.5")
        assert code == 2
        assert "line 21" in told
        assert not (tmp_path / "m.weft").exists()
        letters = tmp_path / "letters.jsonl"
        code, told = learn(source, tmp_path / "m.weft", "--dead-letters", str(letters), idle="0.5")
        assert code == 0
        found = [json.loads(line) for line in letters.read_text().splitlines()]
        assert [letter.get("value", letter.get("base64")) for letter in found] == ["not json", '{"task": "a"}', "//4="]
        assert all(letter["error"] and letter["after"] for letter in found)
    assert weft.load(tmp_path / "m.weft").to_bytes() == model_of_file(tmp_path, good).to_bytes()


# --- NATS ---


def publish(port, lines):
    async def run():
        client = await nats.connect(f"nats://127.0.0.1:{port}")
        stream = client.jetstream()
        await stream.add_stream(name="MAIL", subjects=["mail"])
        for line in lines:
            await stream.publish("mail", line)
        await client.close()

    asyncio.run(run())


@pytest.mark.skipif(NATS is None, reason="nats-server is not installed")
def test_nats(tmp_path):
    lines = events()
    with nats_server(tmp_path / "nats") as server:
        source = f"nats://127.0.0.1:{server.port}/mail"
        publish(server.port, lines[:2000])
        learn_with_kills(source, tmp_path / "m.weft")
        process = learning(source, tmp_path / "m.weft", idle="5")
        time.sleep(0.8)
        server.kill()
        server.start()
        publish(server.port, lines[2000:])
        assert process.wait(60) == 0, process.stderr.read()
        process.stderr.close()
    assert weft.load(tmp_path / "m.weft").to_bytes() == model_of_file(tmp_path, lines).to_bytes()


# --- Kafka ---


def test_kafka(tmp_path):
    lines = events()
    with kafka_cluster() as (producer, broker):
        for line in lines:
            producer.produce("mail", line, partition=0)
        producer.flush(20)
        learn_with_kills(f"kafka://{broker}/mail", tmp_path / "m.weft")
    assert weft.load(tmp_path / "m.weft").to_bytes() == model_of_file(tmp_path, lines).to_bytes()


def test_partitions_of_kafka(tmp_path):
    """A task's events are in one partition, in order; tasks of pa do not depend on each other."""
    lines = events()
    with kafka_cluster() as (producer, broker):
        for line in lines:
            producer.produce("mail", line, partition=ord(json.loads(line)["task"]) % 3)
        producer.flush(20)
        learn_with_kills(f"kafka://{broker}/mail", tmp_path / "m.weft")
    found, expected = weft.load(tmp_path / "m.weft"), model_of_file(tmp_path, lines)
    for task in expected.tasks:
        assert found.tally[task] == pytest.approx(expected.tally[task], rel=1e-12)  # features come in another order
        row = dict.fromkeys("uvwxyz", 1.0)
        assert found.predict_one(row, task) == pytest.approx(expected.predict_one(row, task), rel=1e-12)


# --- addresses ---


def test_addresses():
    address = parse_address("redis://user:p%40ss@localhost/mail?db=2")
    assert (address.user, address.password, address.port, address.name) == ("user", "p@ss", 6379, "mail")
    assert "p@ss" not in repr(address) + str(address)
    for wrong in ("kafka://", "kafka://host", "nats://host:99999/x", "redis://h/x#y"):
        with pytest.raises(ValueError, match="write it as kafka://"):
            parse_address(wrong)


def test_no_broker(tmp_path):
    for source in ("redis://127.0.0.1:1/mail", "nats://127.0.0.1:1/mail"):
        code, told = learn(source, tmp_path / "m.weft")
        assert code == 2, told
        assert "cannot be read" in told
        assert not os.path.exists(tmp_path / "m.weft")


def test_secrets_are_not_told(tmp_path):
    code, told = learn("redis://ann:secret@127.0.0.1:1/mail", tmp_path / "m.weft")
    assert code == 2
    assert "secret" not in told
    assert "unknown option" in learn("nats://127.0.0.1:1/mail?streem=x", tmp_path / "m.weft")[1]
