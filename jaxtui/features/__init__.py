"""What a user can ask for: a folder for each, listed in `jaxtui.registry`."""
