"""The folders of runs: their records, their captures, and the names they may have."""
