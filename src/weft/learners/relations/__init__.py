"""Perceptrons with a fixed or learned matrix of task relations (baselines of Murugesan et al. 2016)."""
