"""Yang, Zhao and Gao (2017): tables 2 to 5 and figure 6."""
