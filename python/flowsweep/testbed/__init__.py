"""One run's description to one captured run, on emulated hosts of this machine or over ssh.

`describe` makes the description of a planned run. `runner` (outside) starts `hub` (inside a
private set of Linux namespaces), which builds the hosts (`topology`), puts the links in place
(`backend`: flowsweep-wan by `emulation`, or `netem`), starts the capture agents (`agents`),
measures the idle path (`probe`), runs the program (`program`, `launch`) while it looks at what
the machine gives it (`watch`), and decides whether the run counts (`validity`). For real
machines `ssh` does the same.
"""
