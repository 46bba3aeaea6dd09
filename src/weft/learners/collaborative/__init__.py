"""Personal models drawn to a global one (the collaborative baselines of Yang, Zhao and Gao 2017)."""
