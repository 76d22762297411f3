"""Files and locks: reads input files within limits and writes output files atomically."""
