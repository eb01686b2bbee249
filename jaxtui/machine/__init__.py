"""The machine seen from outside JAX: what is there, who may use it, who does."""
