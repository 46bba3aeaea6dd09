"""Every learner is learned in shards, or says why it cannot be; tasks that are independent are learned bit for bit."""

import pytest

from contracts.streams import make_events
from weft import cluster
from weft.exchange import Merge


def test_in_shards_or_a_reason(setting, tmp_path, monkeypatch):
    monkeypatch.setattr("weft.cluster.folder.write_atomic", lambda path, data: path.write_bytes(data))  # in less time
    stream = make_events(setting.target, "single", "named", 17).stream()
    traits, model = setting.traits, setting.model()
    if traits.no_shards:
        assert traits.exchange is None
        with pytest.raises(ValueError, match="cannot be learned in shards: "):
            cluster.learn(stream, model, shards=2)
        return
    found = cluster.learn(stream, model, shards=3, exchange=40).model()
    assert found.tally.total["events"] == len(stream)
    if traits.independent:
        model.learn(stream)
        assert found.to_bytes() == model.to_bytes()


def test_what_is_exchanged_is_in_the_state(setting):
    exchange = setting.traits.exchange
    for item in () if exchange is None else exchange.arrays:
        axes = setting.learner.plan.axes[item.name]
        assert "task" not in axes
        assert "pair" not in axes
        steps = [at for at, how in enumerate(item.columns) if how is Merge.STEP]
        assert item.all_squares is not None or sorted(item.squares) == steps
        for at in item.squares.values():
            assert item.columns[at] is Merge.SUM
