"""Scoring and learning in several threads: the same bits as in one, however rows are stored and shared."""

import numpy as np

from contracts.settings import SETTINGS
from contracts.streams import VARIETIES, make_events
from weft.storage import shards
from weft.threads import parallel


def test_the_number_of_threads_changes_no_score(setting, layout, monkeypatch):
    made = []
    monkeypatch.setattr(parallel, "_part", lambda *given, cut=parallel._part: made.append(given[1:]) or cut(*given))
    for kind, form in VARIETIES:
        model, stream = setting.model(), make_events(setting.target, kind, form, seed=91).stream()
        model.learn(stream)
        before, expected = model.to_bytes(), model.score(stream)
        with monkeypatch.context() as patch:
            patch.setattr(parallel, "LEAST_NONZEROS", 8)
            for threads in (1, 2, 3):
                made.clear()
                patch.setenv(parallel.VARIABLE, str(threads))
                assert np.array_equal(model.score(stream), expected)
                assert (len(made) > 1) == (threads > 1 and setting.learner.kernels.compiled)
        assert model.to_bytes() == before


def learn_three_times(setting, kind, form):
    """All that can be seen of a model that learns streams, single events between them, and one stream again."""
    events, seen = make_events(setting.target, kind, form, seed=92), []
    model = setting.model()
    for stream in (events.piece(0, 18).stream(), events.piece(18, 36).stream(), events.stream()):
        trace = np.zeros((len(stream), len(setting.traits.trace)))
        seen += [model.learn(stream, trace=trace).tobytes(), trace.tobytes(), model.to_bytes()]
        x, y, task = events.rows[-1], events.labels[-1], events.tasks[-1]
        named = {f"f{f}": value for f, value in x.items()} | {f"new{len(seen)}": 1.0}
        if form == "named" and y == y:
            seen += [model.learn_one(named, y, task)]
    return [*seen, repr(model.tally.rows()), model.to_bytes()]  # there may be NaN in rows


def test_the_number_of_threads_changes_nothing_that_is_learned(setting, layout, monkeypatch):
    """Pieces of rows and keys are as small as can be, so that every shard asks for more, and the state grows."""
    made = []
    cut = shards.by_task
    monkeypatch.setattr(parallel, "by_task", lambda *given: made.append(cut(*given)) or made[-1])
    monkeypatch.setattr(shards, "LEAST_ROWS", 1)
    monkeypatch.setattr(shards, "LEAST_KEYS", 8)
    monkeypatch.setattr(parallel, "WINDOW", 5)
    monkeypatch.setattr(parallel, "FEW", 2)
    for kind, form in VARIETIES:
        expected = learn_three_times(setting, kind, form)
        with monkeypatch.context() as patch:
            patch.setattr(parallel, "LEAST_NONZEROS", 8)
            for threads in (1, 2, 3):
                made.clear()
                patch.setenv(parallel.VARIABLE, str(threads))
                assert learn_three_times(setting, kind, form) == expected
                in_threads = threads > 1 and setting.traits.independent
                assert max(map(len, made), default=0) == (threads if in_threads else 0)


def test_who_learns_in_threads():
    """One model per task with nothing in common; pooled learners and those that share a loss or a part do not."""
    names = {setting.name for setting in SETTINGS if setting.traits.independent}
    assert names >= {"pa", "perceptron", "arow"}
    assert not any(
        setting.traits.pooled or setting.traits.counts_tasks for setting in SETTINGS if setting.traits.independent
    )
