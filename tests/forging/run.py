"""Many forged files of every setting, as a program and for the tests."""

import copy
import traceback
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contracts.settings import SETTINGS, Setting
from contracts.streams import make_events
from forging.changes import forge
from forging.trial import trial
from weft.storage import pairs
from weft.store.codec import decode, encode


@dataclass
class Report:
    """How many files were refused and accepted, and what went wrong."""

    refused: int = 0
    accepted: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def states(self) -> int:
        return self.refused + self.accepted + len(self.failures)


FORMS = (("single", "named", 1 << 23), ("rounds", "sparse", 40))
"""Kinds of streams that the model in a file has learned, and the limit beyond which its pairs are hashed."""


def forge_many(setting: Setting, count: int, seed: int, report: Report) -> None:
    """Forged files of one setting; half of them with tables of pairs, half with hashed ones."""
    before = pairs.DENSE_LIMIT
    try:
        for at, (kind, form, limit) in enumerate(FORMS):
            pairs.DENSE_LIMIT = limit
            header, arrays = _valid(setting, kind, form)
            events = make_events(setting.target, kind, form, seed=seed % 5, rounds=8)
            assert trial(encode(header, arrays), events) == "accepted"
            for number in range(at, count, len(FORMS)):
                _one(setting, (header, arrays), events, (seed, number), report)
    finally:
        pairs.DENSE_LIMIT = before


def _valid(setting: Setting, kind: str, form: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    model = setting.model()
    model.learn(make_events(setting.target, kind, form, seed=1, rounds=24).stream())
    return decode(model.to_bytes())


def _one(setting: Setting, valid: Any, events: Any, seed: tuple[int, int], report: Report) -> None:
    rng = np.random.default_rng((*seed, *str(setting).encode()))
    header, arrays = copy.deepcopy(valid)
    done = forge(rng, header, arrays)
    try:
        if trial(encode(header, arrays), events) == "refused":
            report.refused += 1
        else:
            report.accepted += 1
    except Exception:  # whatever it is, it is a finding
        last = "".join(traceback.format_exc().splitlines(keepends=True)[-5:])
        report.failures.append(f"{setting} {events.kind} seed {seed} after {', '.join(done)}:\n{last}")


def forge_all(count: int, seed: int, names: str = "") -> Report:
    """About `count` forged files over all settings whose name contains `names`."""
    report = Report()
    chosen = [setting for setting in SETTINGS if names in str(setting)]
    for at, setting in enumerate(chosen):
        forge_many(setting, (count * (at + 1)) // len(chosen) - (count * at) // len(chosen), seed, report)
    return report
