"""The lessons: a text and a module for each."""
