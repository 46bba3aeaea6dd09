"""A model in many threads: `guard` lets many read or one write, `parallel` shares work between processors."""
