"""The mathematics as pure functions: losses, norms and their duals, step sizes, kernels, task graphs."""
