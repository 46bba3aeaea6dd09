"""Records as events, by a schema: one careful encoder that defines everything, and fast ones that give the same."""
