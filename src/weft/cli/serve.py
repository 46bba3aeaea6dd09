"""`weft serve`: a folder as a service that learns while it answers."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import example, parse_settings, parse_value
from weft.cli.schema_options import schema_options, split_names, told_fields

if TYPE_CHECKING:
    from weft.brokers.address import Address
    from weft.serve.folder import Config, Folder

DEFAULT_LEARNER = "auto"
PORT = 8765
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@click.command("serve", epilog=example(
    "weft serve spam",
    """curl -s localhost:8765/v1/learn -d '{"task": "ann", "x": {"free": 1}, "y": 1}'""",
    """curl -s localhost:8765/v1/predict -d '{"task": "ann", "x": {"free": 1}}'""",
))  # fmt: skip
@click.argument("folder", metavar="DIR")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; others than this need tokens.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--learner", metavar="NAME", help=f"Learner of a new folder.  [default: {DEFAULT_LEARNER}]")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the learner.")
@click.option("--classes", metavar="NEGATIVE,POSITIVE", help="The two labels of a new folder, if they are not numbers.")
@click.option("--task", "task", metavar="FIELDS", help="Field of a record that names the task.")
@click.option("--label", "label", metavar="FIELD", help="Field of a record with the label.")
@schema_options
@click.option("--from-model", metavar="MODEL", help="Begin a new folder with the model in this file.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="ADDRESS",
    help="Also learn what a broker has: kafka://, redis:// or nats://; may be repeated.",
)
@click.option("--dead-letters", metavar="FILE", help="For messages that cannot be used.  [default: in DIR]")
@click.option("--remember-for", metavar="TIME", help="Keep remembered predictions so long: 90d, 12h.  [default: 90d]")
@click.option(
    "--recognise",
    type=click.IntRange(min=1),
    metavar="N",
    help="Recognise an id within so many later entries.  [default: 1000000]",
)
@click.option(
    "--keep-log",
    metavar="N|all",
    help="Entries of the log to keep; fewer than all end replay and rollback.  [default: all]",
)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    metavar="N",
    help="Write the model every N entries.",
)
@click.option("--most-bytes", type=click.IntRange(min=1), default=1 << 20, show_default=True, help="Of a JSON body.")
@click.option("--most-features", type=click.IntRange(min=1), default=10_000, show_default=True, help="Of an event.")
@click.option(
    "--longest-name",
    type=click.IntRange(min=1),
    default=1024,
    show_default=True,
    help="Characters of a task, a feature or an id.",
)
@click.option(
    "--longest-queue",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="Requests that wait to be learned.",
)
@click.option(
    "--most-connections", type=click.IntRange(min=1), default=2_000, show_default=True, help="Open at one time."
)
@click.option(
    "--most-seconds",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="For the head and for the body of a request.",
)
def command(**given: Any) -> None:
    """Serve DIR: answer predictions, and learn durably, over HTTP.

    DIR is made if it is not there. Everything that is learned is in a log on disk before it is acknowledged;
    after a crash the same command goes on with the same model, bit for bit. A folder without tokens is served
    on 127.0.0.1 only; weft token add makes tokens. SIGTERM finishes what is queued, writes a checkpoint and
    leaves with 0. Lines about the service go to standard error, one JSON object each.
    """
    fields = told_fields(given)
    given["fields"] = fields | {name: given[name] for name in ("label",) if given[name]}
    if given["task"]:
        names = split_names(given["task"])
        given["fields"]["task"] = names if len(names) > 1 else names[0]
    _serve(given)


def _serve(given: dict[str, Any]) -> None:
    expect_extra()
    from weft.serve.folder import Folder
    from weft.serve.limits import Limits
    from weft.serve.log import Broken
    from weft.serve.run import BROKEN, OF_THE_DISK, Asked, serve
    from weft.store.problems import sentence

    limits = Limits(
        body=given["most_bytes"], line=given["most_bytes"], features=given["most_features"],
        name=given["longest_name"], queue=given["longest_queue"], connections=given["most_connections"],
        seconds=given["most_seconds"],
    )  # fmt: skip
    sources = _sources(given["sources"])
    folder = Folder(given["folder"])
    try:
        folder.locked()
        config = configured(folder, given)
        asked = Asked(given["host"], given["port"], limits, given["checkpoint_every"], sources, given["dead_letters"])
        code = serve(folder, config, asked)
    except (Broken, OSError) as error:
        if isinstance(error, OSError) and error.errno not in OF_THE_DISK:
            raise
        from weft.cli.main import Failure

        raise Failure(str(error) if isinstance(error, Broken) else sentence(error), BROKEN) from None
    finally:
        folder.unlock()
    raise click.exceptions.Exit(code)


def _sources(texts: tuple[str, ...]) -> "tuple[Address, ...]":
    """The brokers to read, each once; ValueError if an address, or a package for it, is missing."""
    from weft.brokers.address import FORM, is_address, parse_address
    from weft.brokers.opening import open_broker

    for text in texts:
        if not is_address(text):
            raise ValueError(f"--from {text} is not the address of a broker; {FORM}")
    found = tuple(map(parse_address, texts))
    for address in found:
        open_broker(address).close()
    names = list(map(str, found))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"--from {twice} is given twice; leave one of them out")
    return found


def expect_extra() -> None:
    """Refuse to go on without the packages of weft[serve], and say how to install them."""
    from importlib.util import find_spec

    missing = [name for name in ("httptools", "jinja2", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ValueError(f"weft serve needs {', '.join(missing)}; install it with pip install 'weft[serve]'")


def configured(folder: "Folder", given: dict[str, Any]) -> "Config":
    """The configuration of a folder, new or not, with what was told again."""
    import msgspec

    told = _told(given)
    if not folder.is_there:
        return _new(folder, given, told)
    before = folder.config()
    _refuse_other(folder, before, given)
    config = msgspec.structs.replace(before, **told)
    if config != before:
        folder.write(config)
    return config


def _new(folder: "Folder", given: dict[str, Any], told: dict[str, Any]) -> "Config":
    from weft.learners.catalogue import build, parameters_as_json
    from weft.methods.refusals import expect_classes
    from weft.model import load
    from weft.serve.folder import Config

    if given["from_model"]:
        if given["learner"] or given["settings"] or given["classes"] or given["fields"]:
            raise ValueError("--from-model brings its learner and schema; leave --learner, --set, --classes out")
        model = load(given["from_model"])
        base = model.to_bytes()
        config = Config(learner=model.name, parameters=model.parameters, base=base[-32:].hex(), **told)
        folder.make(config, base)
        return config
    learner = build(given["learner"] or DEFAULT_LEARNER, parse_settings(given["settings"]))
    classes = _classes(given["classes"])
    if classes is not None:
        expect_classes(learner, classes)
    schema = _schema(given)
    config = Config(
        learner=learner.name, parameters=parameters_as_json(learner), classes=classes, schema=schema, **told
    )
    folder.make(config)
    return config


def _refuse_other(folder: "Folder", config: "Config", given: dict[str, Any]) -> None:
    """A folder keeps its learner."""
    from weft.learners.catalogue import build, parameters_as_json

    if given["from_model"]:
        raise ValueError(f"{folder.path} has a model already; leave --from-model out, or choose another folder")
    if given["classes"] and _classes(given["classes"]) != config.classes:
        raise ValueError(f"{folder.path} was made with other classes; leave --classes out")
    if given["fields"] and _schema(given) != config.schema:
        raise ValueError(f"{folder.path} was made with another schema; leave the options of fields out")
    name = given["learner"] or config.learner
    asked = parameters_as_json(build(name, {**config.parameters, **parse_settings(given["settings"])}
                                     if name == config.learner else parse_settings(given["settings"])))  # fmt: skip
    if name != config.learner:
        raise ValueError(f"{folder.path} is served by {config.learner}, not {name}; leave --learner out")
    held = parameters_as_json(build(config.learner, config.parameters))
    for parameter, value in asked.items():
        if value != held[parameter]:
            raise ValueError(
                f"{folder.path} was made with {parameter}={held[parameter]}, not {value}; leave --set {parameter} out"
            )


def _classes(text: str | None) -> list[Any] | None:
    return None if text is None else [parse_value(part.strip()) for part in text.split(",")]


def _schema(given: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of records, as JSON, if options say one."""
    from weft.schema import Schema

    if not given["fields"]:
        return None
    if "task" not in given["fields"] or "label" not in given["fields"]:
        raise ValueError("records need a task and a label; name their fields with --task and --label")
    return Schema(**given["fields"]).to_json()


def _told(given: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if given["remember_for"] is not None:
        told["remember_for"] = seconds_of(given["remember_for"])
    if given["recognise"] is not None:
        told["recognise"] = given["recognise"]
    if given["keep_log"] is not None:
        text = given["keep_log"]
        if text != "all" and not (text.isascii() and text.isdigit() and int(text) > 0):
            raise ValueError(f"--keep-log is {text!r}; write a number of entries, or all")
        told["keep_log"] = None if text == "all" else int(text)
    return told


def seconds_of(text: str) -> float:
    """A time in words: 90d, 12h, 30m, 45s.

    >>> seconds_of("90d"), seconds_of("1.5h")
    (7776000.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if found is None or float(found[1]) == 0.0:
        raise ValueError(f"{text!r} is not a time; write a number and a unit, such as 90d, 12h, 30m or 45s")
    return float(found[1]) * _UNITS[found[2]]


def service_folder(path: str) -> Path:
    """The folder of a service; ValueError if it is not one."""
    from weft.serve.folder import Folder

    Folder(path).config()
    return Path(path)
