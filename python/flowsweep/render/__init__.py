"""Rows to figures, tables and the page."""
