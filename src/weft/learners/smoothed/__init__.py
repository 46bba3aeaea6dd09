"""Adaptive smoothed learners (Murugesan, Liu, Carbonell and Yang 2016)."""
