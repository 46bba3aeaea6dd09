"""Steps of the machine's clock: remembered predictions expire by a time that never goes back, ids by none at all."""

from functools import partial

import pytest

from serve.engines import ask, close, opened, to_learn
from weft.serve import writer
from weft.serve.requests import ToFeedBack, ToRemember

DAY = 86400.0
NOW = 1.8e9


class Watch:
    """The clocks of a machine, which the tests turn."""

    def __init__(self):
        self.wall, self.monotonic = NOW, 100.0

    def pass_by(self, seconds):
        """Time goes by."""
        self.wall += seconds
        self.monotonic += seconds


@pytest.fixture
def watch(monkeypatch):
    found = Watch()
    clock = partial(writer.Clock, wall=lambda: found.wall, monotonic=lambda: found.monotonic)
    monkeypatch.setattr(writer, "Clock", clock)
    return found


def remembered(path):
    service = opened(path, remember_for=30 * DAY)
    ask(service, to_learn(0), ToRemember("p", "t0", {"a": 1.0}))
    return service


@pytest.mark.parametrize("jump", [-1e9, -40 * DAY, 40 * DAY, 1e9])
def test_a_step_while_the_service_runs_is_not_seen(tmp_path, watch, jump):
    service = remembered(tmp_path / "s")
    watch.wall += jump
    service.writer._rest()
    assert ask(service, to_learn(0))[0].duplicate
    assert ask(service, ToFeedBack("p", 1.0))[0].seq == 3
    close(service)


@pytest.mark.parametrize("jump", [-1e9, -40 * DAY, 29 * DAY])
def test_a_step_back_between_two_starts_expires_nothing(tmp_path, watch, jump):
    close(remembered(tmp_path / "s"))
    watch.wall += jump
    service = opened(tmp_path / "s")
    assert service.writer._clock.now() >= NOW
    service.writer._rest()
    assert ask(service, to_learn(0))[0].duplicate
    assert ask(service, ToFeedBack("p", 1.0))[0].seq == 3
    close(service)


def test_a_step_forward_between_two_starts_expires_predictions_and_no_id(tmp_path, watch):
    close(remembered(tmp_path / "s"))
    watch.wall += 400 * DAY
    service = opened(tmp_path / "s")
    assert ask(service, to_learn(0))[0].duplicate
    assert ask(service, ToFeedBack("p", 1.0))[0].code in ("expired", "unknown_id")
    ask(service, ToRemember("q", "t0", {"a": 1.0}))
    close(service)
    watch.wall -= 400 * DAY  # the clock is set right: time goes on from where the log has come to
    service = opened(tmp_path / "s")
    watch.pass_by(29 * DAY)
    service.writer._rest()
    assert ask(service, to_learn(0))[0].duplicate
    assert not ask(service, ToFeedBack("q", 1.0))[0].duplicate
    watch.pass_by(31 * DAY)
    service.writer._rest()
    assert service.figures.expired == 1
    close(service)
