"""The tables of an experiment, and the rows that SQL computes from them."""

from flowsweep.warehouse.catalog import figure_names, reports_folder
from flowsweep.warehouse.database import Warehouse

__all__ = ["Warehouse", "figure_names", "reports_folder"]
