"""Makes runs on real machines, with the same experiment files and run directories.

`make` makes the run; a `reach` runs commands on the machines, in a way of its own for each kind of
testbed. On each machine, a `keeper` changes settings and captures. It restores the settings when it
gets the command to, when our end of the connection closes, or, if it was killed, when the next
keeper starts.
"""
