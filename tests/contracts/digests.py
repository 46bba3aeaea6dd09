"""What every setting makes of a fixed set of streams, as digests. Run as a program: the same, as JSON."""

import hashlib
import json

import weft
from contracts.settings import SETTINGS, Setting
from contracts.streams import VARIETIES, make_events
from weft.compiled import jit
from weft.storage import pairs


def digest(setting: Setting, kind: str, form: str, limit: int) -> str:
    """Scores, support or weights and the whole file, in one number."""
    before, pairs.DENSE_LIMIT = pairs.DENSE_LIMIT, limit
    try:
        events = make_events(setting.target, kind, form, seed=51, rounds=24)
        model = setting.model()
        found = hashlib.blake2b(digest_size=12)
        found.update(model.learn(events.piece(0, 14).stream()).tobytes())
        for at in range(14, 24):
            piece = events.piece(at, at + 1)
            if kind == "single" and form == "named":
                x, y = piece.table()[0], None if setting.target == "point" else piece.labels[0]
                scores = [model.predict_one(x, piece.tasks[0]), model.learn_one(x, y, piece.tasks[0])]
                found.update(json.dumps(scores).encode())
            else:
                found.update(model.learn(piece.stream()).tobytes())
        found.update(model.score(events.table(), list(events.tasks)).tobytes())
        found.update(model.to_bytes())
        return found.hexdigest()
    finally:
        pairs.DENSE_LIMIT = before


def digests() -> dict[str, str]:
    return {
        f"{setting} {kind} {form} {layout}": digest(setting, kind, form, limit)
        for setting in SETTINGS
        for kind, form in VARIETIES
        for layout, limit in (("dense", 1 << 23), ("switching", 40))
    }


if __name__ == "__main__":
    print(json.dumps({"plain": jit.PLAIN, "version": weft.__version__, "digests": digests()}))
