"""Cavallanti and Cesa-Bianchi (2012): table 1."""
