"""Files and locks: what may be read, and how it is written whole or not at all."""
