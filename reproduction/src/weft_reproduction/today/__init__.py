"""Which learner to take today: the whole catalogue and its peers on every binary stream, one event at a time."""

from typing import Any

from weft_reproduction.default.streams import BINARY
from weft_reproduction.experiment import Experiment, Figures, Settings
from weft_reproduction.peers import is_here
from weft_reproduction.today.protocol import Events, Passed, events, pass_of, pass_of_peer, too_large, tried
from weft_reproduction.today.report import report
from weft_reproduction.today.rows import ROWS, Row

# Seeds of the orders; everything was settled on others, see ABOUT.
ORDERS = (202,)
MOST_EVENTS = 6000
STREAMS = tuple(name for name in BINARY if name != "landmine19")
"""landmine19 has rows of landmine29 and no others."""
QUICK_STREAMS, QUICK_EVENTS, QUICK_PART = ("landmine29", "pkdd06a"), 600, 0.05
"""A quick run has this part of the limits on sizes."""
ABOUT = """Every learner of the catalogue, the default among them, beside Vowpal Wabbit, river and scikit-learn, on
every set whose labels are yes and no: the errors of predictions that are made before the label is seen, their log-loss
where scores are log-odds, the area under the ROC curve (AUC) over all tasks together, time and memory. A stream is the
first 6,000 events of one random order of a set, one event a round; tasks are not announced.

On the leading tenth, the one parameter of a learner or peer is chosen by the errors made there, among the defaults and
a grid; all that is reported is about the other nine tenths. Each row has the error with what was chosen, and beside it
with the defaults. auto and adaptive have nothing to choose, nor have Perceptrons, whose errors do not depend on a step
size; learners on a budget keep their 200 rows.

auto and adaptive scale rows themselves, and get them raw. All others get them as a careful user prepares them: square
roots of counts in rows of length 1, dense columns standardised over the whole set, which looks ahead. The other
learners of the catalogue have no intercept, and get a constant column: 1 beside standardised columns, 0.2 in rows of
length 1. Vowpal Wabbit crosses the task with every feature (-q) and runs on raw and on prepared rows; river and
scikit-learn have a model per task. river's running standardisation, the recipe of its documentation, spoils rows of
words, which are zero in most columns: so river runs on raw rows behind it (scaler), and without it on prepared rows.

What was settled on what: the constant column on the leading 600 events of order 200 of every set, by the errors of five
learners (perceptron, pa, foml, mt-ogd, mt-ftrl) with their defaults and columns of 0, 0.1, 0.3 and 1. 0.2 itself was
not tried, and errors of other runs, on order 100, had been seen before. Then all tables were made on order 200; with
them in sight, river got its row on prepared rows, and rates of 1 and 3 (10 was tried as well), which erred less on the
leading tenths of three sets of texts; and limits on sizes were set by the time that cells had taken. The order reported
is another one, 202, which was looked at only after all of this was settled.

Rounds hold one event: so the norms of the shared-loss learners make no difference, the attention of osmtl-e and osmtl-t
stays where it starts, and the penalties of romco-nucl and romco-logd act once an event. Models of mt-eg and its kind
are weights that sum to one, and cannot hold a negative one. Learners that refit are fitted after 50 events, and then
whenever these have doubled. The constants of auto were chosen on other orders of most of these sets, with all their
events: read its rows as those of a default that knows such sets."""


def cells(quick: bool) -> list[Settings]:
    """A cell is a row of the tables on a stream; peers only if they are installed."""
    streams, rows, part = (QUICK_STREAMS, QUICK_EVENTS, QUICK_PART) if quick else (STREAMS, MOST_EVENTS, 1.0)
    return [
        _cell(row, name, order, rows, part)
        for order in ORDERS
        for name in streams
        for row in ROWS.values()
        if not row.peer or is_here(row.peer)
    ]


def _cell(row: Row, stream: str, order: int, rows: int, part: float) -> Settings:
    who: Settings = {"peer": row.peer} if row.peer else {"learner": row.learner, "fixed": dict(row.fixed), "part": part}
    where = {"stream": stream, "order": order, "rows": rows, "form": row.form}
    return {"row": row.name, **who, "choices": row.choices, **where}


def run(settings: Settings) -> Figures:
    """Errors of the choices on the leading tenth; figures of the defaults and of the best choice after it."""
    given = events(settings["stream"], settings["form"], settings["order"], settings["rows"])
    if "peer" in settings:
        return tried(lambda parameters, part: _peer(settings["peer"], parameters, part), settings["choices"], given)
    learner, fixed = settings["learner"], settings["fixed"]
    reason = too_large(learner, given, settings["part"])
    if reason:
        return {"too_large": reason}
    return tried(lambda parameters, part: pass_of(learner, fixed | parameters, part), settings["choices"], given)


def _peer(peer: str, parameters: dict[str, Any], part: Events) -> Passed:
    return pass_of_peer(peer, next(iter(parameters.values()), None), part)


EXPERIMENT = Experiment(
    name="today",
    title="Which learner to take: the whole catalogue and its peers on every binary stream",
    paper="weft's own",
    data=(
        "landmine", "pkdd06b", "pkdd06a", "mtl16", "sentiment4", "pu_spam", "mhc1", "movielens_cf", "emnist_byclass",
        "reuters21578", "rcv1_2316", "school",
    ),
    cells=cells,
    run=run,
    report=report,
    about=ABOUT,
)  # fmt: skip
