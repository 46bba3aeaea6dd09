"""How the text becomes machine code: compiling and its cache, vector registers, bundles of arrays, BLAS threads."""
