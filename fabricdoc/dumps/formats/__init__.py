"""One module for each tool whose output is read: which lines are its own, and the facts on them."""
