"""Machine code from Python text: decorators and their cache, vector registers, bundles of arrays, BLAS threads."""
