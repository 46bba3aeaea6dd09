"""The published tables and figures run again: a folder per paper, a module per table or figure."""
