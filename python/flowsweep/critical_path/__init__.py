"""Finds a run's critical path: the computing and messages that make up its completion time."""
