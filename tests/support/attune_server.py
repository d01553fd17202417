"""A real attune-server on loopback ports of its own, for tests in Python. ATTUNE_SERVER_BINARY names
the program."""

import json
import os
import re
import signal
import subprocess
import urllib.request


class Server:
    """Serves the model folder in f32 until stop()."""

    def __init__(self, model, *flags, grpc_address="127.0.0.1:0", http_address="127.0.0.1:0",
                 drain_delay="0s"):
        self.process = subprocess.Popen(
            [os.environ["ATTUNE_SERVER_BINARY"], "--model", str(model), "--precision", "f32",
             "--grpc-address", grpc_address, "--http-address", http_address,
             "--ops-address", "127.0.0.1:0", "--drain-delay", drain_delay, "--access-log", "false",
             *flags],
            stderr=subprocess.PIPE, text=True)
        self.address = None  # of gRPC
        self.url = None
        self.ops_address = None
        for line in self.process.stderr:
            if match := re.search(r'"port":(\d+)', line):
                self.address = f"127.0.0.1:{match.group(1)}"
            if match := re.search(r'"http_port":(\d+)', line):
                self.url = f"http://127.0.0.1:{match.group(1)}"
            if match := re.search(r'"ops_port":(\d+)', line):
                self.ops_address = f"127.0.0.1:{match.group(1)}"
            if '"serving"' in line:
                break
        if self.url is None:
            raise RuntimeError("the server did not start")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()

    def call(self, method, request):
        body = json.dumps(request).encode()
        with urllib.request.urlopen(urllib.request.Request(
                f"{self.url}/v1/{method}", body, {"Content-Type": "application/json"})) as reply:
            return json.load(reply)
