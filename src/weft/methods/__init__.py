"""Methods of a model that have a module of their own: single events, forgetting, and what both and streams refuse."""
