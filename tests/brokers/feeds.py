"""Brokers that are killed while they are fed: each starts, is killed, and takes lines, none of them twice."""

import asyncio
import contextlib
import time
from itertools import pairwise

from brokers.mock_kafka import MockProcess
from brokers.servers import NATS, REDIS, Server, free_port


class RedisFeed:
    """redis-server with appendfsync always: what it has acknowledged survives kill -9."""

    def __init__(self, folder):
        port = free_port()
        words = f"{REDIS} --port {port} --bind 127.0.0.1 --dir {folder} --appendonly yes --appendfsync always --save"
        self._server = Server([*words.split(), ""], port)
        self.source = f"redis://127.0.0.1:{port}/mail"
        self._put = 0
        self.start, self.kill = self._server.start, self._server.kill

    def put(self, lines):
        """Add lines; those that the server has already, although it did not answer, are not added again."""
        import redis

        with redis.Redis(port=self._server.port) as client:
            end, done = time.monotonic() + 30.0, None
            while done is None:
                assert time.monotonic() < end
                with contextlib.suppress(redis.ConnectionError):
                    done = client.xlen("mail") - self._put
            with client.pipeline(transaction=False) as together:
                for line in lines[done:]:
                    together.xadd("mail", {"event": line})
                together.execute()
        self._put += len(lines)

    def close(self):
        self.kill()


class NatsFeed:
    """nats-server that flushes every message, unless told otherwise."""

    def __init__(self, folder, flushes="always"):
        port = free_port()
        configuration = folder / "nats.conf"
        configuration.write_text(
            f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}/nats", sync_interval: {flushes} }}\n'
        )
        self._server = Server([NATS, "-c", str(configuration)], port)
        self.source = f"nats://127.0.0.1:{port}/mail"
        self._put = 0
        self.start, self.kill = self._server.start, self._server.kill

    def put(self, lines):
        asyncio.run(self._add(lines))
        self._put += len(lines)

    async def _add(self, lines):
        import nats

        client = await nats.connect(f"nats://127.0.0.1:{self._server.port}", connect_timeout=5)
        stream = client.jetstream()
        await stream.add_stream(name="MAIL", subjects=["mail"])
        done = (await stream.stream_info("MAIL")).state.messages - self._put
        for first, last in pairwise([*range(done, len(lines), 500), len(lines)]):
            await asyncio.gather(*[await stream.publish_async("mail", line) for line in lines[first:last]])
        await client.close()

    def close(self):
        self.kill()


class KafkaFeed:
    """librdkafka's mock; killed: its port and all its connections are closed. It keeps 5 MB per partition."""

    def __init__(self, folder, partitions=1):
        del folder  # messages are in memory
        self._partitions = partitions
        self._process = MockProcess("mail", partitions)
        self.source = f"kafka://{self._process.address}/mail"

    def start(self):
        self._process.call("up")

    def kill(self):
        self._process.call("down")

    def put(self, lines):
        for at in range(self._partitions):
            self._process.call("put", [line.decode() for line in lines[at :: self._partitions]], at)

    def close(self):
        self._process.close()


FEEDS = {"redis": RedisFeed, "nats": NatsFeed, "kafka": KafkaFeed}
