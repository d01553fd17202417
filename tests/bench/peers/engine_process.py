"""An engine in a process of its own that computes only while it is asked something."""

import json
import os
import signal
import subprocess


class EngineProcess:
    """Talks JSON lines with `argv`, pinned to `cpus`. Between questions the whole process is
    stopped (SIGSTOP), so that a thread pool that spins for more work cannot disturb the engine
    whose turn it is."""

    def __init__(self, argv, cpus, environment, log):
        self.argv = [str(argument) for argument in argv]
        self.process = subprocess.Popen(
            self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            env=os.environ | environment, preexec_fn=lambda: os.sched_setaffinity(0, cpus))

    def ask(self, **command):
        process = self.process
        process.send_signal(signal.SIGCONT)
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.argv[:4]} ended with status {process.wait()}")
        process.send_signal(signal.SIGSTOP)
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.argv[0]}: {command}: {answer['error']}")
        return answer

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
