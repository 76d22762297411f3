"""What happened in a run, in the formats of other programs: `flowsweep export`."""
