"""A run on machines that ssh reaches without a password: see `testbed.machines`."""
