"""A service without its network, for tests: an open folder whose writer is called directly."""

import threading

from weft.learners.catalogue import build, parameters_as_json
from weft.serve.folder import Config, Folder
from weft.serve.limits import Limits
from weft.serve.requests import ToLearn
from weft.serve.service import Service
from weft.serve.writer import Job

LEARNER = "mt-ogd"
"""Compiles in a moment, shares between tasks, and is exact."""


def configured(**settings):
    return Config(learner=LEARNER, parameters=parameters_as_json(build(LEARNER, {})), **settings)


def opened(path, every=10**9, fail=None, **settings):
    """A service on a folder, new or not."""
    folder = Folder(path).locked()
    if not folder.is_there:
        folder.make(configured(**settings))

    def raised(error):
        raise error

    return Service.opened(
        folder, folder.config(), limits=Limits(), every=every, fail=fail or raised, tell=lambda *_, **__: None
    )


def ask(service, *requests):
    """Outcomes of requests, which form one job."""
    found, ready = [], threading.Event()

    def done(outcomes):
        found.extend(outcomes)
        ready.set()

    service.writer.put(Job(list(requests), done), 10**6)
    assert ready.wait(30.0), "the writer does not answer"
    return found


def close(service):
    service.writer.stop()
    service.folder.unlock()


def event(i):
    """The i-th event of a small stream: task, row, label."""
    return f"t{i % 4}", {"a": i % 3 - 1.0, f"f{i % 5}": 0.5}, float(1 - 2 * (i * 7 % 5 > 2))


def to_learn(i):
    task, x, y = event(i)
    return ToLearn(task, x, y, 1.0, f"e{i}")
