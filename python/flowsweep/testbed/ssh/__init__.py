"""Makes runs on machines that ssh reaches without a password: see `testbed.machines`."""
