"""A model as one block of bytes: learner, names, live state, tally."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.learner import Learner
from weft.learners.catalogue import from_json, to_json
from weft.storage import saving
from weft.store.codec import FileError, decode, encode
from weft.tally import COLUMNS
from weft.vocabulary import Vocabulary, names_as_json, names_from_json

FORMAT = 1


class Parts(NamedTuple):
    """The components of a model."""

    learner: Learner
    vocabulary: Vocabulary
    state: Any
    tally: Floats | None


def pack_model(parts: Parts) -> bytes:
    """The bytes of a model file."""
    tasks, features = parts.vocabulary.tasks, parts.vocabulary.features
    header = {
        "format": FORMAT,
        "learner": to_json(parts.learner),
        "tasks": names_as_json(tasks),
        "features": names_as_json(features),
    }
    live = saving.live(parts.state, parts.learner.plan, len(tasks), len(features))
    arrays = {f"state.{name}": array for name, array in live.items()}
    if parts.tally is not None:
        arrays["tally"] = parts.tally[: len(tasks)]
    return encode(header, arrays)


def unpack_model(data: bytes) -> Parts:
    """The model in a file; FileError, with the reason, if it cannot be read."""
    header, arrays = decode(data)
    if type(header.get("format")) is not int or header["format"] != FORMAT:
        raise FileError(
            f"the file has format {header.get('format')!r}, this weft reads format {FORMAT}; "
            "use the version of weft that wrote it"
        )
    learner = _component("learner", from_json, header.get("learner"))
    vocabulary = Vocabulary(
        _component("task names", names_from_json, header.get("tasks")),
        _component("feature names", names_from_json, header.get("features")),
    )
    tasks, features = len(vocabulary.tasks), len(vocabulary.features)
    tally = arrays.pop("tally", None)
    if tally is None or tally.shape != (tasks, len(COLUMNS)) or tally.dtype != np.float64:
        raise FileError("the file's tally does not fit its tasks")
    live = {name.removeprefix("state."): array for name, array in arrays.items()}
    state = _component(
        "state",
        lambda found: saving.restore(learner.init(list(vocabulary.tasks)), learner.plan, found, tasks, features),
        live,
    )
    return Parts(learner, vocabulary, state, tally)


def _component(what: str, read: Callable[[Any], Any], data: Any) -> Any:
    try:
        return read(data)
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise FileError(f"the file's {what} cannot be used: {error}") from None
