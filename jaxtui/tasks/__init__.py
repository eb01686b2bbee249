"""The measuring core: jax and numpy, no UI, no processes; yields events."""
