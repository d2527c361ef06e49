"""How values become files and come back: one small module for each family of types."""
