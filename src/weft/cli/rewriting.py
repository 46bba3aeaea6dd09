"""Changing a model file in place: whoever learns it meanwhile waits, and files that were learned stay learned."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Report = TypeVar("Report")


def rewrite(model_path: str, change: Callable[[Any], Report]) -> Report:
    """Change the model in a file; returns what `change` returns."""
    from weft.cli.learning import ModelFile, progress_of
    from weft.cli.model_lock import locked
    from weft.cli.progress_file import progress_path
    from weft.reductions.per_class import load
    from weft.store.files import Output

    path = Path(model_path)
    load(path)  # a file that is not a model is refused before there is a lock beside it
    with locked(path):
        model = load(path)
        report = change(model)
        if progress_path(path).exists():
            state = progress_of(path, new=False, restart=False, keep_position=False)
            ModelFile(path, model, state).save(state.sources)
        else:
            with Output(path) as output:
                model.write_to(output.write)
    return report
