"""Predicting changes nothing; inputs are neither changed nor kept; what is handed out is a copy."""

import numpy as np
import pytest
from scipy import sparse

import weft
from contracts.settings import FEATURES
from contracts.streams import FORMS, make_events
from weft.learner import trace_columns


def learned(setting, form="named", seed=31, **more):
    events = make_events(setting.target, "rounds", form, seed)
    model = setting.model(**more)
    model.learn(events.stream())
    return model, events


def _as_learned(model, rows, tasks):
    """What learning would issue for each of these rows."""
    data = model.to_bytes()
    return np.array([weft.Model.from_bytes(data).learn_one(x, 1.0, task) for x, task in zip(rows, tasks, strict=True)])


@pytest.mark.parametrize("form", FORMS)
def test_predicting_is_pure(setting, form, soon_hashed):
    model, events = learned(setting, form)
    before = model.to_bytes()
    known, unknown = events.table(), make_events(setting.target, "single", form, seed=32, rounds=60).table()
    first = model.score(known, list(events.tasks))
    model.predict(known, list(events.tasks))
    model.score(unknown, "nobody")
    model.score(unknown, events.tasks[0] if not isinstance(events.tasks[0], tuple) else "ann")
    for i in range(6):
        x = events.piece(i, i + 1).table()
        for task in (events.tasks[i], "nobody"):
            model.predict_one(x[:1] if form == "sparse" else x[0], task)
    if form == "named":
        model.predict_one({"f0": 1.0, "never": 2.0}, "nobody")
    assert model.to_bytes() == before
    assert np.array_equal(model.score(known, list(events.tasks)), first)


def test_predict_one_is_score(setting, soon_hashed):
    model, events = learned(setting)
    scores = model.score(events.table(), list(events.tasks))
    singly = [model.predict_one(x, task) for x, task in zip(events.table(), events.tasks, strict=True)]
    assert singly == scores.tolist()
    labels = model.predict(events.table(), list(events.tasks))
    expected = np.where(scores >= 0, 1, -1) if setting.target == "binary" else scores
    assert np.array_equal(labels, expected)


def test_unknown_features_are_dropped(setting, layout):
    model, events = learned(setting)
    rows = [{**row, "never": 3.0, 12345: -1.0} for row in events.table()]
    tasks = list(events.tasks)
    expected = _as_learned(model, rows, tasks) if setting.reads_unknown else model.score(events.table(), tasks)
    assert np.array_equal(model.score(rows, tasks), expected)
    assert model.predict_one(rows[3], tasks[3]) == expected[3]


def test_columns_beyond_the_known_ones_are_dropped(setting, soon_hashed):
    model, events = learned(setting, "dense")
    X, tasks = events.table(), list(events.tasks)
    wide = sparse.csr_array(np.hstack([X, np.full((len(X), 3), 7.0)]))
    rows = [wide[[i]] for i in range(len(X))]
    expected = _as_learned(model, rows, tasks) if setting.reads_unknown else model.score(X, tasks)
    assert np.array_equal(model.score(wide, tasks), expected)
    narrow = model.score(sparse.csr_array(X[:, :2]), tasks)
    assert np.array_equal(narrow, model.score(np.hstack([X[:, :2], 0 * X[:, 2:]]), tasks))
    for other in (wide.toarray(), X[:, :2]):  # columns of a dense table have their meaning from their number
        with pytest.raises(ValueError, match=r"the table has \d+ columns, but the model has learned tables with"):
            model.score(other, tasks)
        y = None if setting.target == "point" else events.labels
        before = model.to_bytes()
        with pytest.raises(ValueError, match=r"the table has \d+ columns, but the model has learned tables with"):
            model.learn(weft.Stream(other, y, tasks, events.rounds))
        assert model.to_bytes() == before


def test_an_unknown_task_reads_what_a_fresh_one_would(setting, layout):
    events = make_events(setting.target, "rounds", "named", seed=33)
    names = list(dict.fromkeys(events.tasks))
    model, rows = setting.declared(), events.table()
    model.learn(events.stream())
    if setting.counts_tasks:  # one task more changes the rule: the start of a newcomer is all that can be asked for
        fresh = model.score(rows, "somebody")
        assert np.all(np.isfinite(fresh))
        assert not setting.named or np.all(fresh == 0.0)
        # Where a newcomer moves nobody, it is scored as it will start.
        if not setting.named and not setting.traits.projects:
            for x, score in list(zip(rows, fresh, strict=True))[:6]:
                twin = weft.Model.from_bytes(model.to_bytes())
                assert twin.learn_one(x, events.labels[0] or 1.0, "somebody") == pytest.approx(score, abs=1e-12)
    else:
        declared = setting.model(tasks=[*names, "fresh"])
        declared.learn(events.stream())
        fresh = declared.score(rows, "fresh")
    assert np.array_equal(model.score(rows, "never seen"), fresh)
    assert [model.predict_one(x, "never seen") for x in rows] == fresh.tolist()


def test_scoring_before_the_first_event(setting, soon_hashed):
    model = setting.model()
    before = model.to_bytes()
    scores = model.score([[1.0, 2.0], [0.0, 3.0]], ["ann", "bob"])
    if setting.on_simplex:  # there every feature has the same weight
        assert scores == pytest.approx([3.0 / FEATURES, 3.0 / FEATURES], rel=1e-12)
    else:
        assert scores.tolist() == [0.0, 0.0]
    assert model.predict_one({"a": 1.0}, "ann") == 0.0
    assert model.to_bytes() == before


# --- inputs -------------------------------------------------------------------------------------------------


def copies(*arrays):
    return [array.copy() for array in arrays]


@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "coo", "unsorted"])
def test_inputs_are_not_changed_and_not_kept(setting, kind):
    events = make_events(setting.target, "rounds", "dense", seed=34)
    X, rounds = events.table(), np.array(events.rounds)
    task = np.array([list(dict.fromkeys(events.tasks)).index(name) for name in events.tasks])
    y = np.array(events.labels)
    if setting.named:  # integers that the graph names, one row per round
        task, rounds = np.array([7, -3, 0])[task % 3], np.arange(len(task))
    if kind == "dense":
        table, parts = X, [X]
    elif kind == "coo":
        table = sparse.coo_array(X)
        parts = [table.data, *table.coords]
    else:
        table = sparse.csc_array(X) if kind == "csc" else sparse.csr_array(X)
        if kind == "unsorted":
            bounds = zip(table.indptr[:-1], table.indptr[1:], strict=True)
            order = np.concatenate([np.arange(a, b)[::-1] for a, b in bounds])
            table = sparse.csr_array((table.data[order], table.indices[order], table.indptr), shape=table.shape)
            table.data[0] = 0.0  # an explicit zero
        parts = [table.data, table.indices, table.indptr]
    parts += [y, rounds, task]
    before = copies(*parts)
    model = setting.model()
    stream = weft.Stream(table, y, task, rounds)
    expected = setting.model().learn(stream)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(parts, before, strict=True))
    if kind not in ("dense", "coo"):
        assert table.data is parts[0]
        assert table.indices is parts[1]
    for part in parts:  # a caller may reuse its arrays at once
        part[...] = 1
    assert np.array_equal(model.learn(stream), expected)
    twin = model.to_bytes()
    for part in parts:
        part[...] = 0
    assert model.to_bytes() == twin


def test_dicts_are_not_changed_and_not_kept(setting):
    model, twin = setting.model(), setting.model()
    y = None if setting.target == "point" else 1.0
    x = {"b": 2.0, "a": 0.0, "c": -1.0}
    for one in (model, twin):
        one.learn_one(x, y, "ann")
        one.learn_one(x, y, "ann")
    assert x == {"b": 2.0, "a": 0.0, "c": -1.0}
    assert list(x) == ["b", "a", "c"]
    x["b"] = 99.0
    x["d"] = 1.0
    assert model.to_bytes() == twin.to_bytes()


def test_a_stream_can_be_learned_again(setting, soon_hashed):
    """No learner writes into the stream that it learns."""
    stream = make_events(setting.target, "rounds", "named", seed=35).stream()
    first, second = setting.model(), setting.model()
    assert np.array_equal(first.learn(stream), second.learn(stream))
    assert first.to_bytes() == second.to_bytes()


def test_read_only_inputs(setting):
    events = make_events(setting.target, "rounds", "dense", seed=36)
    X, y, rounds = events.table(), np.array(events.labels), np.array(events.rounds)
    for array in (X, y, rounds):
        array.flags.writeable = False
    found = setting.model().learn(weft.Stream(X, y, list(events.tasks), rounds))
    assert np.array_equal(found, setting.model().learn(events.stream()))


# --- outputs ------------------------------------------------------------------------------------------------


def test_what_is_handed_out_is_a_copy(setting, soon_hashed):
    model, events = learned(setting)
    before = model.to_bytes()
    tally = model.tally
    handed = [
        tally.counts,
        tally.events,
        tally.mistakes,
        tally.losses,
        tally.errors,
        tally.f1,
        tally.live,
    ]
    if setting.relates:
        handed.append(model.relations())
    if "outliers" in model.views:
        handed.append(model.outliers())
    handed.append(model.score(events.table(), "ann"))
    if not setting.keeps_rows:
        handed.append(model.weights())
    for array in handed:
        array[...] = 77
    names = model.tasks + model.features + tally.tasks
    names.clear()
    model.tasks.clear()
    model.features.append("x")
    if setting.keeps_rows:
        for row in model.support():
            row.row.clear()
    for row in tally.rows():
        row["events"] = 99
    assert model.to_bytes() == before


def test_scores_are_not_overwritten_later(setting):
    model, events = learned(setting)
    scores = model.learn(events.stream())
    kept = scores.copy()
    model.learn(events.stream())
    scores_of = model.score(events.table(), "ann")
    again = scores_of.copy()
    model.score(events.table(), "bob")
    assert np.array_equal(scores, kept)
    assert np.array_equal(scores_of, again)


def test_a_trace_is_filled_and_changes_nothing(setting):
    events = make_events(setting.target, "rounds", "named", seed=72)
    plain, traced = setting.model(), setting.model()
    columns = trace_columns(plain.learner)
    trace = np.full((len(events.rows), len(columns)), np.nan)
    assert np.array_equal(plain.learn(events.stream()), traced.learn(events.stream(), trace=trace))
    assert plain.to_bytes() == traced.to_bytes()
    active = trace[:, columns.index("kept") if "kept" in columns else 3] > 0
    assert active.sum() <= traced.tally.counts.sum()
    assert active.sum() > 50
    assert np.all(trace >= 0)
    assert trace[:, 0].sum() > 0
