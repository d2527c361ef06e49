"""One file for each version of the metadata tables, the first one first."""
