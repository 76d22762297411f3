"""Matches the captures of several hosts of one run: `flowsweep match`."""
