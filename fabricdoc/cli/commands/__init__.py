"""One module per group of commands; each has `register(app)` (or `build()`) and functions without logic."""
