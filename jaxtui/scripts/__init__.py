"""Plain Python that does what the screens did, without jaxtui."""
