"""The only sampler: clocks, turns, and what disturbs them."""
