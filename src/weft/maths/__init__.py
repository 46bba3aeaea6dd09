"""Mathematics as pure functions: losses, norms and their duals, step sizes, kernels, proximal steps."""
