"""A real attune-server on loopback ports of its own, for tests in Python. ATTUNE_SERVER_BINARY names
the program."""

import json
import os
import re
import signal
import subprocess
import urllib.request


class Server:
    """Serves the model folder in f32 until stop(). Of the addresses, only gRPC's may have a host
    other than 127.0.0.1."""

    def __init__(self, model, *flags, grpc_address="127.0.0.1:0", http_address="127.0.0.1:0",
                 ops_address="127.0.0.1:0", drain_delay="0s"):
        self.process = subprocess.Popen(
            [os.environ["ATTUNE_SERVER_BINARY"], "--model", str(model), "--precision", "f32",
             "--grpc-address", grpc_address, "--http-address", http_address,
             "--ops-address", ops_address, "--drain-delay", drain_delay, "--access-log", "false",
             *flags],
            stderr=subprocess.PIPE, text=True)
        self.address = None  # of gRPC
        self.http_address = None
        self.ops_address = None
        for line in self.process.stderr:
            if match := re.search(r'"port":(\d+)', line):
                self.address = f"{grpc_address.split(':')[0]}:{match.group(1)}"
            if match := re.search(r'"http_port":(\d+)', line):
                self.http_address = f"127.0.0.1:{match.group(1)}"
            if match := re.search(r'"ops_port":(\d+)', line):
                self.ops_address = f"127.0.0.1:{match.group(1)}"
            if '"serving"' in line:
                break
        if self.http_address is None:
            raise RuntimeError("the server did not start")

    @property
    def url(self):
        return f"http://{self.http_address}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()

    def call(self, method, request):
        body = json.dumps(request).encode()
        with urllib.request.urlopen(urllib.request.Request(
                f"{self.url}/v1/{method}", body, {"Content-Type": "application/json"})) as reply:
            return json.load(reply)

    def calls(self, method):
        """How many it has had, over gRPC and HTTP, by its own count."""
        with urllib.request.urlopen(f"http://{self.ops_address}/metrics") as metrics:
            text = metrics.read().decode()
        return float(re.search(rf'attune_rpc_started_total{{method="{method}"}} (\S+)', text)[1])
