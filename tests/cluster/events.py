"""Files of events for tests of learning in shards."""

import json

import numpy as np


def write_events(path, count=400, seed=5, square=False, tasks=23):
    """Events of tasks that are alike, with features that come late."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=12)
    own = shared + 0.5 * rng.normal(size=(tasks, 12))
    lines = []
    for n in range(count):
        k = int(rng.integers(tasks))
        x = {f"f{j}": round(float(rng.normal()), 3) for j in rng.permutation(12)[:5] if j < 4 + n // 20}
        score = sum(value * own[k][int(name[1:])] for name, value in x.items()) + 0.3 * rng.normal()
        y = round(float(score), 3) if square else 1 if score > 0 else -1
        lines.append(json.dumps({"task": f"user {k}" if k % 3 else k, "x": x, "y": y}))
    path.write_text("\n".join(lines) + "\n")
    return str(path)
