"""One loss shared by all tasks of a round (Dekel, Long and Singer 2007)."""
