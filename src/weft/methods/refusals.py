"""What a model refuses before anything is changed, and how it says so."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.encoding.given import read_weights
from weft.encoding.sources import is_source
from weft.graphs.reading import Graph
from weft.labels import UNKNOWN, Classes, expect_label
from weft.learner import Learner
from weft.maths.losses import LOGISTIC
from weft.names import Name, Names, declared
from weft.schema import Schema
from weft.storage.rows import REMEDY
from weft.stream import Stream


@runtime_checkable
class _HasGraph(Protocol):
    """A learner whose tasks are the vertices of a graph."""

    graph: Graph


def with_tasks(learner: Learner, tasks: Any) -> tuple[Learner, list[Name]]:
    """The learner with all declared tasks in its graph, and the tasks that are known from the start.

    Tasks that a graph does not name are isolated vertices of it.
    """
    names, closed = declared(tasks, "tasks"), learner.traits.task_names
    if not closed or not names or set(names) == set(closed):
        return learner, names or list(closed)
    if missing := [name for name in closed if name not in set(names)]:
        raise ValueError(f"the graph names the task {missing[0]!r}, which tasks does not; add it, or leave tasks out")
    if not isinstance(learner, _HasGraph):
        refuse_new_tasks(learner, [name for name in names if name not in closed])
        return learner, list(closed)
    return cast(Learner, replace(cast(Any, learner), graph=learner.graph.with_tasks(names))), names


def refuse_new_tasks(learner: Learner, tasks: Any) -> None:
    """New tasks of a stream, which a graph that names its tasks does not know."""
    names = learner.traits.task_names
    if names and tasks:
        shown = ", ".join(map(repr, names[:8])) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
        raise ValueError(f"the graph of {learner.name} does not name the task {tasks[0]!r}; its tasks are {shown}")


def expect_room(learner: Learner, tasks: int, features: int) -> None:
    """Refuse numbers of tasks and features that the learner is not made for."""
    least = learner.traits.least_features
    if features < least:
        raise ValueError(
            f"{learner.name} spreads weight over features and needs at least {least}, not {features}; "
            "declare them up front with features="
        )
    learner.hooks.refuse(tasks, features)


def expect_stream(stream: Any) -> None:
    """Refuse what is not a stream."""
    if not isinstance(stream, Stream):
        remedy = "write weft.Stream(X, y, task)"
        if is_source(stream):
            remedy = "give the model a schema, as in weft.Model(schema=weft.Schema(task=..., label=...)), or " + remedy
        raise ValueError(f"learn takes a weft.Stream, not {type(stream).__name__}; {remedy}")


def expect_classes(learner: Learner, classes: Any) -> Classes:
    """The two classes that a user declares."""
    if learner.target != "binary":
        raise ValueError(f"{learner.name} with these parameters does not classify; leave classes out")
    found = [expect_label(label) for label in classes] if not isinstance(classes, str) else []
    if len(found) != 2 or found[0] == found[1]:
        raise ValueError(f"classes={classes!r} must be two different labels, negative first; more need weft.Multiclass")
    return Classes(*found)


def first_classes(learner: Learner, classes: Any, schema: Schema | None) -> Classes:
    """The classes of a new model: declared, or as far as its schema says them."""
    if schema is not None and not isinstance(schema, Schema):
        raise ValueError(f"schema is a {type(schema).__name__}; give a weft.Schema")
    if classes is not None:
        return expect_classes(learner, classes)
    if schema is None or schema.positive is None or learner.target != "binary":
        return UNKNOWN
    return Classes(positive=expect_label(schema.positive))


def refuse_other_schema(schema: Schema | None, stream: Stream) -> None:
    """A stream that was made by another schema than that of the model."""
    if schema is not None and stream.schema is not None and schema != stream.schema:
        raise ValueError(
            f"the stream was made by another schema than that of the model: {stream.schema.difference(schema)}; "
            "use model.schema"
        )


def about_strange_rows(is_strange: Array) -> str | None:
    """A sentence about the rows without any feature that a model knows; None if there are none."""
    rows = np.flatnonzero(is_strange)
    if not len(rows):
        return None
    which = f"row {rows[0]}" if len(rows) == 1 else f"{len(rows)} rows, the first is row {rows[0]},"
    return f"{which} without any feature that the model knows; are these the same fields?"


def refuse_positions(features: Names, learned: int | None, stream: Stream) -> None:
    """Columns without names for a model that has learned names, and a dense table of another width than before.

    `learned` is the width of the dense tables that were learned; None if it is not known, as in a model from a file.
    """
    width = stream.columns
    if not width:
        return
    if features.has_text:
        raise ValueError(
            f"the rows have {width} columns without names, but the model has learned features with names, such as "
            f"{features[features.columns]!r}; give dicts or a data frame with these names"
        )
    if stream.is_dense and learned is not None and width != learned:
        raise ValueError(
            f"the table has {width} columns, but the model has learned tables with {learned}; "
            "give the same columns, or names for them"
        )


def refuse_weights(learner: Learner, stream: Stream) -> None:
    """Weights other than 1, for a learner whose rule does not say what they mean."""
    weight = stream._weight
    if weight is not None and not learner.traits.takes_weights and np.any(weight != 1.0):
        at = int(np.argmax(weight != 1.0))
        raise ValueError(
            f"row {at}: weight {weight[at]:g}; {learner.name} takes no weights of events, leave them out or choose a "
            "learner with a gradient step such as auto or mt-ogd"
        )


def expect_weight(learner: Learner, weight: Any) -> float:
    """The weight of a single event as a float, if the learner takes it."""
    found = read_weights([weight], 1)
    if found[0] != 1.0 and not learner.traits.takes_weights:
        raise ValueError(
            f"weight {found[0]:g}; {learner.name} takes no weights of events, leave them out or choose a "
            "learner with a gradient step such as auto or mt-ogd"
        )
    return float(found[0])


def expect_trace(trace: Any, rows: int, columns: int) -> Floats:
    """The array to fill, one without rows if there is none; refuse what compiled code could not take."""
    shape = (rows, columns)
    if trace is None:
        return np.zeros((0, columns))
    if not isinstance(trace, np.ndarray) or trace.dtype != np.float64 or trace.shape != shape:
        raise ValueError(
            f"trace is {type(trace).__name__} {np.shape(trace)}, expected a float64 array of shape {shape}"
        )
    if not (trace.flags.c_contiguous and trace.flags.writeable):
        raise ValueError("trace must be C-contiguous and writable; make it with np.zeros")
    return trace


def has_log_odds(learner: Learner) -> bool:
    """Are the scores log-odds, from which probabilities follow?"""
    return learner.target == "binary" and learner.tally_loss[0] == LOGISTIC


def expect_log_odds(learner: Learner) -> None:
    """Refuse probabilities from scores that are something else."""
    if not has_log_odds(learner):
        raise ValueError(
            f"{learner.name} with these parameters has scores that are not log-odds; probabilities need a "
            'learner with loss="logistic", such as auto'
        )


def not_finite(x: Mapping[Any, Any], position: int) -> str:
    """About the value of a single event at that position."""
    name, value = list(x.items())[position]
    return f"feature {name!r} is {value!r}; {REMEDY}"
