"""What JAX and XLA make of a case, stage by stage, here or for a TPU elsewhere."""
