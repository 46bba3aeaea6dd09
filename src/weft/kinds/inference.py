"""What the fields of some records seem to be: who is the task, what is the label, which strings are text.

Nothing here is certain. What is guessed is told to the user, who can say it better.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from weft.kinds.cells import NUMBER, is_number_elsewhere
from weft.kinds.dates import DATE_TYPES, is_date
from weft.kinds.frames import as_frame, as_records, frame_records
from weft.kinds.missing import is_missing
from weft.kinds.words import words

SAMPLE = 1000
"""Records that are looked at."""
TASKS = ("task", "user", "user_id", "userid", "username", "customer", "customer_id", "account", "account_id", "client",
         "client_id", "tenant", "device", "device_id", "sensor", "sensor_id", "machine", "machine_id")  # fmt: skip
LABELS = ("label", "y", "target", "class", "outcome", "is_spam", "spam", "clicked", "churned")
TEXTS = ("text", "body", "message", "comment", "review", "content", "description", "subject", "title", "abstract")
TIMES = ("time", "timestamp", "ts", "date", "datetime", "created", "created_at", "updated_at", "when")
IDS = ("id", "_id", "uuid", "guid", "event_id", "message_id", "row_id", "record_id")
_LEAST_TIME = 1e8
"""Seconds since 1970, in 1973."""
_LEAST_FOR_ID = 20
"""Records from which on a column of different strings looks like an id."""


class Found(NamedTuple):
    """What was found: the keywords of a schema, the kind of every feature, some labels, what the user should know."""

    roles: dict[str, Any]
    kinds: dict[str, str]
    labels: list[Any]
    remarks: list[str]


def infer(source: Any, told: Mapping[str, Any]) -> Found:
    """Guess what is not told; `told` are keywords of a schema."""
    return infer_records(_sampled(source), told)


def _sampled(source: Any) -> list[Mapping[str, Any]]:
    frame = as_frame(source)
    if frame is not None:
        return list(frame_records(frame.head(SAMPLE)))
    records = as_records(source if isinstance(source, list | tuple | Mapping) else list(islice(source, SAMPLE)))
    return (records or [])[:SAMPLE]


def infer_records(records: list[Mapping[str, Any]], told: Mapping[str, Any]) -> Found:
    """The same for some records."""
    if not records:
        raise ValueError("there are no records to infer a schema from; give some")
    columns = _columns(records)
    roles = dict(told)
    taken = {
        *_listed(told.get("task")),
        *(told[role] for role in ("label", "id", "time", "weight", "round") if told.get(role)),
    }
    for role in ("text", "category", "numeric", "ignore"):
        taken.update(_listed(told.get(role)))
    for role, usual in (("task", TASKS), ("label", LABELS)):
        if roles.get(role) is None and (name := _only(usual, columns, taken)) is not None:
            roles[role] = name
            taken.add(name)
    label = roles.get("label")
    labels = _distinct(columns.get(label, [])) if label else []
    remarks: list[str] = []
    kinds: dict[str, str] = {}
    used = told.get("features")
    for name, values in columns.items():
        if name in taken:
            told_kind = [role for role in ("text", "category", "numeric") if name in _listed(told.get(role))]
            if told_kind:
                kinds[name] = told_kind[0]
        elif used is None:
            _give_role(name, values, roles, kinds, remarks)
        elif name in used and (kind := _kind(name, values)):
            kinds[name] = kind if kind in ("text", "numeric") else "category"
            if kind == "text":
                roles["text"] = [*_listed(roles.get("text")), name]
    return Found(roles, kinds, labels, remarks)


def _give_role(name: str, values: list[Any], roles: dict[str, Any], kinds: dict[str, str], remarks: list[str]) -> None:
    """Decide about one field."""
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if texts and all(map(is_number_elsewhere, texts)):
        kinds[name] = "category"
        remarks.append(
            f"{name} holds numbers such as {texts[0].strip()}, which are read as names of a category; in CSV "
            "--decimal , reads a comma as the decimal point, and marks between thousands have to go"
        )
        return
    if texts and all(NUMBER.fullmatch(text.strip()) for text in texts):
        remarks.append(
            f"{name} holds numbers in quotes such as {texts[0].strip()}, which are read as names of a category; write "
            "numbers without quotes"
        )
    kind = _kind(name, values)
    if kind == "date":
        if roles.get("time") is None and name.lower() in TIMES:
            roles["time"] = name
        else:
            roles["ignore"] = [*_listed(roles.get("ignore")), name]
            remarks.append(f"{name} looks like a date and is not used; extract numbers from it if it matters")
    elif kind == "id":
        if roles.get("id") is None and name.lower() in IDS:
            roles["id"] = name
        else:
            roles["ignore"] = [*_listed(roles.get("ignore")), name]
            remarks.append(f"{name} looks like an id and is not used; list it as a category if it is one")
    elif kind:
        kinds[name] = kind
        if kind == "text":
            roles["text"] = [*_listed(roles.get("text")), name]


def _kind(name: str, values: list[Any]) -> str:
    """The kind of a field by its values that are there: numeric, category, text, date, id; empty if there are none."""
    there = [value for value in values if not is_missing(value)]
    if not there:
        return ""
    texts = [value for value in there if isinstance(value, str)]
    if any(isinstance(value, DATE_TYPES) for value in there) or (texts and all(map(is_date, texts))):
        return "date"
    is_all_different = len(set(map(repr, there))) == len(there)
    if name.lower() in TIMES and all(_may_be_seconds(value) for value in there):
        return "date"
    if name.lower() in IDS and is_all_different and all(map(_may_be_id, there)):
        return "id"
    if not texts:
        is_list = any(isinstance(value, list) and any(isinstance(part, str) for part in value) for value in there)
        return "category" if is_list else "numeric"
    is_id = is_all_different and len(there) == len(texts) >= _LEAST_FOR_ID
    if is_id and not any(" " in text.strip() for text in texts):  # such as 3f2a-77b1: several words, but one name
        return "id"
    mean = sum(len(words(text)) for text in texts) / len(texts)
    distinct = len(set(texts)) / len(texts)
    if mean >= 3.0 or (mean >= 2.0 and distinct > 0.5) or (name.lower() in TEXTS and mean > 1.0):
        return "text"
    if is_id and mean <= 5.0:
        return "id"
    return "category"


def _may_be_seconds(value: Any) -> bool:
    """A number of seconds, or of parts of a second, since 1970."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= _LEAST_TIME


def _may_be_id(value: Any) -> bool:
    """A string or an integer, which a table may hold as a float."""
    return isinstance(value, str | int) or (isinstance(value, float) and value.is_integer())


def _columns(records: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of every field, those of nested objects under their dotted names."""
    columns: dict[str, list[Any]] = {}
    for record in records:
        _collect("", record, columns)
    return columns


def _collect(prefix: str, record: Mapping[str, Any], columns: dict[str, list[Any]]) -> None:
    for name, value in record.items():
        if isinstance(value, Mapping) and prefix.count(".") < 16:
            _collect(f"{prefix}{name}.", value, columns)
        else:
            columns.setdefault(f"{prefix}{name}", []).append(value)


def _only(usual: tuple[str, ...], columns: Mapping[str, Any], taken: set[str]) -> str | None:
    """The only field with a usual name; `task` and `label` themselves go before all others."""
    found = [name for name in columns if name.lower() in usual and name not in taken]
    first = [name for name in found if name.lower() == usual[0]]
    return first[0] if len(first) == 1 else found[0] if len(found) == 1 else None


def _distinct(values: list[Any]) -> list[Any]:
    """The first few different values that are there, sorted if they can be."""
    found = list(
        dict.fromkeys(value for value in values if not is_missing(value) and not isinstance(value, list | dict))
    )
    try:
        return sorted(found)[:3]
    except TypeError:
        return found[:3]


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)
