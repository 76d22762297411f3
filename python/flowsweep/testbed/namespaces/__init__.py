"""A run on emulated hosts of this machine, in private Linux namespaces.

`isolation` (outside) starts `hub` (inside), which builds the hosts (`topology`), puts the links in
place (`backend`: flowsweep-wan by `emulation`, or `netem`), starts the capture agents (`agents`),
measures the idle path (`probe`), runs the program while it looks at what the machine gives it
(`watch`), and decides whether the run counts (`validity`).
"""
