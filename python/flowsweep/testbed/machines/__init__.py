"""Makes runs on real machines, with the same experiment file and run directory.

`make` makes the run; a `reach` runs commands on the machines, each kind of testbed in its own way.
On each machine a `keeper` changes what must be changed, captures, and puts everything back when
it is told to, when our end of the connection goes away, or, if it was killed itself, when the next
one starts.
"""
