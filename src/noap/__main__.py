"""`python -m noap` is the command line."""

from noap.cli import main

if __name__ == "__main__":
    main()
