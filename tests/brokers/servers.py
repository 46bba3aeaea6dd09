"""Brokers for tests, on loopback: a Redis server, a NATS server, and librdkafka's mock of a Kafka cluster."""

import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

REDIS = shutil.which("redis-server")
NATS = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A process that listens on a port; it can be killed and started again on the same folder."""

    def __init__(self, words, port):
        self.words, self.port, self.process = words, port, None

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20.0
        while time.monotonic() < end:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError(self.words[0])

    def kill(self):
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(words, port):
    server = Server(words, port)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def redis_server(folder):
    port = free_port()
    words = (
        f"{REDIS} --port {port} --bind 127.0.0.1 --dir {folder} --appendonly yes --appendfsync always --save".split()
    )
    return serving([*words, ""], port)


def nats_server(folder):
    port = free_port()
    return serving([NATS, "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(folder)], port)


@contextmanager
def kafka_cluster():
    """A producer whose mock cluster lives as long as it, and the address of a broker; topics have four partitions."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": "ignored:1", "test.mock.num.brokers": 1}, logger=_silent())
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    yield producer, f"{broker.host}:{broker.port}"


def _silent():
    import logging

    logger = logging.getLogger("tests.brokers")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
