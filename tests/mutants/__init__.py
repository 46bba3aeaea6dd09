"""Mutants: does a test fail when one line of a kernel is wrong? `make mutants` runs this package; `docs/mutants.md` explains it."""
