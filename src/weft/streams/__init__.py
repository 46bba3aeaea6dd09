"""Files of events as chunks of a stream, public data sets by name, and synthetic streams.

for chunk in weft.streams.read_chunks("events.jsonl"):
    model.learn(chunk.stream)

school = weft.streams.known("school")
"""

from weft.streams.formats import Chunk, Position, SourceChanged, read_chunks, read_whole
from weft.streams.known import Known, known
from weft.streams.records import Fault, InputError
from weft.streams.synthetic import related_tasks

__all__ = [
    "Chunk",
    "Fault",
    "InputError",
    "Known",
    "Position",
    "SourceChanged",
    "known",
    "read_chunks",
    "read_whole",
    "related_tasks",
]
