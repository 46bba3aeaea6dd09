"""One session of Ray, in a process of its own, for all that is tested on it: prints what it saw as JSON.

`python -m cluster.ray_session FOLDER`, with `tests` on the path.
"""

import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path

from attacks.cluster_kills import Killer
from cluster.events import write_events
from weft import cluster
from weft.cli.learn import command
from weft.cluster.on_ray import import_ray, on_ray, start
from weft.streams import InputError

LEARNER = sys.argv[2] if len(sys.argv) > 2 else "auto"
RULE = {"shards": 3, "exchange": 50, "save_every": 150}
STRANGER = """
from ray._raylet import GcsClient
try:
    GcsClient(address={address!r})
except Exception as error:
    print(type(error).__name__)
else:
    print("connected")
"""


def listening():
    """The addresses on which processes of Ray listen."""
    sockets = {}
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                text = bytes.fromhex(words[1].split(":")[0])
                raw = b"".join(text[at : at + 4][::-1] for at in range(0, len(text), 4))
                sockets[f"socket:[{words[9]}]"] = ipaddress.ip_address(raw)
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().replace("\0", " ")
            if "gcs_server" in words or "raylet" in words or words.startswith("ray::"):
                found |= {sockets[link] for fd in (process / "fd").iterdir() if (link := os.readlink(fd)) in sockets}
        except OSError:
            continue  # it has ended
    return found


def is_loopback(address):
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def killed(path, staleness):
    """A run in which two actors are killed; whether the model is that of one process."""
    rule = RULE | {"staleness": staleness}
    expected = cluster.learn(path, LEARNER, **rule).model().to_bytes()
    killer = Killer(2, every=2, seed=staleness, longest=0.01)
    found = cluster.learn(
        path, LEARNER, **rule, workers=lambda setup: killer.watching(on_ray(2), setup), on_version=killer
    )
    return [killer.killed, killer.workers.replaced, found.model().to_bytes() == expected]


def bad_line(path):
    """What is said of a line that cannot be read, by an actor."""
    bad = path.with_name("bad.jsonl")
    bad.write_text(path.read_text() + '{"task": "ann", "x": {"f": "?"}, "y": 1}\n')
    try:
        cluster.learn(bad, LEARNER, **RULE, workers=on_ray(1))
    except InputError as error:
        return str(error)


def main():
    folder = Path(sys.argv[1])
    path = folder / "events.jsonl"
    write_events(path)
    ray = import_ray()
    start(ray, None, 2)
    seen = {"loopback": sorted(str(address) for address in listening() if not is_loopback(address))}
    seen["kills"] = [killed(path, staleness) for staleness in (0, 1)]
    seen["bad line"] = bad_line(path)
    command.main(
        [str(path), "--model", str(folder / "m.weft"), "--shards", "3", "--exchange", "50", "--ray",
         "--actors", "2", "--quiet", "--learner", LEARNER],
        standalone_mode=False,
    )  # fmt: skip
    seen["command"] = (folder / "m.weft").read_bytes() == cluster.learn(path, LEARNER, **RULE).model().to_bytes()
    script = STRANGER.format(address=ray.get_runtime_context().gcs_address)
    for who, token in (("stranger", "0" * 64), ("friend", os.environ["RAY_AUTH_TOKEN"])):
        environment = {**os.environ, "RAY_AUTH_TOKEN": token}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=100
        )
        seen[who] = done.stdout.split()[-1:]
    ray.shutdown()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
