"""The features of the app: a folder for each, listed in `jaxtui.registry`."""
