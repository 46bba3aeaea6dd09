"""Batch learners that keep all rows and are refitted during the stream."""
