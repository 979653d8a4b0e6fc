"""`python -m fabricdoc`: the same program as the installed `fabricdoc` command."""

from fabricdoc.cli import run

if __name__ == "__main__":
    run()
