"""The meaning of figures: pure functions over records, without JAX or a screen."""
