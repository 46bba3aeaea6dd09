"""Machine code on disk: which folder may hold it, and files that are checked before they are read."""
