"""One module per reader of variables: its quoting rules with their source, as a `FORMAT` (see `export.formats`)."""
