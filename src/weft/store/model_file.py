"""A model as the bytes of a file: learner, names, live state, tally."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.blas import libraries
from weft.encoding.missing_values import MOST_FIELDS
from weft.labels import PLAIN, UNKNOWN, Classes, expect_label
from weft.learner import Learner
from weft.learners.catalogue import from_json, to_json
from weft.schema import Schema
from weft.storage import saving
from weft.store import policies
from weft.store.codec import Write, checked, in_one, parse, write_arrays
from weft.store.digests import FileError
from weft.store.policies import Saved
from weft.tally.counts import (
    ABSOLUTE,
    COLUMNS,
    EVENTS,
    FALSE_NEGATIVE,
    FALSE_POSITIVE,
    LOSS,
    MISTAKES,
    SQUARED,
    TRUE_POSITIVE,
)
from weft.tally.recent import COLUMNS as RECENT_COLUMNS
from weft.vocabulary import Vocabulary, names_as_json, names_from_json

FORMAT = 1

_COUNTS = [EVENTS, MISTAKES, TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE]
_SUMS = [LOSS, ABSOLUTE, SQUARED]


class Contents(NamedTuple):
    """The components of a model."""

    learner: Learner
    vocabulary: Vocabulary
    state: Any
    tally: Floats | None
    classes: Classes = UNKNOWN
    schema: Schema | None = None
    recent: Floats | None = None
    """Decayed sums over recent events."""
    width: int | None = None
    """Of the dense tables that were learned; None if none was, and in older files."""
    policies: tuple[Saved, ...] = ()
    """Of tasks that do not give or do not receive."""


def write_model(contents: Contents, write: Write, facts: Mapping[str, Any]) -> bytes:
    """Hand the bytes of a model file on, block by block; `facts` are added to its header. Returns its digest."""
    tasks, features = contents.vocabulary.tasks, contents.vocabulary.features
    header: dict[str, Any] = {
        "format": FORMAT,
        "learner": to_json(contents.learner),
        "tasks": names_as_json(tasks),
        "features": names_as_json(features),
    }
    if contents.learner.traits.blas:
        header["blas"] = libraries()
    is_plain = contents.classes == PLAIN and contents.tally is not None and bool(contents.tally[:, EVENTS].any())
    if contents.classes != UNKNOWN and not is_plain:  # -1 and +1 go without saying
        header["classes"] = [contents.classes.negative, contents.classes.positive]
    if contents.schema is not None:
        header["schema"] = contents.schema.to_json()
    if contents.width is not None:
        header["width"] = contents.width
    if len(contents.vocabulary.fields):
        header["fields"] = contents.vocabulary.fields.tolist()
    live = saving.live_blocks(contents.state, contents.learner.plan, len(tasks), len(features))
    arrays = {f"state.{name}": array for name, array in live.items()}
    if contents.tally is not None:
        arrays["tally"] = in_one(contents.tally[: len(tasks)])
    if contents.recent is not None:
        arrays["recent"] = in_one(contents.recent[: len(tasks)])
    if contents.policies:
        header["policies"] = policies.as_json(contents.policies)
        arrays |= policies.as_arrays(contents.policies)
    return write_arrays({**header, **facts}, arrays, write)


def unpack_model(data: Any) -> Contents:
    """The model in the bytes of a file; FileError, with the reason, if it cannot be read."""
    with checked(data):
        return _unpacked(*parse(data))


def _unpacked(header: dict[str, Any], arrays: dict[str, Array]) -> Contents:
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
    schema = _component("schema", _read_schema, header.get("schema"))
    vocabulary.fields = _component("fields", lambda found: _read_fields(found, features), header.get("fields", []))
    width = _component("width", lambda found: _read_width(found, features), header.get("width"))
    tally = arrays.pop("tally", None)
    if tally is None or tally.shape != (tasks, len(COLUMNS)) or tally.dtype != np.float64:
        raise FileError("the file's tally does not fit its tasks")
    _component("tally", lambda found: _check_tally(found, learner.target == "binary"), tally)
    recent = arrays.pop("recent", None)
    if recent is None or recent.shape != (tasks, len(RECENT_COLUMNS)) or recent.dtype != np.float64:
        raise FileError("the file's sums over recent events do not fit its tasks")
    _component("sums over recent events", lambda found: _check_recent(found, tally, learner.target == "binary"), recent)
    _component("size", lambda _: learner.hooks.refuse(tasks, features), None)
    found = _component("policies", lambda listed: policies.from_file(listed, arrays), header.get("policies"))
    for one in found:
        _component("tally", lambda rows: _check_tally(rows, learner.target == "binary"), one.tally[None])
    live = {name.removeprefix("state."): array for name, array in arrays.items()}
    state = _component(
        "state",
        lambda found: saving.restore(learner.init(list(vocabulary.tasks)), learner.plan, found, tasks, features),
        live,
    )
    classes = _component("classes", lambda found: _read_classes(found, learner, tally), header.get("classes"))
    return Contents(learner, vocabulary, state, tally.copy(), classes, schema, recent.copy(), width, found)


def _read_schema(found: Any) -> Schema | None:
    return None if found is None else Schema.from_json(found)


def _read_width(found: Any, features: int) -> int | None:
    """The width of dense tables, whose columns are all features."""
    if found is not None and not (type(found) is int and 0 < found <= features):
        raise ValueError(f"it is not an integer from 1 to {features}, the number of features")
    return found


def _read_fields(found: Any, features: int) -> Ints:
    """The slots of the fields that are known: ascending, each of them that of a feature."""
    is_list = isinstance(found, list) and len(found) <= MOST_FIELDS
    if not is_list or not all(type(slot) is int and 0 <= slot < features for slot in found):
        raise ValueError(f"they are not at most {MOST_FIELDS} slots of features")
    if any(a >= b for a, b in pairwise(found)):
        raise ValueError("their slots are not in ascending order")
    return np.array(found, np.int64)


def _read_classes(found: Any, learner: Learner, tally: Floats) -> Classes:
    """The classes in a header; without any, a classifier that has learned has the classes -1 and +1."""
    if found is None:
        return PLAIN if learner.target == "binary" and tally[:, EVENTS].any() else UNKNOWN
    if learner.target != "binary" or not isinstance(found, list) or len(found) != 2 or found[0] == found[1]:
        raise ValueError("they are not two different labels of a classifier")
    return Classes(*(None if label is None else expect_label(label) for label in found))


def _check_tally(tally: Floats, binary: bool) -> None:
    """Raise ValueError unless it is a table that counting could have made."""
    counts, sums = tally[:, _COUNTS], tally[:, _SUMS]
    saving.refuse_counters("tally", counts)
    if not np.all(sums >= 0.0):
        raise ValueError("it has sums of losses that are not numbers from 0 on")
    events, mistakes, right, *wrong = counts.T
    if np.any(mistakes != wrong[0] + wrong[1]) or np.any(right + mistakes > events):
        raise ValueError("it has other mistakes than it has wrong predictions, or more predictions than events")
    if np.any(sums[:, 1:] if binary else counts[:, 1:]):
        raise ValueError("it has figures of another kind of labels")


def _check_recent(recent: Floats, tally: Floats, binary: bool) -> None:
    """Raise ValueError unless they are sums that counting could have made beside the tally.

    A decayed sum is at most the whole one, to the last bit: its terms are not larger, and rounding keeps the order.
    """
    if not np.all(recent >= 0.0):
        raise ValueError("they are not numbers from 0 on")
    if np.any(recent > tally[:, [MISTAKES if binary else ABSOLUTE, LOSS]]):
        raise ValueError("they are larger than the sums over all events")


def _component(what: str, read: Callable[[Any], Any], data: Any) -> Any:
    try:
        return read(data)
    except (ValueError, TypeError, KeyError, ArithmeticError, MemoryError, RecursionError) as error:
        raise FileError(f"the file's {what} cannot be used: {error}") from None
