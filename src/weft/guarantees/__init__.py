"""Theorems of the papers, evaluated on the record of a run."""
