"""Dekel, Long and Singer (2007): figures 4 to 6."""
