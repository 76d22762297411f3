"""Prints captures and rows on a terminal."""
