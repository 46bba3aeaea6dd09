"""What needs a package that is not there says which extra brings it."""

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules[{package!r}] = None; import {module}"


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("weft.sklearn", "sklearn", "sklearn"),
        ("weft.river", "river", "river"),
        ("weft.client.asynchronous", "httpx", "async"),
    ],
)
def test_the_extra_is_named(module, package, extra):
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(module=module, package=package)], capture_output=True, text=True
    )
    assert run.returncode == 1
    assert run.stderr.rstrip().endswith(f"install it with pip install 'weft[{extra}]'")
    assert "During handling" not in run.stderr
