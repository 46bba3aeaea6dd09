"""How far sources were read, in the log: written in the transaction of the events that they gave.

sources   source, partition, where the broker goes on, and a checksum
"""

import zlib

from weft.brokers.broker import Positions
from weft.serve.log import Log
from weft.store.digests import FileError


def positions_of(log: Log, source: str) -> Positions:
    """Where a source goes on; empty if it was never read."""
    rows = log.read('SELECT "partition", after FROM sources WHERE source = ?', (source,))
    return {str(partition): str(after) for partition, after in rows}


def move(log: Log, source: str, positions: Positions) -> None:
    """Within a transaction: the source was read up to these positions."""
    for partition, after in positions.items():
        sum_ = _checksum(source, partition, after)
        log.write("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)", (source, partition, after, sum_))


def check_positions(log: Log) -> None:
    """Refuse positions whose checksum is wrong."""
    for *fields, found in log.read("SELECT * FROM sources"):
        if not all(isinstance(field, str) for field in fields) or _checksum(*fields) != found:
            raise FileError(
                f"{log.path} is damaged: the checksum of a position of a source is wrong; "
                "restore the folder from a backup"
            )


def _checksum(source: str, partition: str, after: str) -> int:
    return zlib.crc32(repr((source, partition, after)).encode())
