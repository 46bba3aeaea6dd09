"""weft as a program among others: closed pipes, devices, links, signals, a second process on the same model."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weft
from weft.cli import model_lock
from weft.cli.main import CLOSED_PIPE
from weft.cli.model_lock import lock_path, locked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, pipes and locks are those of Unix")
COMMAND = [sys.executable, "-c", "from weft.cli.main import main; main()"]
LINE = '{"task": "ann", "x": {"a": 1}, "y": 1}\n'


def start(*arguments, **settings):
    settings = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], text=True, preexec_fn=_take_ctrl_c, **settings)


def _take_ctrl_c():
    """A shell that starts tests in the background has them ignore Ctrl-C."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


@pytest.fixture
def here(tmp_path, monkeypatch, weft_command, events):
    """A folder with a model that has learned 60 events."""
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa", "--quiet")
    return tmp_path


# --- closed pipes, full devices -----------------------------------------------------------------------------


def test_closed_pipes_end_quietly(here, events):
    """As in `weft predict ... | head -1`."""
    lines = events.read_text()
    events.write_text(lines * 500)
    commands = (["predict", events, "--model", "m.weft"], ["catalogue"], ["--help"])
    for command in commands:
        reading, writing = os.pipe()
        process = start(*command, stdout=writing)
        os.close(writing)
        os.close(reading)  # gone before anything is written
        told = process.communicate(timeout=60)[1]
        assert (process.returncode, told) == (CLOSED_PIPE, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the devices of Linux")
def test_a_full_standard_output_is_an_error(here):
    with open("/dev/full", "w") as full:
        process = start("catalogue", "pa", stdout=full)
        told = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert told.startswith("weft: standard ")
    assert "No space left on device; " in told
    assert told.count("\n") == 1


def test_predictions_through_a_descriptor_keep_what_is_there(here, events):
    with (here / "out.csv").open("w") as file:
        file.write("# first\n")
        file.flush()
        process = start("predict", events, "--model", "m.weft", "--out", "/dev/stdout", stdout=file)
        assert process.communicate(timeout=60)[1].startswith("weft: wrote 60 predictions to /dev/stdout")
    lines = (here / "out.csv").read_text().splitlines()
    assert lines[:2] == ["# first", "task,score,label"]
    assert len(lines) == 62


# --- places -------------------------------------------------------------------------------------------------


def test_predict_refuses_a_place_before_it_reads(weft_command, here):
    for out, words in (
        ("nowhere/p.csv", "cannot write nowhere/p.csv: the folder nowhere does not exist"),
        (".", "cannot write .: it is a folder"),
        ("m.weft", "--out m.weft would replace the model"),
        ("./events.jsonl", "would replace the events"),
    ):
        before = sorted(path.name for path in here.iterdir())
        file = "events.jsonl" if "events" in out else "not-there.jsonl"
        assert words in weft_command("predict", file, "--model", "m.weft", "--out", out, code=2).stderr
        assert sorted(path.name for path in here.iterdir()) == before


def test_predict_through_links_and_to_standard_output(weft_command, events, here):
    (here / "p.csv").write_text("old")
    (here / "link.csv").symlink_to("p.csv")
    (here / "new.csv").symlink_to("fresh.csv")
    expected = weft_command("predict", events, "--model", "m.weft").stdout
    for name in ("link.csv", "new.csv"):
        weft_command("predict", events, "--model", "m.weft", "--out", name)
        assert (here / name).is_symlink()
        assert (here / name).read_text() == expected
    assert (here / "p.csv").read_text() == (here / "fresh.csv").read_text() == expected
    assert weft_command("predict", events, "--model", "m.weft", "--out", "-").stdout == expected
    assert not (here / "-").exists()
    weft_command("predict", events, "--model", "m.weft", "--out", "/dev/null")


def test_a_picture_through_links_and_devices(weft_command, here):
    (here / "e.csv").write_text("task,y,x\nann,1,1\nbob,1,1\neve,-1,2\n")
    weft_command("learn", "e.csv", "--model", "g.weft", "--learner", "mt-ogd", "--quiet")
    (here / "link.svg").symlink_to("real.svg")
    weft_command("inspect", "g.weft", "--plot", "link.svg")
    assert (here / "link.svg").is_symlink()
    assert (here / "real.svg").read_text().startswith("<svg")
    weft_command("inspect", "g.weft", "--plot", "/dev/null")
    assert not os.path.isfile("/dev/null")


def test_packed_files_through_links_and_devices(weft_command, here, events):
    (here / "link.weftpack").symlink_to("real.weftpack")
    weft_command("pack", events, "--out", "link.weftpack")
    assert (here / "link.weftpack").is_symlink()
    assert (here / "real.weftpack").stat().st_size > 0
    weft_command("pack", events, "--out", "/dev/null")
    assert not os.path.isfile("/dev/null")
    assert "would replace the events" in weft_command("pack", events, "--out", events, code=2).stderr
    assert "the folder nowhere does not exist" in weft_command("pack", events, "--out", "nowhere/p", code=2).stderr


def test_no_header_before_an_error_of_the_first_line(weft_command, here):
    result = weft_command("predict", "-", "--model", "m.weft", stdin="oops\n", code=2)
    assert result.stdout == ""


def test_formulas_are_guarded_where_asked(weft_command, here):
    names = ["=1+1", "+x", "-x", "@x", "\t=x", "\uff1dx", "ann", "a=b", -7]
    stdin = "".join(json.dumps({"task": name, "x": {"a": 1}}) + "\n" for name in names)
    exact = weft_command("predict", "-", "--model", "m.weft", stdin=stdin).stdout
    guarded = weft_command("predict", "-", "--model", "m.weft", "--guard-formulas", stdin=stdin).stdout
    assert [line.rsplit(",", 2)[0] for line in exact.splitlines()[1:]] == [str(name) for name in names]
    expected = [f"'{name}" if i < 6 else str(name) for i, name in enumerate(names)]
    assert [line.rsplit(",", 2)[0] for line in guarded.splitlines()[1:]] == expected


# --- a model behind a link ----------------------------------------------------------------------------------


def test_a_model_behind_a_link_is_updated_in_place(weft_command, events, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.weft").symlink_to("real/m.weft")
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(lines[:30]))
    weft_command("learn", events, "--model", "link.weft", "--learner", "pa")
    events.write_text("".join(lines))
    assert "Learned 30 events" in weft_command("learn", events, "--model", "real/m.weft").stdout
    assert "learned already" in weft_command("learn", events, "--model", "link.weft").stdout
    assert (tmp_path / "link.weft").is_symlink()
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == ["m.weft", "m.weft.progress"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "link.weft", "real"]
    weft_command("learn", events, "--model", "whole.weft", "--learner", "pa")
    assert weft.load("link.weft").to_bytes() == weft.load("whole.weft").to_bytes()


@pytest.mark.parametrize("place", ["pipe", "/dev/null"])
def test_a_model_must_be_a_file(weft_command, events, tmp_path, place):
    os.mkfifo(tmp_path / "pipe")
    told = weft_command("learn", events, "--model", place, code=2).stderr
    assert f"{place} is a device or a pipe" in told


# --- the lock -----------------------------------------------------------------------------------------------


def test_two_at_once_the_second_is_refused_and_nothing_is_lost(here, events):
    first = start("learn", "-", "--model", "m.weft", "--quiet")
    wait_for(lambda: lock_path(here / "m.weft").exists() and lock_path(here / "m.weft").read_text())
    second = start("learn", "-", "--model", "m.weft")
    told = second.communicate(LINE, timeout=60)[1]
    assert second.returncode == 2
    assert told == (
        f"weft: m.weft is being learned by process {first.pid}; wait until that has ended, or stop it, "
        "then run this again\n"
    )
    first.communicate(LINE * 5, timeout=60)
    assert first.returncode == 0
    assert weft.load(here / "m.weft").tally.total["events"] == 65
    assert not lock_path(here / "m.weft").exists()


def test_every_event_of_many_at_once_is_learned_or_refused(here):
    processes = [start("learn", "-", "--model", "m.weft", "--quiet") for _ in range(3)]
    for process in processes:
        process.stdin.write(LINE * 50)
        process.stdin.close()
    codes = [process.wait(timeout=60) for process in processes]
    for process in processes:
        process.stdout.close()
        process.stderr.close()
    assert set(codes) <= {0, 2}
    assert weft.load(here / "m.weft").tally.total["events"] == 60 + 50 * codes.count(0)


def test_a_lock_of_a_killed_process_is_taken_over(here, weft_command, events):
    first = start("learn", "-", "--model", "m.weft", "--quiet")
    lock = lock_path(here / "m.weft")
    wait_for(lambda: lock.exists() and lock.read_text())
    first.kill()
    first.communicate(timeout=60)
    assert lock.exists()
    weft_command("learn", "-", "--model", "m.weft", stdin=LINE)
    assert not lock.exists()
    lock.write_text(f"{os.getpid()} elsewhere\n")  # a file alone is not a lock
    weft_command("learn", "-", "--model", "m.weft", stdin=LINE)
    assert weft.load("m.weft").tally.total["events"] == 62


def test_who_holds_the_lock(tmp_path, monkeypatch):
    model = tmp_path / "m.weft"
    for content, words in (
        (b"123 elsewhere.org\n", "process 123 on elsewhere.org"),
        (b"\x1b[2J 1\n", "another process"),
        (b"", "another process"),
    ):
        with locked(model):
            lock_path(model).write_bytes(content)
            with pytest.raises(ValueError, match=f"is being learned by {words}; wait"), locked(model):
                pass
        assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_removed_while_we_wait_for_it_is_made_again(tmp_path, monkeypatch):
    model, lock, calls = tmp_path / "m.weft", model_lock.try_lock, []

    def slow(descriptor):
        if not calls:
            lock_path(model).unlink()  # its holder ended between our opening and our locking
        calls.append(descriptor)
        return lock(descriptor)

    monkeypatch.setattr(model_lock, "try_lock", slow)
    with locked(model):
        assert len(calls) == 2
        assert lock_path(model).read_text().startswith(str(os.getpid()))


def test_a_file_system_without_locks(weft_command, events, monkeypatch):
    monkeypatch.setattr(model_lock, "try_lock", lambda _: None)
    told = weft_command("learn", events, "--model", "m.weft", "--quiet").stderr
    assert "m.weft.lock has no locks; make sure that nothing else learns m.weft" in told


# --- signals ------------------------------------------------------------------------------------------------

CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


@pytest.mark.parametrize(("source", "name"), [("-", "SIGINT"), ("-", "SIGTERM"), ("pipe.jsonl", "SIGHUP")])
def test_a_signal_while_waiting_for_input_saves_what_was_read(here, name, source):
    """Also events of a chunk that is not full yet: the producer does not send them again."""
    if source == "-":
        process = start("learn", "-", "--model", "m.weft")
        pipe = process.stdin
    else:
        os.mkfifo(here / source)
        process = start("learn", source, "--model", "m.weft")
        pipe = (here / source).open("w")
    pipe.write(LINE * 7)
    pipe.flush()
    wait_for(lambda: _unread(pipe) == 0)
    wait_for(lambda: _is_idle(process))  # it has parsed and learned them, and asks for more
    process.send_signal(getattr(signal, name))
    told = process.stderr.read()
    assert process.wait(timeout=60) == CODES[name]
    assert "weft: stopped after 7 events of " in told
    assert weft.load(here / "m.weft").tally.total["events"] == 67
    for stream in (pipe, process.stdin, process.stdout, process.stderr):
        stream.close()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_lines_are_waited_for_saves_those_that_came(here, name):
    """Fewer than are waited for to infer what the fields are."""
    process = start("learn", "-", "--model", "fields.weft")
    records = [{"user": "ab"[i % 2], "x": i, "label": i % 2} for i in range(30)]
    process.stdin.write("".join(json.dumps(record) + "\n" for record in records))
    process.stdin.flush()
    wait_for(lambda: _unread(process.stdin) == 0)
    wait_for(lambda: _is_idle(process))
    process.send_signal(getattr(signal, name))
    told = process.stderr.read()
    assert process.wait(timeout=60) == CODES[name]
    assert "weft: stopped after 30 events of standard input, which are saved in fields.weft" in told
    assert weft.load(here / "fields.weft").tally.total["events"] == 30
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def _unread(pipe):
    """How many bytes of a pipe its reader has not taken yet."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)


def _is_idle(process):
    """Whether it has taken no processor time for a while; where the system does not tell, after a long while."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        time.sleep(10.0)
        return True

    def look():
        fields = stat.read_text().rsplit(")", 1)[1].split()
        return fields[0], fields[11], fields[12]

    before = look()
    time.sleep(0.5)
    return before[0] == "S" and look() == before


def test_signals_while_saving_do_not_disturb_it(weft_command, events, monkeypatch):
    """Ctrl-C in a chunk, then more of everything during the save."""
    from weft.model import Model

    weft_command("learn", events, "--model", "whole.weft", "--learner", "pa")
    learn, write = Model.learn, Model.write_to

    def interrupted(self, stream, **options):
        scores = learn(self, stream, **options)
        os.kill(os.getpid(), signal.SIGTERM)
        return scores

    def impatient(*arguments):
        for name in ("SIGINT", "SIGINT", "SIGTERM", "SIGHUP"):
            os.kill(os.getpid(), getattr(signal, name))
        found = write(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Model, "learn", interrupted)
        patched.setattr(Model, "write_to", impatient)
        told = weft_command("learn", events, "--model", "m.weft", "--learner", "pa", "--every", "7", code=143).stderr
    assert "stopped after 7 events, which are saved in m.weft" in told
    weft_command("learn", events, "--model", "m.weft")
    assert weft.load("m.weft").to_bytes() == weft.load("whole.weft").to_bytes()


def test_a_signal_that_is_ignored_stays_ignored(weft_command, events, monkeypatch):
    """As nohup does."""
    from weft.model import Model

    learn = Model.learn

    def hung_up(self, stream, **options):
        os.kill(os.getpid(), signal.SIGHUP)
        return learn(self, stream, **options)

    monkeypatch.setattr(Model, "learn", hung_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        weft_command("learn", events, "--model", "m.weft")
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_sigterm_in_another_command_removes_its_temporary_file(here, events):
    process = start("predict", "-", "--model", "m.weft", "--out", "p.csv")
    wait_for(lambda: any(path.name.startswith(".p.csv.weft-") for path in here.iterdir()))
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 143
    assert told == "weft: interrupted; nothing was changed since the last save\n"
    assert not any(".p.csv" in path.name for path in here.iterdir())


# --- names of files -----------------------------------------------------------------------------------------


def test_a_source_whose_name_is_not_utf8(here, events):
    folder = os.fsencode(here)
    name = b"odd\xff\x1b[31m.jsonl"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(events.read_bytes())
    command = [*map(os.fsencode, COMMAND), b"learn", name, b"--model", b"n\xfe.weft"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Learned 60 events of odd\\xff\\x1b[31m.jsonl" in done.stdout
    again = subprocess.run([*command, b"--json"], capture_output=True, timeout=120, check=False)
    assert json.loads(again.stdout)["events_before"] == 60
    assert b"\x1b" not in done.stdout + done.stderr + again.stdout + again.stderr
