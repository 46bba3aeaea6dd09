"""weft learn: tables, files that grow, Ctrl-C and crashes; a bad file leaves the model as it was."""

import gzip
import json
import os
import signal

import pytest

import weft
from weft.cli import learning
from weft.cli.progress_file import State, write_states
from weft.model import Model


def test_learn_makes_a_model_and_prints_the_table(weft_command, events):
    result = weft_command("learn", events, "--model", "m.weft", "--learner", "pa", "--set", "C=0.5")
    assert "all 3 tasks" in result.stdout
    assert "[red]" in result.stdout  # a name is not markup
    assert "Learned 60 events" in result.stdout
    model = weft.load("m.weft")
    assert model.learner.C == 0.5
    assert model.tally.total["events"] == 60
    whole = Model("pa", C=0.5)
    for line in events.read_text().splitlines():
        event = json.loads(line)
        whole.learn_one(event["x"], event["y"], event["task"])
    assert whole.tally.mistakes.tolist() == model.tally.mistakes.tolist()


def test_the_largest_tasks_are_listed_and_the_rest_summed_up(weft_command, tmp_path):
    path = tmp_path / "e.svm"
    path.write_text("".join(f"1 qid:t{t} 1:1\n" for t in range(30) for _ in range(30 - t)))
    short = weft_command("learn", path, "--model", "m.weft").stdout
    assert "10 smaller tasks" in short
    assert "t25" not in short
    assert "t25" in weft_command("inspect", "m.weft", "--all-tasks").stdout


def test_json_is_all_there_is_on_standard_output(weft_command, events):
    data = json.loads(weft_command("learn", events, "--model", "m.weft", "--json").stdout)
    assert data["events"] == data["total"]["events"] == 60
    assert [row["task"] for row in data["tasks"]] == ["ann", "bob", "[red]"]
    assert data["interrupted"] is False
    assert weft_command("learn", events, "--model", "n.weft", "--quiet").output == ""


def test_settings_are_json_or_text(weft_command, events):
    options = ["--learner", "pa", "--set", "variant=pa-ii", "--set", "pooled=true", "--tasks", "ann,7"]
    weft_command("learn", events, "--model", "m.weft", *options)
    model = weft.load("m.weft")
    assert (model.learner.variant, model.learner.pooled, model.tasks[:2]) == ("pa-ii", True, ["ann", 7])


def test_standard_input_and_gzip(weft_command, events):
    weft_command("learn", "-", "--model", "a.weft", stdin=events.read_text())
    packed = events.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(events.read_bytes()))
    weft_command("learn", packed, "--model", "b.weft")
    assert weft.load("a.weft").to_bytes() == weft.load("b.weft").to_bytes()


def test_csv_with_columns_of_other_names(weft_command, tmp_path):
    path = tmp_path / "data"
    path.write_text("user,spam,a\nann,1,2\nbob,-1,1\n")
    options = ["--format", "csv", "--task-column", "user", "--label-column", "spam"]
    weft_command("learn", path, "--model", "m.weft", *options)
    assert weft.load("m.weft").tasks == ["ann", "bob"]
    path.write_text("user,spam,a\nann,2,2\n")
    result = weft_command("learn", path, "--model", "n", *options, code=2)
    assert 'line 2, field "spam": 2 is not a label' in result.stderr


@pytest.mark.parametrize("bad", ['{"task": "ann", "x": {"a": "?"}, "y": 1}', '{"task": "ann", "x": {"a": 1}, "y": 0}'])
def test_a_bad_line_leaves_model_and_progress_as_they_were(weft_command, events, tmp_path, bad):
    weft_command("learn", events, "--model", "m.weft")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with events.open("a") as file:
        file.write("\n".join([*[events.read_text().splitlines()[0]] * 5000, bad]) + "\n")
    before[events.name] = events.read_bytes()
    result = weft_command("learn", events, "--model", "m.weft", code=2)
    assert result.stderr.startswith(f"weft: {events}, line 5061, field ")
    assert result.stdout == ""
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_bad_first_file_makes_no_model(weft_command, tmp_path):
    (tmp_path / "e.jsonl").write_text("{}\n")
    weft_command("learn", "e.jsonl", "--model", "m.weft", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["e.jsonl"]


def test_skip_mode_lists_what_it_skips(weft_command, events):
    clean = events.read_text()
    events.write_text("oops\n" + clean + '{"task": "ann"}\n')
    result = weft_command("learn", events, "--model", "m.weft", "--on-error", "skip", "--json")
    assert [fault["line"] for fault in json.loads(result.stdout)["skipped"]] == [1, 62]
    assert "weft: skipped 2 lines of" in result.stderr
    assert 'line 62, field "x": is missing' in result.stderr
    events.write_text(clean)
    weft_command("learn", events, "--model", "n.weft")
    assert weft.load("m.weft").to_bytes() == weft.load("n.weft").to_bytes()


def test_a_file_is_learned_once_and_what_grows_is_learned_on(weft_command, events):
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(lines[:25]))
    weft_command("learn", events, "--model", "m.weft")
    once = weft.load("m.weft").to_bytes()
    assert "learned already, all 25 events" in weft_command("learn", events, "--model", "m.weft").stdout
    assert weft.load("m.weft").to_bytes() == once
    events.write_text("".join(lines))
    assert "Learned 35 events" in weft_command("learn", events, "--model", "m.weft").stdout
    weft_command("learn", events, "--model", "n.weft")
    assert weft.load("m.weft").to_bytes() == weft.load("n.weft").to_bytes()
    weft_command("learn", events, "--model", "m.weft", "--restart")
    assert weft.load("m.weft").tally.total["events"] == 120


def test_another_file_does_not_disturb_the_first(weft_command, events, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(events.read_text())
    weft_command("learn", events, "--model", "m.weft")
    weft_command("learn", other, "--model", "m.weft")
    weft_command("learn", "-", "--model", "m.weft", stdin=events.read_text())
    assert weft.load("m.weft").tally.total["events"] == 180
    assert "learned already" in weft_command("learn", events, "--model", "m.weft").stdout


def test_a_replaced_file_is_refused(weft_command, events):
    weft_command("learn", events, "--model", "m.weft")
    events.write_text(events.read_text().replace("0.5", "0.6"))
    error = weft_command("learn", events, "--model", "m.weft", code=2).stderr
    assert "has changed in the 60 lines that were read before" in error
    assert "--restart" in error


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_ctrl_c_saves_and_the_same_command_goes_on(weft_command, events, tmp_path, monkeypatch, name):
    source = tmp_path / name
    if name.endswith(".gz"):
        source.write_bytes(gzip.compress(events.read_bytes()))
    weft_command("learn", source, "--model", "whole.weft")
    learn, calls = Model.learn, []

    def interrupted(self, stream, **options):
        scores = learn(self, stream, **options)
        calls.append(len(stream))
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)  # in the midst of a chunk
        return scores

    monkeypatch.setattr(Model, "learn", interrupted)
    command = ["learn", source, "--model", "m.weft", "--every", "7"]
    result = weft_command(*command, code=130)
    assert f"stopped after 21 events, which are saved in m.weft; go on with\n  weft learn {source}" in result.stderr
    assert weft.load("m.weft").tally.total["events"] == 21
    weft_command(*command)
    assert weft.load("m.weft").to_bytes() == weft.load("whole.weft").to_bytes()


def test_the_handler_of_ctrl_c_is_put_back(weft_command, events):
    before = signal.getsignal(signal.SIGINT)
    weft_command("learn", events, "--model", "m.weft")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("crash_in", "at"), [("write_states", 3), ("model", 4)])  # the progress is an Output, too
@pytest.mark.parametrize("after_write", [False, True])
def test_a_crash_around_a_write_loses_and_repeats_nothing(weft_command, events, monkeypatch, crash_in, at, after_write):
    weft_command("learn", events, "--model", "whole.weft")
    owner, name = (learning.Output, "__exit__") if crash_in == "model" else (learning, crash_in)
    original, calls = getattr(owner, name), []

    def crashing(*arguments):
        calls.append(1)
        if len(calls) < at:
            return original(*arguments)
        if after_write:
            original(*arguments)
        elif owner is learning.Output:
            arguments[0]._file.close()  # what was written stays behind
        raise RuntimeError("the machine died")

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, crashing)
        with pytest.raises(AssertionError, match="the machine died"):
            weft_command("learn", events, "--model", "m.weft", "--every", "10")
    weft_command("learn", events, "--model", "m.weft")
    assert weft.load("m.weft").to_bytes() == weft.load("whole.weft").to_bytes()


def test_a_model_changed_by_something_else_is_refused(weft_command, events, tmp_path):
    weft_command("learn", events, "--model", "m.weft")
    model = weft.load("m.weft")
    model.learn_one({"free": 1.0}, 1, "ann")
    model.save("m.weft")
    error = weft_command("learn", events, "--model", "m.weft", code=2).stderr
    assert "m.weft was changed by something else since weft learn saved it" in error
    assert weft.load("m.weft").to_bytes() == model.to_bytes()
    assert "learned already" in weft_command("learn", events, "--model", "m.weft", "--keep-position").stdout
    weft_command("learn", events, "--model", "m.weft", "--restart")
    assert weft.load("m.weft").tally.total["events"] == 121
    (tmp_path / "m.weft.progress").write_text("{")
    assert (
        "m.weft.progress cannot be read; remove it" in weft_command("learn", events, "--model", "m.weft", code=2).stderr
    )


def test_a_model_changed_while_learning_is_not_written_over(weft_command, events, monkeypatch):
    weft_command("learn", events, "--model", "m.weft")
    held = weft.load("m.weft").to_bytes()

    with events.open("a") as file:
        file.write(events.read_text().splitlines()[0] + "\n")
    state = learning.progress_of
    monkeypatch.setattr(learning, "progress_of", lambda *a: State("other", state(*a).sources))
    error = weft_command("learn", events, "--model", "m.weft", code=2).stderr
    assert "was changed by something else meanwhile; nothing was saved" in error
    assert weft.load("m.weft").to_bytes() == held


def test_a_model_that_was_removed_starts_over(weft_command, events, tmp_path):
    weft_command("learn", events, "--model", "m.weft")
    (tmp_path / "m.weft").unlink()
    assert "Learned 60 events" in weft_command("learn", events, "--model", "m.weft").stdout


def test_an_existing_model_keeps_its_learner(weft_command, events):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa", "--set", "C=0.5")
    for options, message in (
        (["--learner", "perceptron"], "m.weft was learned by pa, not perceptron; leave --learner out"),
        (["--set", "C=2"], "m.weft was learned with C=0.5, not 2.0; leave --set C out"),
        (["--set", "D=2"], "pa has no parameter 'D'"),
        (["--tasks", "3"], "m.weft exists already, with 3 tasks; --tasks is for a new model"),
    ):
        assert message in weft_command("learn", events, "--model", "m.weft", *options, code=2).stderr
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa", "--set", "C=0.5")


def test_progress_is_written_before_the_model(tmp_path):
    path = tmp_path / "m.weft"
    write_states(path, State("before"), State("after"))
    data = json.loads((tmp_path / "m.weft.progress").read_text())
    assert [state["model"] for state in data["states"]] == ["before", "after"]


def test_warnings_of_a_learner_are_notes(weft_command, events, monkeypatch):
    import warnings

    learn = Model.learn

    def warning(self, stream):
        warnings.warn("rows exceed R", stacklevel=2)
        return learn(self, stream)

    monkeypatch.setattr(Model, "learn", warning)
    assert weft_command("learn", events, "--model", "m.weft").stderr == "weft: note: rows exceed R\n"
