"""The second generation of the default: experts one by one, and stacks of them, on all streams."""
