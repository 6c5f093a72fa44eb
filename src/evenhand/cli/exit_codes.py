"""Exit codes, the same for every command."""

USER_ERROR = 2
"""Something that the user can mend: a missing file, a wrong option."""

CONDITION_HOLDS = 4
"""A ``--fail-if`` condition is met."""

INTERRUPTED = 130
"""Stopped with Ctrl-C."""
