"""A tagged notebook, which runs as it is in a kernel and as a pipeline in flowc."""
