"""Where brokers go on: what was dropped is missed, what was lost on its way is read again, partitions move."""

import asyncio
import time

import pytest

from brokers.mock_kafka import MockCluster
from brokers.servers import NATS, nats_server
from weft.brokers.address import parse_address
from weft.brokers.broker import BrokerError, MessagesGone

nats = pytest.importorskip("nats", reason="nats-py is not installed")
pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

from weft.brokers.jetstream import JetStream  # noqa: E402
from weft.brokers.kafka import Kafka  # noqa: E402

pytestmark = pytest.mark.xdist_group("brokers")
needs_nats = pytest.mark.skipif(NATS is None, reason="nats-server is not installed")


def lines(count):
    return [f"message {i}".encode() for i in range(count)]


def publish(port, found, **settings):
    async def run():
        client = await nats.connect(f"nats://127.0.0.1:{port}")
        stream = client.jetstream()
        await stream.add_stream(name="MAIL", subjects=["mail"], **settings)
        for line in found:
            await stream.publish("mail", line)
        await client.close()

    asyncio.run(run())


def connected(cluster, positions, options=""):
    """A reader of the mock cluster that has begun."""
    found = Kafka(parse_address(f"kafka://{cluster.address}/mail{options}"))
    kept = found.start(positions)
    return found, kept


def read_until(broker, count):
    found, end = [], time.monotonic() + 30.0
    while len(found) < count:
        assert time.monotonic() < end, f"{len(found)} of {count}"
        found += broker.read()
    return found


def test_messages_that_kafka_has_deleted_are_missed():
    cluster = MockCluster("mail", 1)
    cluster.put(lines(20))
    cluster.delete(0, 10)
    broker, _ = connected(cluster, {"0": "5"})
    with pytest.raises(MessagesGone, match="position 5 of partition 0 is gone"):
        read_until(broker, 1)
    broker.close()
    broker, _ = connected(cluster, {"0": "12"})
    assert [message.after for message in read_until(broker, 8)] == [str(at) for at in range(13, 21)]
    assert broker.lag() == 0
    broker.close()


def test_partitions_by_their_numbers():
    cluster = MockCluster("mail", 3)
    for partition in range(3):
        cluster.put(lines(5), partition)
    broker, _ = connected(cluster, {}, "?partitions=0,2")
    assert {message.partition for message in read_until(broker, 10)} == {"0", "2"}
    broker.close()
    with pytest.raises(BrokerError, match="has no partition 7"):
        connected(cluster, {}, "?partitions=7")


def test_partitions_move_between_the_members_of_a_group():
    """Each gives away what it has saved and committed; every message is read by one of them, once.

    The mock refuses commits while the group is changing, which Kafka takes: members commit before, as a service does.
    """
    cluster = MockCluster("mail", 2)
    for partition in range(2):
        cluster.put(lines(50), partition)
    saved, read, brokers = [{}, {}], [[], []], []

    def leave(at):
        brokers[at][0].commit(saved[at], wait=True)

    def join(at):
        brokers.append(connected(cluster, {}, "?group=g"))
        saved[at] |= brokers[at][1]
        brokers[at][0].before_leaving = lambda: leave(at)

    def turn(at):
        for message in brokers[at][0].read():
            read[at].append((message.partition, message.after))
            saved[at][message.partition] = message.after
        brokers[at][0].commit(saved[at], wait=True)

    join(0)
    end = time.monotonic() + 60.0
    while len(read[0]) < 100 and time.monotonic() < end:
        turn(0)
    join(1)
    while not brokers[1][0].is_ready:
        assert time.monotonic() < end
        turn(0)
        turn(1)
    for partition in range(2):
        cluster.put(lines(50), partition)
    while len(set(read[0]) | set(read[1])) < 200:
        assert time.monotonic() < end, [len(found) for found in read]
        turn(0)
        turn(1)
    assert len(read[0]) + len(read[1]) == 200
    assert read[1]
    for broker, _ in brokers:
        broker.close()


def test_a_model_of_a_group_goes_on_at_its_own_position_unless_another_member_has_gone_on():
    cluster = MockCluster("mail", 1)
    cluster.put(lines(30))
    broker, kept = connected(cluster, {}, "?group=g")
    read_until(broker, 30)
    broker.commit({"0": "20"}, wait=True)
    broker.close()
    restored, _ = connected(cluster, {"0": "10", **kept}, "?group=g")  # the same model, from a backup
    assert read_until(restored, 1)[0].after == "11"
    restored.close()
    other, _ = connected(cluster, {}, "?group=g")
    assert read_until(other, 1)[0].after == "21"
    other.close()


@needs_nats
def test_a_stream_of_nats_that_drops_what_was_read_is_refused(tmp_path):
    with nats_server(tmp_path / "nats") as server:
        publish(server.port, lines(10), max_msgs=4)
        address = parse_address(f"nats://127.0.0.1:{server.port}/mail")
        for positions, message in [({"": "3"}, "messages 4 to 6 were removed"), ({"": "11"}, "was made anew")]:
            broker = JetStream(address)
            with pytest.raises(MessagesGone, match=message):
                broker.start(positions)
            broker.close()
        broker = JetStream(address)
        broker.start({"": "8"})
        assert [message.after for message in read_until(broker, 2)] == ["9", "10"]
        assert broker.lag() == 0
        broker.close()


@needs_nats
def test_a_message_of_nats_that_is_lost_on_its_way_is_read_again(tmp_path, monkeypatch):
    with nats_server(tmp_path / "nats") as server:
        publish(server.port, lines(40))
        broker = JetStream(parse_address(f"nats://127.0.0.1:{server.port}/mail"))
        broker.start({})
        fetched, lost = broker._fetched, []

        async def with_loss():
            found = await fetched()
            if len(found) > 3 and not lost:
                lost.append(found.pop(2))
            return found

        monkeypatch.setattr(broker, "_fetched", with_loss)
        assert [message.after for message in read_until(broker, 40)] == [str(at) for at in range(1, 41)]
        assert lost
        broker.close()
