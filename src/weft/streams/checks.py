"""The checks of events that readers have in common: the one place in which labels and rounds of a source are judged."""

from bisect import bisect_right

from weft.storage.lexicon import Lexicon
from weft.streams.events import Events, labels_of
from weft.streams.records import Fault, Rounds, Rules, check_labels


class Checks:
    """Checks the events of one source as they come; `classes` are the labels that are known by now."""

    def __init__(self, rules: Rules) -> None:
        self.classes = rules.classes
        self._rules = rules
        self._rounds = Rounds()

    def of(self, events: Events, tasks: Lexicon, labels: Lexicon) -> tuple[Events, list[Fault]]:
        """The events that a model takes, and the faults of the others; codes are those of the lexicons.

        Rounds come last: a row that is refused for another reason does not affect the other rows of its round.
        """
        has_rounds = events.rounds is not None
        faults, self.classes = check_labels(
            labels_of(events, labels), events.line, has_rounds, self._rules, self.classes
        )
        events = events.without({fault.line for fault in faults})
        if events.rounds is not None:
            found = self._rounds.check(events.line.tolist(), events.task.tolist(), events.rounds, tasks.names)
            events = events.without({fault.line for fault in found})
            faults += found
        return events, faults

    def end_rounds(self, events: Events, last: int | None = None) -> None:
        """The rounds of these events, or of those up to the line `last`, have ended: they cannot come again."""
        if events.rounds is not None:
            here = events.rounds if last is None else events.rounds[: bisect_right(events.line, last)]
            self._rounds.ended.update(here)
