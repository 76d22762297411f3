"""Writes the messages of a run in the formats of other programs: `flowsweep export`."""
