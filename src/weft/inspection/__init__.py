"""What a model has learned, as people ask for it: explanations, kept rows."""
