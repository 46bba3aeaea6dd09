"""`adaptive` and `auto`: own, shared and pooled models, stacked, with a do-no-harm layer per task."""
