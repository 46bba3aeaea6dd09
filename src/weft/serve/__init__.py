"""A folder as a service that learns while it answers: log, checkpoints, the writer, routes."""
