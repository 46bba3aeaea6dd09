"""`weft policy`: shown and set in a file, for tasks that are known and for those that are not."""

import json

import weft


def test_a_policy_is_set_shown_and_kept(weft_command, events, tmp_path):
    weft_command("learn", events, "--model", "m.weft", "--learner", "adaptive")
    before = (tmp_path / "m.weft").read_bytes()
    assert weft_command("policy", "m.weft", "--task", "ann").stdout == "ann: gives, receives\n"
    assert (tmp_path / "m.weft").read_bytes() == before
    assert weft_command("policy", "m.weft", "--task", "ann", "--no-gives").stdout == "ann: does not give, receives\n"
    told = json.loads(weft_command("policy", "m.weft", "--task", "7", "--no-receives", "--json").stdout)
    assert told == {"task": 7, "gives": True, "receives": False}
    model = weft.load(tmp_path / "m.weft")
    assert model.policies() == {"ann": (False, True), 7: (True, False)}
    assert "was learned already" in weft_command("learn", events, "--model", "m.weft").stdout
    shown = weft_command("inspect", "m.weft").stdout
    assert "ann does not give, receives" in shown
    facts = json.loads(weft_command("inspect", "m.weft", "--json").stdout)
    assert facts["policies"][0] == {"task": "ann", "gives": False, "receives": True}
    weft_command("policy", "m.weft", "--task", "ann", "--gives")
    assert weft.load(tmp_path / "m.weft").policies() == {7: (True, False)}


def test_tasks_that_never_gave_are_found(weft_command, events, tmp_path):
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=False, receives=False)
    model.save(tmp_path / "m.weft")
    weft_command("learn", events, "--model", "m.weft")
    assert "Task bob: 20 events" in weft_command("inspect", "m.weft", "--task", "bob").stdout
    assert "bob" not in weft_command("predict", events, "--model", "m.weft", "--out", "p.csv").stderr
    assert "Forgot bob: 20 events" in weft_command("forget", "m.weft", "--task", "bob").stdout


def test_learners_without_policies_say_so(weft_command, events):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa")
    result = weft_command("policy", "m.weft", "--task", "ann", "--no-gives", code=2)
    assert "pa has no policies of tasks" in result.stderr
