"""Turns rows into figures, tables and the page."""
