"""The folders of runs: their records, captures and names."""
