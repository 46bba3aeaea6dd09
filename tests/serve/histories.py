"""A checker of histories, from the client's side: acknowledged = learned exactly once, in an order that replay repeats.

Clients note what they sent under which id and what was acknowledged. After the run the log is read by plain SQL and
MessagePack, not by weft's own reader, and its events are learned one after the other by a new model.
"""

import sqlite3
import zlib
from contextlib import closing

import msgspec

import weft


class History:
    """What clients sent, and which of it was acknowledged with which number."""

    def __init__(self):
        self.sent = {}
        self.acknowledged = {}

    def send(self, id, event):
        self.sent[id] = event

    def acknowledge(self, id, seq):
        before = self.acknowledged.setdefault(id, seq)
        assert before == seq, f"{id} was acknowledged as entry {before} and as entry {seq}"


def entries_of(folder):
    """(seq, fields) of all entries, read without weft; numbers without gaps and checksums are checked here too."""
    found, expected = [], 1
    # Closed here, whatever happens: a process that is forked while a connection is open takes its locks for its own.
    with closing(sqlite3.connect(f"file:{folder}/log.sqlite?mode=ro", uri=True)) as connection:
        for seq, n, crc, blob in connection.execute("SELECT seq, n, crc, blob FROM log ORDER BY seq"):
            assert seq == expected
            seed = zlib.crc32(seq.to_bytes(8, "little") + n.to_bytes(8, "little"))
            assert zlib.crc32(blob, seed) == crc
            group = msgspec.msgpack.decode(blob)
            assert len(group) == n
            found += enumerate(group, seq)
            expected += n
    return found


def check(folder, history, learner="auto", **parameters):
    """Raise AssertionError unless the folder is explained by the history; the bytes of the model that it must hold."""
    where, model = {}, weft.Model(learner, **parameters)
    for seq, (kind, *fields) in entries_of(folder):
        if kind == "learn":
            task, x, y, _, id, _ = fields
        elif kind == "feedback":
            id, task, x, y, _ = fields
        else:
            continue
        if id is not None:
            assert id not in where, f"{id} was learned twice, as entries {where[id]} and {seq}"
            where[id] = seq
            assert id in history.sent, f"entry {seq} was learned, but nobody sent it"
            assert history.sent[id] == (task, x, y), f"entry {seq} is not what was sent"
        model.learn_one(x, y, task)
    for id, seq in history.acknowledged.items():
        assert where.get(id) == seq, f"{id} was acknowledged as entry {seq}, and is entry {where.get(id)}"
    return model.to_bytes()
