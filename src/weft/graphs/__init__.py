"""The task graph: reading it, its components, its interaction matrix and the relations that follow."""
