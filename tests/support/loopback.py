"""Ports of this machine, for tests that run beside each other."""

import socket


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
