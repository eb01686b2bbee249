"""The meaning of figures: pure functions over records, without JAX and without a
screen.
"""
