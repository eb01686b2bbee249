"""The nouns and the spine: records, the engine process, the session, the history."""
