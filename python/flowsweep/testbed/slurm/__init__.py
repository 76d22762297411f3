"""Runs in an allocation of Slurm: its nodes are the hosts, in the order in which Slurm lists them.

`allocation` knows the nodes and starts commands on them by `srun`; `links` makes links between
them where that was asked for. All else is as on any machines: see `testbed.machines`.
"""
