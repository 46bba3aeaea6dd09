"""`weft learn kafka://...`: events of a broker into a model file, none lost and none twice."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from weft.brokers.address import parse_address
from weft.brokers.dead_letters import DeadLetters
from weft.brokers.opening import open_broker
from weft.brokers.reading import Messages, positions_of, read_messages
from weft.cli.options import Saving
from weft.labels import UNKNOWN
from weft.streams.records import Rules

if TYPE_CHECKING:
    from pathlib import Path

    from weft.cli.learning import ModelFile, Run
    from weft.model import Model
    from weft.reductions.per_class import Multiclass
    from weft.schema import Schema

SAVE_EVERY = 10.0
"""Seconds between two saves, unless the user says otherwise: a broker's stream need not end."""


def learn_broker(
    asked: Any,
    path: "Path",
    model: "Model | Multiclass",
    source: str,
    schema: "Schema | None",
    issued: Callable[[Any, Any], None],
    advance: Callable[[Any], None],
) -> "tuple[ModelFile, Run]":
    """Learn what a broker has, until it is silent for --idle seconds or a signal comes."""
    from weft.cli.learning import Learning, ModelFile, learn_chunks, progress_of
    from weft.model import Model
    from weft.streams.formats import CHUNK

    address = parse_address(source)
    state = progress_of(path, not path.exists(), asked.restart, asked.keep_position)
    known = None if asked.restart else state.sources.get(str(address))
    broker = open_broker(address)
    letters = None if asked.dead_letters is None else DeadLetters(asked.dead_letters)
    refused = None if letters is None else partial(letters.write, str(address))
    try:
        positions = broker.start(positions_of(known.position) if known else {})
        classes = model.label_classes if isinstance(model, Model) else UNKNOWN
        rules = Rules(model.target, True, (schema.label or "label") if schema else "y", classes, schema)
        target = ModelFile(path, model, state)
        learning = Learning(
            target, str(address), known, known, issued, lambda entry: broker.commit(positions_of(entry.position))
        )

        learning.waits_here = True

        def chunks(on_wait: Callable[[], None]) -> Any:
            messages = Messages(broker, str(address), on_wait, asked.idle)
            size = min(CHUNK, asked.every or CHUNK)
            return read_messages(messages, rules, known.position.lines if known else 0, positions, size, refused)

        run = learn_chunks(learning, chunks, saving_of(asked), advance)
    finally:
        broker.close()
        if letters is not None:
            letters.close()
    return target, run


def saving_of(asked: Any) -> Saving:
    """When to save: as asked for, and every SAVE_EVERY seconds unless another time is asked for."""
    from weft.cli.options import seconds_of

    saving = Saving(asked.every, seconds_of(asked.save_every))
    return saving if saving.seconds is not None else replace(saving, seconds=SAVE_EVERY)
