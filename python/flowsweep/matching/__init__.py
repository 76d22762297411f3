"""The captures of several hosts of one run, put together: `flowsweep match`."""
