"""The type system: artifact types, value types, column schemas; what may flow into what."""
