"""Attacks on files: every call of the system fails in turn, and processes are killed at random points."""
