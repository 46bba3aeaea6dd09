"""The learners: one folder per family, the catalogue, and what families share."""
