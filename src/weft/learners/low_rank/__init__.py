"""Low rank + personal models (Yang, Zhao and Gao 2017)."""
