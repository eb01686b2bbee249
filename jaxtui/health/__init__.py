"""Is this machine all right? Plans the check, follows it, and judges: without JAX."""
