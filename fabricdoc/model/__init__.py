"""The documents fabricdoc speaks: frozen models, no behaviour beyond validation.

Every job reads and writes these; this room imports no other room. It never touches a node, a file or a
terminal. One module per kind; `documents` holds what all of them share, `reasons` puts a
failed launch's raw reason in plain words for all who quote it.
"""
