"""Experiment files: which programs run, on which emulated network, in which order.

`load` reads and checks a file; `Experiment.plan` lists its runs in execution order.
"""

from flowsweep.experiment.load import load
from flowsweep.experiment.model import Experiment, Host
from flowsweep.experiment.network import Link, Tcp
from flowsweep.experiment.points import Point
from flowsweep.experiment.run import Run
from flowsweep.experiment.workload import Workload

__all__ = ["Experiment", "Host", "Link", "Point", "Run", "Tcp", "Workload", "load"]
