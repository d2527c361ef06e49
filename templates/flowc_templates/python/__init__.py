"""A pipeline of decorated functions, with a test."""
