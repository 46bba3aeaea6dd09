"""What stands behind every text that compiled readers scan."""

PADDING = b'\n"' * 32
"""Compiled readers load whole words, and every search for a byte ends here."""
