"""librdkafka's mock of a Kafka cluster with switches that its Python package leaves out: brokers go down, records are
deleted, topics have some partitions. `python -m brokers.mock_kafka` runs one in a process of its own.

Its messages are in memory: a broker that goes down closes its port and all connections, and keeps its messages.
"""

import ctypes
import json
import subprocess
import sys
from pathlib import Path


def _library():
    import confluent_kafka

    [path] = (Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs").glob("librdkafka-*.so*")
    found = ctypes.CDLL(str(path))
    found.rd_kafka_conf_new.restype = ctypes.c_void_p
    found.rd_kafka_new.restype = ctypes.c_void_p
    found.rd_kafka_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    found.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    found.rd_kafka_mock_cluster_new.argtypes = [ctypes.c_void_p, ctypes.c_int]
    found.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    found.rd_kafka_mock_cluster_bootstraps.argtypes = [ctypes.c_void_p]
    found.rd_kafka_mock_broker_set_down.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    found.rd_kafka_mock_broker_set_up.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    found.rd_kafka_mock_topic_create.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    found.rd_kafka_mock_partition_delete_records.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64,
    ]  # fmt: skip
    found.rd_kafka_mock_group_initial_rebalance_delay_ms.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    return found


class MockCluster:
    """A cluster of one broker, and a producer for it."""

    def __init__(self, topic, partitions):
        from confluent_kafka import Producer

        self._library, self.topic = _library(), topic.encode()
        error = ctypes.create_string_buffer(512)
        handle = self._library.rd_kafka_new(0, self._library.rd_kafka_conf_new(), error, 512)
        assert handle, error.value
        self._cluster = self._library.rd_kafka_mock_cluster_new(handle, 1)
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 200)
        assert self._library.rd_kafka_mock_topic_create(self._cluster, self.topic, partitions, 1) == 0
        self.address = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self.producer = Producer({"bootstrap.servers": self.address, "enable.idempotence": True})

    def put(self, lines, partition=0):
        for line in lines:
            self.producer.produce(self.topic.decode(), line, partition=partition)
        left = self.producer.flush(30)
        assert left == 0, f"{left} messages were not taken"

    def down(self):
        assert self._library.rd_kafka_mock_broker_set_down(self._cluster, 1) == 0

    def up(self):
        assert self._library.rd_kafka_mock_broker_set_up(self._cluster, 1) == 0

    def delete(self, partition, before):
        """Drop the messages of a partition that are before an offset."""
        code = self._library.rd_kafka_mock_partition_delete_records(self._cluster, self.topic, partition, before)
        assert code == 0, code


class MockProcess:
    """The same in a process of its own; its methods are those of MockCluster."""

    def __init__(self, topic, partitions):
        words = [sys.executable, "-m", "brokers.mock_kafka", topic, str(partitions)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=Path(__file__).parents[1],
        )  # fmt: skip
        self.address = self._process.stdout.readline().strip()
        assert self.address, "the mock cluster did not start"

    def call(self, name, *values):
        self._process.stdin.write(json.dumps([name, *values]) + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n", name

    def close(self):
        self._process.kill()
        self._process.communicate()


def main():
    cluster = MockCluster(sys.argv[1], int(sys.argv[2]))
    print(cluster.address, flush=True)
    for line in sys.stdin:
        name, *values = json.loads(line)
        getattr(cluster, name)(*values)
        print("done", flush=True)


if __name__ == "__main__":
    main()
