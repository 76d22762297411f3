"""Makes runs in a Slurm allocation, whose nodes are the hosts, in the order of Slurm's list.

`allocation` finds the nodes and starts commands on them by `srun`; `links` makes links between
them on request. All else is as on any machines: see `testbed.machines`.
"""
