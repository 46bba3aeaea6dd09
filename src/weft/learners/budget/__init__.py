"""Kernel Perceptrons on a graph of tasks, within a budget of rows (Cavallanti and Cesa-Bianchi 2012)."""
