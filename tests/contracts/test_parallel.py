"""Scoring in several threads: the same bits as in one, for every learner, however rows are stored and shared."""

import numpy as np

from contracts.streams import VARIETIES, make_events
from weft import parallel


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
