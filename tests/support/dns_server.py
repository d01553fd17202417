"""A name server that knows one thing, for tests of clients that resolve names."""

import socket
import struct
import threading

A, IN, SECONDS = 1, 1, 1
ANSWER, AUTHORITATIVE = 0x8000, 0x0400


class DnsServer:
    """Answers on a loopback port, until stop(), that every name has these IPv4 addresses."""

    def __init__(self, hosts):
        self._records = [struct.pack(">HHHIH", 0xC00C, A, IN, SECONDS, 4) + socket.inet_aton(host)
                         for host in hosts]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def stop(self):
        host, port = self.address.split(":")
        self._socket.sendto(b"", (host, int(port)))
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while True:
            query, client = self._socket.recvfrom(512)
            if not query:
                return
            self._socket.sendto(self._reply(query), client)

    def _reply(self, query):
        """RFC 1035, section 4: a header of 12 bytes, the question, the answers."""
        number, = struct.unpack(">H", query[:2])
        end_of_name = query.index(0, 12) + 1
        question = query[12:end_of_name + 4]
        kind, = struct.unpack(">H", query[end_of_name:end_of_name + 2])
        records = self._records if kind == A else []
        header = struct.pack(">HHHHHH", number, ANSWER | AUTHORITATIVE, 1, len(records), 0, 0)
        return header + question + b"".join(records)
