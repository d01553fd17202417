"""A server of its own on loopback while it is measured, and `attune bench` to measure it with."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from loopback import free_port  # noqa: E402

START_SECONDS = 60


class ServerProcess:
    """A server on a port of loopback, until the end of the block."""

    def __init__(self, argv, environment=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(argument) for argument in argv], stdout=self.log,
                                        stderr=self.log, env=os.environ | (environment or {}))

    def is_serving(self):
        raise NotImplementedError

    def __enter__(self):
        give_up = time.monotonic() + START_SECONDS
        while not self.is_serving():
            if self.process.poll() is not None:
                self.log.seek(0)
                sys.exit(self.log.read().decode(errors="replace"))
            if time.monotonic() > give_up:
                self.process.kill()
                sys.exit(f"the server did not serve within {START_SECONDS} s")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def cpu_seconds(self):
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self):
        """The most memory it ever had."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024


class AttuneServer(ServerProcess):
    """Measured by `attune bench`. `build` is the folder of the programs."""

    def __init__(self, build, model, *flags, ops_address="off"):
        self.attune = build / "client/attune"
        self.address = f"127.0.0.1:{free_port()}"
        super().__init__([build / "server/attune-server", "--grpc-address", self.address,
                          "--http-address", "off", "--ops-address", ops_address, "--access-log",
                          "false", "--model", model, "--drain-delay", "0s", *flags])

    def is_serving(self):
        return self.run_client("health").returncode == 0

    def run_client(self, *arguments):
        return subprocess.run([self.attune, *map(str, arguments)], capture_output=True, text=True,
                              env=os.environ | {"ATTUNE_SERVER": self.address}, check=False)

    def load(self, texts, duration, warmup, *kind):
        """The report of one run of `attune bench` on the texts of a file, one a line."""
        return self.bench(duration, warmup, "--input", texts, "--input-format", "text", *kind)

    def bench(self, duration, warmup, *kind):
        """The report of one run of `attune bench`."""
        result = self.run_client(
            "bench", "--duration", f"{duration}s", "--warmup", f"{warmup}s",
            "--server-pid", self.process.pid, "--format", "json", *kind)
        if result.returncode != 0:
            sys.exit(f"attune bench failed: {result.stderr}")
        return json.loads(result.stdout)
