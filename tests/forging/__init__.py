"""Forged model files: valid ones with some of their contents replaced, and what a model may do with them.

`python -m forging --states 20000` runs it at length; `tests/contracts/test_forged.py` runs some of it.
"""
