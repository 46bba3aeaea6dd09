"""Murugesan, Liu, Carbonell and Yang (2016): figure 1 and table 1."""
