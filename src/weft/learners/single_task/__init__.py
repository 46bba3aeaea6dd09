"""One model per task, or one for all."""
