"""Does a test fail when one line of a kernel is wrong? `make mutants` runs this package; see `docs/mutants.md`."""
