"""Zeek's logs: read as their headers say, written as Parquet, compared with our own flows."""
