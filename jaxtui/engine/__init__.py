"""The process boundary: the engine that times, and the client that asks it."""
