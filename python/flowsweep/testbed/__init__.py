"""One run's description to one captured run, on emulated hosts of this machine.

`runner` (outside) starts `hub` (inside a private set of Linux namespaces), which
builds the hosts (`topology`), starts the emulator and the capture agents
(`agents`), measures the idle path (`probe`), runs the program (`launch`), and
decides whether the run counts (`validity`).
"""
