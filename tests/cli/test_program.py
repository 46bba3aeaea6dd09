"""What users are told to type is what their shell finds."""

import os

from weft.cli import options


def test_by_its_name_where_the_shell_finds_it(monkeypatch):
    monkeypatch.setattr(options.shutil, "which", lambda _: os.path.join("somewhere", "weft"))
    monkeypatch.setattr(options.sys, "argv", [os.path.join("folder", "weft")])
    assert options.program() == "weft"


def test_else_by_the_path_of_the_script(monkeypatch):
    monkeypatch.setattr(options.shutil, "which", lambda _: None)
    monkeypatch.setattr(options.sys, "argv", [os.path.join(os.getcwd(), ".venv", "bin", "weft")])
    assert options.program() == os.path.join(".venv", "bin", "weft")
    monkeypatch.setattr(options.sys, "argv", [os.path.join("lib", "pytest", "__main__.py")])
    assert options.program() == "weft"
