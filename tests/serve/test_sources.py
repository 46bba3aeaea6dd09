"""`weft serve --from`: what a broker has is learned once and in order, whatever is killed, beside HTTP."""

import asyncio
import json
import shutil
import signal
import sqlite3
import time
import urllib.request

import pytest

from brokers.servers import NATS, REDIS, kafka_cluster, nats_server, redis_server
from serve import engines
from serve.engines import close, event, opened
from serve.histories import entries_of
from serve.service_process import served
from weft.brokers.broker import Message
from weft.brokers.dead_letters import DeadLetters
from weft.cli.main import Failure, cli
from weft.serve.backup import backup
from weft.serve.folder import Folder
from weft.serve.log import NAME, Log
from weft.serve.positions import move, positions_of
from weft.serve.recovery import rebuilt, recover
from weft.serve.requests import ToForget
from weft.store.digests import FileError

confluent_kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
nats = pytest.importorskip("nats", reason="nats-py is not installed")
redis = pytest.importorskip("redis", reason="redis is not installed")

pytestmark = pytest.mark.xdist_group("brokers")
LEARNER = ("--learner", engines.LEARNER)
needs_redis = pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
needs_nats = pytest.mark.skipif(NATS is None, reason="nats-server is not installed")


def lines(count, first=0):
    found = []
    for i in range(first, first + count):
        task, x, y = event(i)
        found.append(json.dumps({"task": task, "x": x | {"n": float(i)}, "y": y}).encode())
    return found


def learned(folder):
    """Numbers of the events in the log, in its order."""
    return [int(fields[1]["n"]) for _, (kind, *fields) in entries_of(folder) if kind == "learn"]


def figures(service):
    with urllib.request.urlopen(f"{service.url}/metrics", timeout=10.0) as answer:
        rows = [line.rpartition(" ") for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name.partition("{")[0]: float(value) for name, _, value in rows}


def until(service, count, figure="weft_events"):
    """Wait until so many events are learned."""
    end = time.monotonic() + 60.0
    while (found := figures(service)[figure]) < count:
        assert time.monotonic() < end, f"{found} of {count}"
        time.sleep(0.02)


def told(service, text):
    """Wait until the service has said so."""
    while not any(text in line for line in service.lines):
        line = service.process.stderr.readline()
        assert line, service.lines
        service.lines.append(line)


def check(folder, expected):
    """The log has these events in this order, and the model is the one that it gives."""
    assert learned(folder) == expected
    with_it = opened(folder)
    try:
        assert with_it.model.to_bytes() == rebuilt(folder)[0].to_bytes()
    finally:
        close(with_it)


@needs_redis
def test_redis(tmp_path):
    """Killed in the middle, then its broker is killed, then messages that cannot be used; HTTP beside it."""
    with redis_server(tmp_path) as server:
        source = f"redis://127.0.0.1:{server.port}/mail"
        with redis.Redis(port=server.port) as client:
            for line in lines(4000):
                client.xadd("mail", {"event": line})
        with served(tmp_path / "s", *LEARNER, "--from", source) as service:
            until(service, 1)
            service.stop(signal.SIGKILL)
        with served(tmp_path / "s", "--from", source) as service:
            until(service, 4000)
            server.kill()
            server.start()
            with redis.Redis(port=server.port) as client:
                for line in [*lines(100, 4000), b"not json", b'{"task": "a"}', b'{"id": "p", "y": 1}', b"\xff"]:
                    client.xadd("mail", {"event": line})
            until(service, 4100)
            until(service, 4, "weft_source_rejected_total")
            with service.client() as asking:
                assert asking.predict_one({"a": 1.0}, "t0") is not None
            assert figures(service)["weft_source_up"] == 1.0
            assert figures(service)["weft_source_lag"] == 0.0
    check(tmp_path / "s", list(range(4100)))
    letters = [json.loads(line) for line in (tmp_path / "s" / "dead-letters.jsonl").read_text().splitlines()]
    assert [letter.get("value", letter.get("base64")) for letter in letters] == [
        "not json", '{"task": "a"}', '{"id": "p", "y": 1}', "/w==",
    ]  # fmt: skip
    assert all(letter["error"] and letter["source"] == source for letter in letters)


@needs_redis
def test_two_sources_and_requests_over_http(tmp_path):
    """Each source keeps its order; ids of messages are recognised like those of requests."""
    with redis_server(tmp_path) as server, redis.Redis(port=server.port) as client:
        for i, line in enumerate(lines(600)):
            client.xadd(f"mail{i % 2}", {"event": line})
        same = json.dumps({"id": "one", "task": "t0", "x": {"n": 9999.0}, "y": 1.0}).encode()
        client.xadd("mail0", {"event": same})
        options = [word for i in range(2) for word in ("--from", f"redis://127.0.0.1:{server.port}/mail{i}")]
        with served(tmp_path / "s", *LEARNER, *options) as service:
            body = json.loads(same)
            with service.client() as asking:
                assert asking._post("/v1/learn", body)["duplicate"] in (True, False)
            until(service, 601)
            time.sleep(0.1)
            with service.client() as asking:
                assert asking._post("/v1/learn", body)["duplicate"]
    found = learned(tmp_path / "s")
    assert sorted(found) == [*range(600), 9999]
    assert [n for n in found if n % 2 == 0] == list(range(0, 600, 2))
    assert [n for n in found if n % 2 == 1 and n < 600] == list(range(1, 600, 2))


@needs_redis
def test_a_stream_that_was_trimmed_is_not_read_on(tmp_path):
    with redis_server(tmp_path) as server, redis.Redis(port=server.port) as client:
        source = f"redis://127.0.0.1:{server.port}/mail"
        for line in lines(30):
            client.xadd("mail", {"event": line})
        with served(tmp_path / "s", *LEARNER, "--from", source) as service:
            until(service, 30)
        for line in lines(20, 30):
            client.xadd("mail", {"event": line})
        client.xtrim("mail", maxlen=5, approximate=False)
        with served(tmp_path / "s", "--from", source) as service:
            told(service, "was trimmed: 15 entries")
            assert figures(service)["weft_source_up"] == 0.0
            with service.client() as asking:
                assert asking.predict_one({"a": 1.0}, "t0") is not None
    check(tmp_path / "s", list(range(30)))


@needs_redis
def test_a_broker_that_comes_later(tmp_path):
    with redis_server(tmp_path) as server:
        with redis.Redis(port=server.port) as client:
            for line in lines(30):
                client.xadd("mail", {"event": line})
        server.kill()
        with served(tmp_path / "s", *LEARNER, "--from", f"redis://127.0.0.1:{server.port}/mail") as service:
            told(service, "cannot be read")
            server.start()
            until(service, 30)
    check(tmp_path / "s", list(range(30)))


def publish(port, found):
    async def run():
        client = await nats.connect(f"nats://127.0.0.1:{port}")
        stream = client.jetstream()
        await stream.add_stream(name="MAIL", subjects=["mail"])
        for line in found:
            await stream.publish("mail", line)
        await client.close()

    asyncio.run(run())


@needs_nats
def test_nats(tmp_path):
    with nats_server(tmp_path / "nats") as server:
        source = f"nats://127.0.0.1:{server.port}/mail"
        publish(server.port, lines(3000))
        with served(tmp_path / "s", *LEARNER, "--from", source) as service:
            until(service, 1)
            service.stop(signal.SIGKILL)
        with served(tmp_path / "s", "--from", source) as service:
            until(service, 3000)
            server.kill()
            server.start()
            publish(server.port, [*lines(100, 3000), b"not json"])
            until(service, 3100)
            until(service, 1, "weft_source_rejected_total")
    check(tmp_path / "s", list(range(3100)))


def test_kafka(tmp_path):
    with kafka_cluster() as (producer, broker):
        source = f"kafka://{broker}/mail"
        for line in lines(3000):
            producer.produce("mail", line, partition=0)
        producer.flush(20)
        with served(tmp_path / "s", *LEARNER, "--from", source) as service:
            until(service, 1)
            service.stop(signal.SIGKILL)
        for line in [*lines(100, 3000), b"not json"]:
            producer.produce("mail", line, partition=0)
        producer.flush(20)
        with served(tmp_path / "s", "--from", source) as service:
            until(service, 3100)
            until(service, 1, "weft_source_rejected_total")
    check(tmp_path / "s", list(range(3100)))


# --- the folder ---


def with_position(path):
    """A folder that was stopped after a source had moved."""
    service = opened(path)
    engines.ask(service, engines.to_learn(0))
    service._log.begin()
    move(service._log, "redis://h:6379/s", {"": "5-0 5"})
    service._log.end()
    close(service)


def position_in(path):
    folder = Folder(path)
    log = recover(folder, folder.config()).log
    try:
        return positions_of(log, "redis://h:6379/s")
    finally:
        log.close()


def test_a_position_survives_backup_replay_and_compaction(tmp_path):
    with_position(tmp_path / "s")
    backup(tmp_path / "s", tmp_path / "copy")
    assert position_in(tmp_path / "copy") == {"": "5-0 5"}
    rebuilt(tmp_path / "s")
    service = opened(tmp_path / "s")
    engines.ask(service, ToForget("t0"))
    while service.writer._checkpointing.is_busy:
        time.sleep(0.01)
    close(service)
    assert position_in(tmp_path / "s") == {"": "5-0 5"}


def test_a_position_that_was_changed_is_refused(tmp_path):
    with_position(tmp_path / "s")
    database = sqlite3.connect(tmp_path / "s" / NAME)
    database.execute("UPDATE sources SET after = '6-0 6'")
    database.commit()
    database.close()
    with pytest.raises(FileError, match="checksum of a position"):
        position_in(tmp_path / "s")


def test_a_log_of_the_second_format_is_brought_up_to_date(tmp_path):
    with_position(tmp_path / "s")
    database = sqlite3.connect(tmp_path / "s" / NAME)
    database.executescript("DROP TABLE sources; PRAGMA user_version = 2;")
    database.close()
    before = shutil.copytree(tmp_path / "s", tmp_path / "before")
    with pytest.raises(FileError, match="brings an earlier one up to date"):
        Log(before / NAME, read_only=True)
    assert position_in(tmp_path / "s") == {}
    service = opened(tmp_path / "s")
    assert engines.ask(service, engines.to_learn(0))[0].duplicate
    close(service)


def test_events_and_position_are_one_transaction(tmp_path, monkeypatch):
    """What is written in place of a position that cannot be: nothing, neither the position nor the events."""
    failed = []
    service = opened(tmp_path / "s", fail=failed.append)

    def within(log, placed):
        move(log, "redis://h:6379/s", {"": "9-0 9"})
        raise OSError("no room")

    service.writer.put(engines.Job([engines.to_learn(0)], failed.append, within=within), 10)
    service.writer._thread.join(30.0)
    assert [str(error) for error in failed] == ["no room"]
    service._log.drop()
    service.folder.unlock()
    assert entries_of(tmp_path / "s") == []
    assert position_in(tmp_path / "s") == {}


def test_a_position_without_events_is_kept(tmp_path):
    service = opened(tmp_path / "s")
    ready = []
    job = engines.Job([], ready.append, within=lambda log, _: move(log, "redis://h:6379/s", {"": "9-0 9"}))
    service.writer.put(job, 10)
    engines.settle(service)
    close(service)
    assert ready == [[]]
    assert position_in(tmp_path / "s") == {"": "9-0 9"}


def test_dead_letters_are_written_once(tmp_path):
    path = tmp_path / "letters.jsonl"
    letters = DeadLetters(path)
    letters.write("s", [(Message("0", "1", b"a"), "wrong"), (Message("0", "2", b"b"), "wrong")])
    letters.close()
    with open(path, "ab") as file:
        file.write(b'{"source": "s", "partition": "0", "af')  # a process that was killed in the middle of a line
    letters = DeadLetters(path)
    letters.write("s", [(Message("0", "2", b"b"), "wrong"), (Message("0", "3", b"c"), "wrong")])
    letters.close()
    assert [json.loads(line)["value"] for line in path.read_text().splitlines()] == ["a", "b", "c"]


def test_addresses_are_looked_at_before_anything_is_served(tmp_path):
    for words, message in [
        (["--from", "events.jsonl"], "is not the address of a broker"),
        (["--from", "redis://h/s", "--from", "redis://h:6379/s"], "is given twice"),
        (["--from", "redis://h/s?db=x"], "write the number of a database"),
        (["--from", "kafka://h/t?partitions=a"], "write their numbers"),
    ]:
        with pytest.raises(Failure, match=message):
            cli(["serve", str(tmp_path / "s"), *words], standalone_mode=False)
    assert not (tmp_path / "s" / "config.json").exists()
