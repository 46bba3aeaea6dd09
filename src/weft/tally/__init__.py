"""What learning counts of the scores it issued: over all events (`counts`) and over recent ones (`recent`)."""
