"""The main job, put together: look, prove, measure, judge, write; the same code for two machines and for the lab.

Rooms below do the work; this one only decides the order and hands results from one to the next. It prints
nothing: progress goes through the callback it is given.
"""

from fabricdoc.workflow.check import check_gate, find_preset, this_hostname
from fabricdoc.workflow.look import look, look_once, with_cables
from fabricdoc.workflow.measure import Measured, Prepared, Request, measure, opened_agents, prepare
from fabricdoc.workflow.recommend import Recommended, latest_preset, recommend
from fabricdoc.workflow.words import read_duration, read_objective, read_size, read_sizes

__all__ = [
    "Measured",
    "Prepared",
    "Recommended",
    "Request",
    "check_gate",
    "find_preset",
    "latest_preset",
    "look",
    "look_once",
    "measure",
    "opened_agents",
    "prepare",
    "read_duration",
    "read_objective",
    "read_size",
    "read_sizes",
    "recommend",
    "this_hostname",
    "with_cables",
]
