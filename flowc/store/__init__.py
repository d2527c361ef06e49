"""The metadata and artifact store."""
