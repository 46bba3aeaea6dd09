"""Norms under their old address; they live in `weft.maths`."""
