"""Forgetting for good: forgotten tasks leave the log, the checkpoints, the base and the remembered predictions."""

import os
import signal
import sqlite3
import time
from pathlib import Path

import msgspec
import pytest

import weft
from command_line import weft_command
from serve import engines
from serve.engines import ask, close, event, opened, to_learn
from weft.serve import compacting, migrations
from weft.serve.folder import Folder
from weft.serve.log import NAME, Log
from weft.serve.recovery import rebuilt
from weft.serve.requests import ToFeedBack, ToForget, ToLearn, ToRemember
from weft.store.digests import FileError

__all__ = ["weft_command"]
SECRET = "somebody-whose-name-is-nowhere-else"


def learned_with_secret(path, **settings):
    """A service with events, remembered predictions, corrections and ids of a task that is going to be forgotten."""
    service = opened(path, **settings)
    for i in range(0, 40, 4):
        ask(service, *map(to_learn, range(i, i + 4)), ToLearn(SECRET, {"a": 1.0}, 1.0, 1.0, f"{SECRET}-{i}"))
    ask(service, ToRemember(f"{SECRET}-p", SECRET, {"a": 1.0}), ToRemember("p", "t0", {"a": 1.0}))
    ask(service, ToFeedBack(f"{SECRET}-p", 1.0), ToFeedBack(f"{SECRET}-p", -1.0, True))
    ask(service, ToRemember(f"{SECRET}-q", SECRET, {"a": 2.0}))
    return service


def compacted(service):
    """Wait until the writer has taken everything out."""
    limit = time.monotonic() + 30.0
    while service.writer._checkpointing.is_busy:
        assert time.monotonic() < limit, "the log is not compacted"
        time.sleep(0.01)


def found_in(folder, text):
    return [path.name for path in Path(folder).iterdir() if text.encode() in path.read_bytes()]


def test_nothing_of_a_forgotten_task_is_left_in_the_folder(tmp_path):
    service = learned_with_secret(tmp_path / "s")
    assert found_in(tmp_path / "s", SECRET)
    ask(service, ToForget(SECRET))
    compacted(service)
    assert found_in(tmp_path / "s", SECRET) == []
    assert ask(service, ToFeedBack(f"{SECRET}-q", 1.0))[0].code == "unknown_id"
    assert ask(service, to_learn(3))[0].duplicate
    assert ask(service, ToFeedBack("p", 1.0))[0].seq == service.seq
    assert service.figures.compactions == 1
    state = service.model.to_bytes()
    close(service)
    assert found_in(tmp_path / "s", SECRET) == []
    again = opened(tmp_path / "s")
    assert again.model.to_bytes() == state
    close(again)
    assert rebuilt(tmp_path / "s")[0].to_bytes() == state


def test_what_is_replayed_without_the_task_is_what_the_others_learned(tmp_path):
    service = learned_with_secret(tmp_path / "s")
    ask(service, ToForget(SECRET))
    compacted(service)
    close(service)
    twin = weft.Model(engines.LEARNER)
    for i in range(40):
        task, x, y = event(i)
        twin.learn_one(x, y, task)
    assert rebuilt(tmp_path / "s", without=frozenset([SECRET]))[0].to_bytes() == twin.to_bytes()
    with pytest.raises(ValueError, match="complete from entry"):
        rebuilt(tmp_path / "s", until=10)


def test_a_task_that_comes_again_keeps_what_it_sent_since(tmp_path):
    service = learned_with_secret(tmp_path / "s")
    ask(service, ToForget("t1"), ToLearn("t1", {"a": 1.0}, 1.0, 1.0, "new"))
    compacted(service)
    assert service.model.tally["t1"]["events"] == 1
    assert ask(service, ToLearn("t1", {"a": 1.0}, 1.0, 1.0, "new"))[0].duplicate
    state = service.model.to_bytes()
    close(service)
    with_it = opened(tmp_path / "s")
    assert with_it.model.to_bytes() == state
    close(with_it)


def test_a_damaged_checkpoint_after_a_compaction_loses_nothing(tmp_path):
    service = learned_with_secret(tmp_path / "s")
    ask(service, ToForget(SECRET))
    compacted(service)
    state = service.model.to_bytes()
    close(service)
    latest = max((tmp_path / "s").glob("checkpoint-*"), key=lambda path: int(path.stem[11:]))
    latest.write_bytes(latest.read_bytes()[:-1])
    again = opened(tmp_path / "s")
    assert again.model.to_bytes() == state
    close(again)


def test_the_base_forgets_too(tmp_path):
    model = weft.Model(engines.LEARNER)
    model.learn_one({"a": 1.0}, 1.0, SECRET)
    model.learn_one({"a": 1.0}, 1.0, "t0")
    folder = Folder(tmp_path / "s")
    data = model.to_bytes()
    folder.make(engines.configured(base=data[-32:].hex()), data)
    service = opened(tmp_path / "s")
    ask(service, to_learn(0), ToForget(SECRET))
    compacted(service)
    state = service.model.to_bytes()
    close(service)
    assert found_in(tmp_path / "s", SECRET) == []
    assert not (tmp_path / "s" / "base.weft").exists()
    model.forget(SECRET)
    task, x, y = event(0)
    model.learn_one(x, y, task)
    assert rebuilt(tmp_path / "s", without=frozenset(["t9"]))[0].to_bytes() == model.to_bytes()
    again = opened(tmp_path / "s")
    assert again.model.to_bytes() == state
    close(again)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a service is killed in a fork of this process")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("moment", range(9))
def test_a_kill_during_compaction_loses_nothing(tmp_path, moment, monkeypatch):
    """Killed before the n-th change of the compaction; afterwards it is gone on with."""
    monkeypatch.setattr(compacting, "AT_ONCE", 20)
    service = learned_with_secret(tmp_path / "s")
    close(service)
    state = rebuilt(tmp_path / "s")[0]
    state.forget(SECRET)
    child = os.fork()
    if not child:
        _forget_and_die(tmp_path / "s", moment)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    service = opened(tmp_path / "s")
    assert service.model.to_bytes() == state.to_bytes()
    compacted(service)
    assert found_in(tmp_path / "s", SECRET) == []
    assert service.model.to_bytes() == state.to_bytes()
    assert ask(service, to_learn(7))[0].duplicate
    close(service)


def _forget_and_die(path, moment):
    try:
        service = opened(path, fail=lambda error: os._exit(99))
        write, has_forgotten, count = Log.write, [], [0]

        def counted(log, text, values=()):
            if has_forgotten and not text.startswith("BEGIN"):
                if count[0] >= moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                count[0] += 1
            return write(log, text, values)

        ask(service, ToForget(SECRET))
        has_forgotten.append(True)
        Log.write = counted
        time.sleep(20.0)
    finally:
        os._exit(98)


def test_the_command(weft_command, tmp_path):
    service = learned_with_secret(tmp_path / "s")
    ask(service, *(ToLearn(SECRET, {f"f{i}": 1.0}, 1.0) for i in range(500)))
    assert "is served by process" in weft_command("compact", tmp_path / "s", code=2).stderr
    service.writer._checkpointing.forget = lambda seq: None  # a service that is stopped before it compacts
    ask(service, ToForget(SECRET))
    close(service)
    assert found_in(tmp_path / "s", SECRET)
    told = weft_command("compact", tmp_path / "s").stdout
    assert "1 forgotten task" in told
    assert found_in(tmp_path / "s", SECRET) == []


def test_a_log_of_the_first_format_is_brought_up_to_date(tmp_path):
    """The tables of format 1, with a remembered prediction, as they were written then."""
    service = learned_with_secret(tmp_path / "s")
    close(service)
    database = sqlite3.connect(tmp_path / "s" / NAME)
    database.executescript(
        "DROP TABLE sources; DROP TABLE forgotten; DROP INDEX remembered_task; ALTER TABLE remembered DROP COLUMN task;"
        "PRAGMA user_version = 1;"
    )
    database.close()
    with pytest.raises(FileError, match="brings an earlier one up to date"):
        Log(tmp_path / "s" / NAME, read_only=True)
    service = opened(tmp_path / "s")
    keys = {row[0] for row in service._log.read("SELECT task FROM remembered")}
    assert keys == {migrations.task_key(SECRET), msgspec.msgpack.encode("t0")}
    ask(service, ToForget(SECRET))
    compacted(service)
    close(service)
    assert found_in(tmp_path / "s", SECRET) == []


def test_what_a_killed_process_was_writing_is_removed(tmp_path):
    """It may be large, and hold a task that is forgotten since; what weft token writes meanwhile stays."""
    service = opened(tmp_path / "s")
    close(service)
    digits = "0123456789abcdef"
    left = [
        f".checkpoint-6.weft.weft-{digits}.tmp", f".export-{digits}.weft", f"..export-{digits}.weft.weft-{digits}.tmp",
        f".config.json.weft-{digits}.tmp", f".base-{digits}.weft.weft-{digits}.tmp",
    ]  # fmt: skip
    others = [f".tokens.json.weft-{digits}.tmp", ".checkpoint-6.weft", "notes.txt"]
    for name in left + others:
        (tmp_path / "s" / name).write_bytes(b"t3")
    close(opened(tmp_path / "s"))
    found = {path.name for path in (tmp_path / "s").iterdir()}
    assert not found & set(left)
    assert found >= set(others)
