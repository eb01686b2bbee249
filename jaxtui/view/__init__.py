"""Reports and drawings of each capability, once, for every face."""
