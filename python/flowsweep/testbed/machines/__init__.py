"""A run on real machines over ssh: the same experiment file, the same run directory.

`machines` makes the run; on each machine a `keeper.sh` changes what must be changed, captures,
and puts everything back when it is told to, when our end of the connection goes away, or, if it
was killed itself, when the next one starts.
"""
