"""The norms of `weft.maths.norms`, under the address that callers know."""

from weft.maths.norms import Interpolation, Lp, Norm, RMax, parse

__all__ = ["Interpolation", "Lp", "Norm", "RMax", "parse"]
