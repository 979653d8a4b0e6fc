"""The demo: the whole main job on two nodes inside this machine, through the code two machines would use."""

from fabricdoc.demo.run import DemoRequest, run_demo

__all__ = ["DemoRequest", "run_demo"]
