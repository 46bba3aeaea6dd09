"""The writer and its folder: duplicates, remembered predictions, recovery, checkpoints, without a network."""

import sqlite3

import msgspec
import pytest

import weft
from serve import engines, histories
from serve.engines import ask, close, event, opened, to_learn
from weft.serve.folder import Folder
from weft.serve.log import NAME
from weft.serve.problems import Problem
from weft.serve.recovery import rebuilt, recover
from weft.serve.requests import ToFeedBack, ToForget, ToLearn, ToRemember, ToSetPolicy
from weft.store.digests import FileError


def learned(indices):
    """The model that these events give, one by one."""
    model = weft.Model(engines.LEARNER)
    for i in indices:
        task, x, y = event(i)
        model.learn_one(x, y, task)
    return model.to_bytes()


def test_what_is_learned_is_what_a_model_learns(tmp_path):
    service = opened(tmp_path / "s")
    scores = [outcome.issued.score for outcome in ask(service, *map(to_learn, range(50)))]
    model = weft.Model(engines.LEARNER)
    assert scores == [model.learn_one(event(i)[1], event(i)[2], event(i)[0]) for i in range(50)]
    assert service.model.to_bytes() == model.to_bytes()
    close(service)


def test_a_duplicate_is_recognised_in_its_group_in_the_next_and_after_a_restart(tmp_path):
    service = opened(tmp_path / "s")
    first, again = ask(service, to_learn(0), to_learn(0))
    assert (first.seq, first.duplicate, again.seq, again.duplicate) == (1, False, 1, True)
    assert again.issued == first.issued
    [later] = ask(service, to_learn(0))
    assert (later.seq, later.duplicate, later.issued) == (1, True, first.issued)
    close(service)
    service = opened(tmp_path / "s")
    [after] = ask(service, to_learn(0))
    assert (after.seq, after.duplicate, after.issued.score) == (1, True, None)
    assert service.seq == 1
    close(service)


def test_an_id_with_another_event_is_a_mistake(tmp_path):
    service = opened(tmp_path / "s")
    ask(service, to_learn(0))
    task, x, y = event(0)
    for other in (ToLearn(task, x, -y, 1.0, "e0"), ToLearn("else", x, y, 1.0, "e0")):
        [problem] = ask(service, other)
        assert (problem.code, problem.status, problem.field) == ("id_conflict", 409, "id")
    assert service.seq == 1
    close(service)


def test_ids_are_recognised_for_a_number_of_entries(tmp_path):
    service = opened(tmp_path / "s", recognise=5)
    ask(service, *map(to_learn, range(4)))
    assert ask(service, to_learn(0))[0].duplicate
    ask(service, *map(to_learn, range(4, 8)))
    assert not ask(service, to_learn(0))[0].duplicate  # entry 1 is more than five entries ago
    assert ask(service, to_learn(7))[0].duplicate
    close(service)


def test_a_refused_event_leaves_nothing_and_harms_no_other(tmp_path):
    service = opened(tmp_path / "s")
    bad = [ToLearn("t0", {"a": 1e200}, 1.0, 1.0, "b1"), ToLearn("t0", {"a": 1.0}, 0.5, 1.0, "b2")]
    bad += [ToLearn("t0", {"a": 1.0}, None, 1.0, "b3"), ToLearn(("x", True), {"a": 1.0}, 1.0, 1.0, "b4")]
    bad += [ToLearn(1 << 70, {"a": 1.0}, 1.0, 1.0, "b5")]
    found = ask(service, to_learn(0), *bad, to_learn(1))
    assert [outcome.status for outcome in found[1:-1]] == [422] * 5
    assert [found[0].seq, found[-1].seq] == [1, 2]
    assert service.model.to_bytes() == learned([0, 1])
    [fine] = ask(service, ToLearn("t0", {"a": 1.0}, 1.0, 1.0, "b1"))  # the id of a refused event is free
    assert not fine.duplicate
    close(service)


def test_a_task_that_a_graph_does_not_name_is_refused_before_it_is_logged(tmp_path):
    from weft.learners.catalogue import build, parameters_as_json
    from weft.serve.folder import Config

    learner = build("mt-ogd", {"graph": {"edges": [["t0", "t1"]]}})
    folder = Folder(tmp_path / "s")
    folder.make(Config(learner="mt-ogd", parameters=parameters_as_json(learner)))
    service = opened(tmp_path / "s")
    found = ask(service, to_learn(0), to_learn(2), to_learn(1))
    assert [type(outcome) is Problem for outcome in found] == [False, True, False]
    assert "does not name the task" in found[1].message
    assert service.seq == 2
    close(service)


def test_a_label_is_learned_once(tmp_path):
    service = opened(tmp_path / "s")
    [kept] = ask(service, ToRemember("p", "t0", {"a": 1.0}))
    first, again = ask(service, ToFeedBack("p", 1.0), ToFeedBack("p", 1.0))
    assert (kept.seq, first.seq, first.duplicate, again.seq, again.duplicate) == (1, 2, False, 2, True)
    close(service)
    service = opened(tmp_path / "s")
    assert ask(service, ToFeedBack("p", 1.0))[0].duplicate
    model = weft.Model(engines.LEARNER)
    model.learn_one({"a": 1.0}, 1.0, "t0")
    assert service.model.to_bytes() == model.to_bytes()
    close(service)


def test_another_label_is_a_correction_and_replay_can_learn_it(tmp_path):
    service = opened(tmp_path / "s")
    ask(service, ToRemember("p", "t0", {"a": 1.0}), ToFeedBack("p", 1.0))
    assert ask(service, ToFeedBack("p", -1.0))[0].code == "other_label"
    [corrected] = ask(service, ToFeedBack("p", -1.0, True))
    assert corrected.correction
    assert ask(service, ToFeedBack("p", -1.0))[0].duplicate
    before = service.model.to_bytes()
    close(service)
    plain, right = weft.Model(engines.LEARNER), weft.Model(engines.LEARNER)
    plain.learn_one({"a": 1.0}, 1.0, "t0")
    right.learn_one({"a": 1.0}, -1.0, "t0")
    assert before == plain.to_bytes() == rebuilt(tmp_path / "s")[0].to_bytes()
    assert rebuilt(tmp_path / "s", corrected=True)[0].to_bytes() == right.to_bytes()


def test_remembered_predictions_expire(tmp_path):
    service = opened(tmp_path / "s", remember_for=1e-9)
    ask(service, ToRemember("p", "t0", {"a": 1.0}))
    assert ask(service, ToFeedBack("p", 1.0))[0].code in ("expired", "unknown_id")
    assert ask(service, ToFeedBack("q", 1.0))[0].code == "unknown_id"
    close(service)
    service = opened(tmp_path / "s")
    service.writer._rest()
    assert service.figures.expired == 1
    assert service._log.count_remembered() == 0
    close(service)


def test_what_a_learner_cannot_do_is_said(tmp_path):
    from weft.learners.catalogue import build, parameters_as_json
    from weft.serve.folder import Config

    folder = Folder(tmp_path / "s")
    folder.make(Config(learner="perceptron", parameters=parameters_as_json(build("perceptron", {}))))
    service = opened(tmp_path / "s")
    found = ask(service, to_learn(0), ToSetPolicy("t0", True, False))
    assert (found[1].status, found[1].code) == (409, "not_supported")
    assert "perceptron" in found[1].message
    assert service.seq == 1
    close(service)


def test_a_policy_is_kept_and_replayed(tmp_path):
    service = opened(tmp_path / "s")
    ask(service, *map(to_learn, range(20)))
    assert service.task("t1").gives
    ask(service, ToSetPolicy("t1", False, True), ToSetPolicy("t2", True, False))
    ask(service, *map(to_learn, range(20, 40)))
    twin = weft.Model(engines.LEARNER)
    for i in range(40):
        if i == 20:
            twin.set_policy("t1", gives=False)
            twin.set_policy("t2", receives=False)
        task, x, y = event(i)
        twin.learn_one(x, y, task)
    answer = service.task("t1")
    assert (answer.gives, answer.receives, answer.events) == (False, True, 10)
    assert service.model.to_bytes() == twin.to_bytes()
    close(service)
    for checkpoint in (tmp_path / "s").glob("checkpoint-*"):
        checkpoint.unlink()
    service = opened(tmp_path / "s")
    assert service.model.to_bytes() == twin.to_bytes() == rebuilt(tmp_path / "s")[0].to_bytes()
    ask(service, ToForget("t1"))
    twin.forget("t1")
    assert service.model.to_bytes() == twin.to_bytes()
    close(service)


def test_a_forgotten_task_stays_forgotten(tmp_path):
    """After a restart, from a checkpoint and from the log alone; the next event of that name is of a new task."""
    service = opened(tmp_path / "s", 10**9)
    ask(service, *map(to_learn, range(20)))
    ask(service, ToForget("t0"))
    assert "t0" not in service.model.tasks
    state = service.model.to_bytes()
    twin = weft.Model.from_bytes(learned(range(20)))
    twin.forget("t0")
    assert twin.to_bytes() == state
    close(service)
    for checkpoint in sorted((tmp_path / "s").glob("checkpoint-*.weft")):
        checkpoint.unlink()
    service = opened(tmp_path / "s", 10**9)
    assert service.model.to_bytes() == state
    ask(service, to_learn(0))  # a duplicate still
    assert "t0" not in service.model.tasks
    ask(service, to_learn(40))
    assert service.model.tally["t0"]["events"] == 1
    close(service)


@pytest.mark.parametrize("every", [1, 7, 10**9])
def test_recovered_is_replayed_bit_for_bit(tmp_path, every):
    whole = learned(range(60))
    for start in range(0, 60, 20):
        service = opened(tmp_path / "s", every)
        for i in range(start, start + 20, 5):
            ask(service, *map(to_learn, range(i, i + 5)))
        state = service.model.to_bytes()
        assert state == learned(range(start + 20))
        close(service)
    assert rebuilt(tmp_path / "s")[0].to_bytes() == whole
    assert rebuilt(tmp_path / "s", until=33)[0].to_bytes() == learned(range(33))
    without = rebuilt(tmp_path / "s", without=frozenset(["t1"]))[0]
    assert without.to_bytes() == learned([i for i in range(60) if i % 4 != 1])
    history = histories.History()
    for i in range(60):
        history.send(f"e{i}", event(i))
    assert histories.check(tmp_path / "s", history, engines.LEARNER) == whole


def test_two_checkpoints_are_kept_and_a_damaged_one_is_passed_over(tmp_path):
    service = opened(tmp_path / "s", 10)
    for i in range(0, 60, 5):
        ask(service, *map(to_learn, range(i, i + 5)))
        engines.settle(service)
    close(service)
    found = sorted(tmp_path.glob("s/checkpoint-*.weft"), key=lambda path: int(path.stem[11:]))
    assert len(found) == 2
    damaged = bytearray(found[-1].read_bytes())
    damaged[len(damaged) // 2] ^= 1
    found[-1].write_bytes(damaged)
    folder = Folder(tmp_path / "s")
    recovered = recover(folder, folder.config())
    assert recovered.model.to_bytes() == learned(range(60))
    assert "was not used" in recovered.notes[0]
    recovered.log.close()


def test_a_checkpoint_ahead_of_the_log_is_refused(tmp_path):
    service = opened(tmp_path / "s", 1)
    ask(service, to_learn(0))
    close(service)
    database = sqlite3.connect(tmp_path / "s" / NAME)
    database.executescript("DELETE FROM log; DELETE FROM ids; UPDATE head SET last = 0;")
    database.close()
    with pytest.raises(FileError, match="ahead of the log"):
        opened(tmp_path / "s")


DAMAGE = {
    "a gap": "DELETE FROM log WHERE seq = (SELECT seq FROM log ORDER BY seq LIMIT 1 OFFSET 1)",
    "the last group is gone": "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
    "another group": "UPDATE log SET blob = (SELECT blob FROM log WHERE seq = 1) WHERE seq = 6",
    "another place": "UPDATE log SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM log)",
    "an id of another entry": "UPDATE ids SET id = 'zzz' WHERE seq = 3",
    "an id of no entry": "INSERT INTO ids VALUES (99, 'zzz', 1)",
    "a remembered prediction": "UPDATE remembered SET at = at + 1",
    "no head": "DELETE FROM head",
    "a head of another kind": "UPDATE head SET at = x'00'",
    "a number of another kind": "UPDATE log SET n = x'05' WHERE seq = 6",
    "text in place of bytes": "UPDATE log SET blob = CAST(blob AS TEXT) WHERE seq = 6",
    "another format": "PRAGMA user_version = 7",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_log_is_refused(tmp_path, statement):
    service = opened(tmp_path / "s")
    for i in range(0, 20, 5):
        ask(service, *map(to_learn, range(i, i + 5)))
    ask(service, ToRemember("p", "t0", {"a": 1.0}))
    close(service)
    for path in tmp_path.glob("s/checkpoint-*"):
        path.unlink()
    database = sqlite3.connect(tmp_path / "s" / NAME)
    database.execute(statement)
    database.commit()
    database.close()
    with pytest.raises(FileError):
        opened(tmp_path / "s")


def test_a_log_is_trimmed_below_the_older_checkpoint_only(tmp_path):
    service = opened(tmp_path / "s", 10, keep_log=1, recognise=3)
    for i in range(0, 60, 5):
        ask(service, *map(to_learn, range(i, i + 5)))
        engines.settle(service)
    close(service)
    kept = sorted(int(path.stem[11:]) for path in tmp_path.glob("s/checkpoint-*.weft"))
    first = sqlite3.connect(tmp_path / "s" / NAME).execute("SELECT first FROM head").fetchone()[0]
    assert 1 < first <= kept[0] + 1
    assert rebuilt(tmp_path / "s")[0].to_bytes() == learned(range(60))
    with pytest.raises(ValueError, match="begins with entry"):
        rebuilt(tmp_path / "s", without=frozenset(["t1"]))
    for path in tmp_path.glob("s/checkpoint-*"):
        path.unlink()
    with pytest.raises(FileError, match="no usable checkpoint"):
        opened(tmp_path / "s")


def test_a_second_process_is_refused(tmp_path):
    service = opened(tmp_path / "s")
    with pytest.raises(ValueError, match="is served by process"):
        Folder(tmp_path / "s").locked()
    close(service)


def test_a_folder_with_other_files_is_not_taken(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="holds other files"):
        Folder(tmp_path).make(engines.configured())


def test_a_folder_of_an_earlier_format_is_migrated(tmp_path, monkeypatch):
    from weft.serve import folder as folders

    old = msgspec.to_builtins(engines.configured()) | {"format": 0, "window": 12}
    del old["recognise"]
    with pytest.raises(FileError, match="format 0"):
        folders.read_config(msgspec.json.encode(old))
    monkeypatch.setattr(folders, "OLDEST", 0)
    monkeypatch.setitem(folders._MIGRATIONS, 0, lambda found: {"recognise": found.pop("window"), **found})
    assert folders.read_config(msgspec.json.encode(old)).recognise == 12
