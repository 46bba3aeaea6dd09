"""The published tables and figures, each in a module that reads like the section of the paper it comes from."""
