"""Base kernels K(x, z) from dot products: linear, polynomial, Gaussian, with cosine normalisation on request."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.jit import compiled, inlined_only

MOST_DEGREE = 100
LINEAR, POLY, GAUSSIAN = 0, 1, 2
KINDS = {"linear": LINEAR, "poly": POLY, "gaussian": GAUSSIAN}


class KernelCode(NamedTuple):
    """A base kernel as compiled code sees it."""

    kind: int
    degree: int
    gamma: float
    coef0: float
    normalize: bool


@dataclass(frozen=True)
class Kernel:
    """`linear` <x,z>; `poly` (gamma <x,z> + coef0)^degree; `gaussian` exp(-gamma |x-z|^2).

    With `normalize` the kernel is divided by sqrt(K(x,x) K(z,z)); a row with K(x,x) = 0 then has kernel 0 with all.

    >>> Kernel("poly", degree=2).of(1.0, 2.0, 0.5), Kernel("gaussian").of(1.0, 1.0, 1.0)
    (4.0, 1.0)
    """

    name: str = "linear"
    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0
    normalize: bool = False

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            raise ValueError(f"unknown kernel {self.name!r}; choose one of {', '.join(KINDS)}")
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or not 1 <= self.degree <= MOST_DEGREE:
            raise ValueError(f"degree={self.degree!r} must be an integer from 1 to {MOST_DEGREE}")
        for name, low in (("gamma", 0.0), ("coef0", None)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ValueError(f"{name}={value!r} must be a finite number")
            if (low is not None and value <= low) or value < 0:
                raise ValueError(f"{name}={value!r} must be {'>' if low is not None else '>='} 0")
        if not isinstance(self.normalize, bool):
            raise ValueError(f"normalize={self.normalize!r} must be True or False")

    @property
    def code(self) -> KernelCode:
        """For compiled code."""
        return KernelCode(KINDS[self.name], self.degree, float(self.gamma), float(self.coef0), self.normalize)

    def of(self, dot: float, xx: float, zz: float) -> float:
        """K(x, z) from <x,z>, |x|^2 and |z|^2."""
        return float(kernel_value(self.code, dot, xx, zz))

    def as_json(self) -> dict[str, Any]:
        """The dict from which `parse` makes the same kernel."""
        return asdict(self)


def parse(kernel: Any, normalize: bool = False) -> Kernel | None:
    """A kernel from its name, from a dict such as `{"name": "poly", "degree": 3}`, or None for the primal form."""
    if kernel is None or isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return Kernel(kernel, normalize=normalize and kernel != "gaussian")
    if isinstance(kernel, Mapping):
        allowed = {"name", "degree", "gamma", "coef0", "normalize"}
        if unknown := set(kernel) - allowed:
            raise ValueError(f"unknown kernel parameter {sorted(map(str, unknown))[0]!r}; allowed: {sorted(allowed)}")
        name = kernel.get("name", "linear")
        return Kernel(**{"normalize": normalize and name != "gaussian", **kernel, "name": name})
    raise ValueError(f"a kernel is a name ({', '.join(KINDS)}), a dict or None")


@inlined_only
def row_scale(code: KernelCode, xx: float) -> float:
    """What a row's kernels are multiplied by: 1, or with cosine normalisation what makes K(x, x) = 1 (0 if it is 0).

    A polynomial is scaled inside its power, where large rows do not overflow.
    """
    if not code.normalize or code.kind == GAUSSIAN:
        return 1.0
    base = xx if code.kind == LINEAR else code.gamma * xx + code.coef0
    return 1.0 / np.sqrt(base) if base > 0.0 else 0.0


@inlined_only
def scaled_value(code: KernelCode, dot: float, xx: float, zz: float, scale: float) -> float:
    """K(x, z) from <x,z>, |x|^2, |z|^2 and the product of both rows' `row_scale`."""
    if code.kind == LINEAR:
        return dot * scale
    if code.kind == POLY:
        base = (code.gamma * dot + code.coef0) * scale
        power = base
        for _ in range(code.degree - 1):
            power *= base
        return power
    distance = xx + zz - 2.0 * dot
    # Repeated rows must have distance 0: what is left of it is rounding.
    if distance <= 1e-14 * (xx + zz):
        return 1.0
    return math.exp(-code.gamma * distance)


@inlined_only
def self_value(code: KernelCode, xx: float) -> float:
    """K(x, x)."""
    if code.normalize and code.kind != GAUSSIAN:
        return 1.0 if row_scale(code, xx) > 0.0 else 0.0
    return scaled_value(code, xx, xx, xx, 1.0)


@compiled
def kernel_value(code: KernelCode, dot: float, xx: float, zz: float) -> float:
    """K(x, z) from <x,z>, |x|^2 and |z|^2."""
    return scaled_value(code, dot, xx, zz, row_scale(code, xx) * row_scale(code, zz))
