"""Several real servers of one model, and load on them while one is killed or drained. The environment
names the programs: ATTUNE_SERVER_BINARY and ATTUNE_CLIENT_BINARY."""

import json
import os
import pathlib
import random
import string
import subprocess
import tempfile

from attune_server import Server
from waiting import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Some thousands of calls with the tiny model, and enough of them to see who gets how many.
CALLS = 15000
# Longer than it takes to drain a server and start another.
SECONDS_TO_REPLACE = 7


def attune(*arguments):
    """What the program prints; CalledProcessError if it fails."""
    return subprocess.run([os.environ["ATTUNE_CLIENT_BINARY"], *map(str, arguments)], check=True,
                          capture_output=True, text=True).stdout


def sample_texts():
    """Short and long ones. The tiny model spells them, so no two have the same vector."""
    letters = random.Random(1)
    return ["".join(letters.choices(string.ascii_lowercase, k=length)) for length in range(4, 100)]


class Replicas:
    """A server of a tiny model at each of the gRPC addresses, until stop()."""

    def __init__(self, addresses):
        self._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self._folder.name)
        self._model = folder / "model"
        subprocess.run([ROOT / "deploy/make-demo-model.py", "--into", self._model], check=True,
                       capture_output=True)
        self._texts = folder / "texts.txt"
        self._texts.write_text("\n".join(sample_texts()))
        self.servers = []
        try:
            for address in addresses:
                self.servers.append(self._start(grpc_address=address))
        except BaseException:
            self.stop()
            raise

    def _start(self, **addresses):
        # Long enough for a proxy to see that the server is not ready any more: two health checks.
        return Server(self._model, drain_delay="3s", **addresses)

    def stop(self):
        for server in self.servers:
            server.stop()
        self._folder.cleanup()

    def calls(self):
        """How many calls of Encode each server has had."""
        return [server.calls("Encode") for server in self.servers]

    def replace(self, number, how):
        """Ends a server by the signal `how`, and starts another at its addresses. Returns how the old
        one exited, when the new one has been called."""
        old = self.servers[number]
        old.process.send_signal(how)
        old.process.communicate()
        new = self._start(grpc_address=old.address, http_address=old.http_address,
                          ops_address=old.ops_address)
        self.servers[number] = new
        wait_for(lambda: new.calls("Encode") > 0, "a call of the new server")
        return old.process.returncode

    def load(self, address, disturb=None, replacements=1, clients=8):
        """What `attune bench` reports of calls to `address`, by so many `clients` at a time, with
        `disturb` in the middle of them, which replaces so many servers.
        Each answer is compared with what its text had before. A call that a server or a proxy could
        not finish is made again, as clients do by default."""
        began = sum(self.calls())
        command = [os.environ["ATTUNE_CLIENT_BINARY"], "bench", "--server", address,
                   "--clients", str(clients), "--warmup", "1ms", "--attempts", "4", "--format", "json",
                   "--input", self._texts, "--verify"]
        if disturb:
            command += ["--duration", f"{2 + replacements * SECONDS_TO_REPLACE}s"]
        else:
            command += ["--duration", "5m", "--requests", str(CALLS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bench:
            if disturb:
                wait_for(lambda: sum(self.calls()) > began + 500, "load")
                disturb()
                if bench.poll() is not None:
                    raise AssertionError("the load ended too early to be disturbed")
            report = bench.communicate()[0]
        return json.loads(report)
