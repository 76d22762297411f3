"""Statistics of a sweep: medians, intervals, thresholds, and the verdict in words."""
