"""Batches, rows, and the arrays of a state: their axes, growth, (task, feature) pairs, buffers for single events."""
