"""The process boundary: the engine that times, and the client that asks it.

On the screen's side, from the top: ``client`` runs work, whatever becomes of engines on
the way; ``active`` is that work as it is followed, across them; ``connection`` is one
engine from its start to its end; ``startup`` says what a start that lasts is about;
``process`` spawns and kills. In the engine: ``server`` takes requests beside the timing
thread, ``core`` is what it serves, ``outbox`` sends events and never waits. Between the
two, ``protocol``.
"""
