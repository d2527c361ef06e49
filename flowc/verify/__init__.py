"""`flowc verify`: a notebook in one fresh kernel against the same notebook as a pipeline, value by value."""
