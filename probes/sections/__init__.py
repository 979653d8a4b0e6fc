"""The sections of the scan: each reads one part of a node and returns the fields its model wants.

A section takes `root`, a prefix put before every absolute path ("" on a real node, a recorded tree in a
test), returns plain JSON values, and puts `{"unknown": reason}` wherever a value could not be read. No
section judges what it read, writes anything, or starts another program.
"""
