"""The roofs of a device, and what limits each case below them."""
