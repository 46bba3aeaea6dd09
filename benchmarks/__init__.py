"""Speed of weft beside its peers, measured in one run: `make bench`."""
