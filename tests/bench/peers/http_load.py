"""A closed loop of HTTP clients, light enough to run beside the server that it measures: requests
are encoded beforehand and answers are not parsed. Reports what `attune bench` reports."""

import asyncio
import math
import resource
import time


def own_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def encode_request(path, body):
    head = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


def percentile(ordered, percent):
    """The smallest value that `percent` of the ascending values do not exceed; 0 of none."""
    if not ordered:
        return 0
    return ordered[max(0, math.ceil(percent / 100 * len(ordered) - 1e-9) - 1)]


class ClosedLoop:
    """`clients` connections to 127.0.0.1:`port`, each of which sends the next of `requests`, pairs
    of bytes and tokens, when it has its answer."""

    def __init__(self, port, requests, clients):
        self.port = port
        self.requests = requests
        self.clients = clients
        self.sent = 0
        self.answers = []  # (when, seconds, tokens)
        self.errors = {}

    def run(self, warmup, seconds):
        """Blocks for `warmup` unmeasured and then `seconds` measured seconds, and the last answers."""
        return asyncio.run(self._run(warmup, seconds))

    async def _run(self, warmup, seconds):
        begin = time.monotonic() + warmup
        end = begin + seconds
        tasks = [asyncio.create_task(self._client(begin, end)) for _ in range(self.clients)]
        await asyncio.sleep(warmup)
        cpu = own_cpu_seconds()
        await asyncio.gather(*tasks)
        return self._report(begin, own_cpu_seconds() - cpu)

    async def _client(self, begin, end):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while (now := time.monotonic()) < end:
            request, tokens = self.requests[self.sent % len(self.requests)]
            self.sent += 1
            writer.write(request)
            status = await self._read_answer(reader)
            answered = time.monotonic()
            if now < begin:
                continue
            if status == 200:
                self.answers.append((answered, answered - now, tokens))
            else:
                self.errors[str(status)] = self.errors.get(str(status), 0) + 1
        writer.close()

    @staticmethod
    async def _read_answer(reader):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        await reader.readexactly(int(headers["content-length"]))
        return int(lines[0].split()[1])

    def _report(self, begin, cpu_seconds):
        elapsed = max((when for when, _, _ in self.answers), default=begin) - begin
        milliseconds = sorted(seconds * 1e3 for _, seconds, _ in self.answers)
        by_tokens = {}
        for _, seconds, tokens in self.answers:
            length = max(16, 1 << (tokens - 1).bit_length())
            by_tokens.setdefault(length, []).append(seconds * 1e3)
        tokens = sum(tokens for _, _, tokens in self.answers)
        return {
            "requests": len(self.answers) + sum(self.errors.values()),
            "texts_per_second": len(self.answers) / elapsed if elapsed else 0,
            "tokens_per_second": tokens / elapsed if elapsed else 0,
            "latency_ms": {f"p{percent}": percentile(milliseconds, percent)
                           for percent in (50, 90, 99, 99.9)},
            "latency_ms_by_tokens": [
                {"max_tokens": length, "requests": len(values),
                 "p50": percentile(sorted(values), 50), "p99": percentile(sorted(values), 99)}
                for length, values in sorted(by_tokens.items())],
            "errors": self.errors, "not_sent": 0, "client_cpu_seconds": cpu_seconds}
