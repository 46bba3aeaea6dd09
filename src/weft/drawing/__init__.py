"""Pictures as SVG: one writer for `weft inspect --plot`, reports, the experiments and the documents."""
