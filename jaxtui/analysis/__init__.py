"""What figures mean: pure functions over records, without JAX and without a screen."""
