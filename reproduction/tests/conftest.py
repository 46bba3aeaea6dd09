"""`weft reproduce` is called as the other commands are."""

from command_line import weft_command

__all__ = ["weft_command"]
