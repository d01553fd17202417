"""The flags of attune-server, as its --help tells them."""

import re


def default_seconds(help_text, flag):
    """The default of a duration in whole seconds. CLI11 2.1 writes TYPE=5s, and 2.4 TYPE [5s]."""
    return int(re.search(rf"--{flag} \S+?(?:=| \[)(\d+)s", help_text)[1])


def drain_seconds(help_text):
    """How long a stop takes at most."""
    return sum(default_seconds(help_text, flag) for flag in ("drain-delay", "drain-timeout"))
