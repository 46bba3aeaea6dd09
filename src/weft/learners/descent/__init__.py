"""Multitask online mirror descent (Cesa-Bianchi, Laforgue, Paudice and Pontil 2022)."""
