"""`python -m treecrf` is the `treecrf` command."""

from treecrf.cli import main

if __name__ == "__main__":
    main()
