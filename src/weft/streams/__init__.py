"""Files of events as chunks of a stream, and made-up streams.

for chunk in weft.streams.read_chunks("events.jsonl"):
    model.learn(chunk.stream)
"""

from weft.streams.formats import Chunk, Position, SourceChanged, read_chunks
from weft.streams.records import Fault, InputError
from weft.streams.synthetic import related_tasks

__all__ = [
    "Chunk",
    "Fault",
    "InputError",
    "Position",
    "SourceChanged",
    "read_chunks",
    "related_tasks",
]
