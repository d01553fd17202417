"""As much of HTTP/2 (RFC 9113) and gRPC as it takes to break their rules: every frame is the test's own.
Header blocks are written without compression, and the peer is told to answer so too."""

import socket
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_BYTES = 16384


def _string(text):
    raw = text.encode("latin-1")
    if len(raw) < 127:
        return bytes([len(raw)]) + raw
    size, prefix = len(raw) - 127, b"\x7f"
    while size >= 128:
        prefix += bytes([size % 128 + 128])
        size //= 128
    return prefix + bytes([size]) + raw


def header_block(headers):
    """HPACK (RFC 7541): literals without indexing."""
    return b"".join(b"\x00" + _string(name) + _string(value) for name, value in headers)


def _read_integer(block, at, bits):
    value = block[at] & ((1 << bits) - 1)
    at += 1
    if value < (1 << bits) - 1:
        return value, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        value += (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _read_string(block, at):
    huffman = block[at] & 128
    size, at = _read_integer(block, at, 7)
    return None if huffman else block[at:at + size].decode("latin-1"), at + size


def parse_header_block(block):
    """The fields with a literal name, which all of gRPC's own have; others are skipped."""
    fields, at = {}, 0
    while at < len(block):
        first = block[at]
        if first & 128:
            _, at = _read_integer(block, at, 7)
            continue
        if first & 0xE0 == 0x20:
            _, at = _read_integer(block, at, 5)
            continue
        index, at = _read_integer(block, at, 6 if first & 64 else 4)
        name = f"#{index}"
        if index == 0:
            name, at = _read_string(block, at)
        value, at = _read_string(block, at)
        fields[name] = value
    return fields


def grpc_message(data, compressed=0, size=None):
    """With its prefix of five bytes; `size` may lie."""
    return struct.pack(">BI", compressed, len(data) if size is None else size) + data


class Answer:
    """What a call ended with: gRPC's status, or the error code of RST_STREAM."""

    def __init__(self, status=None, message="", data=b"", reset=None):
        self.status, self.message, self.data, self.reset = status, message, data, reset

    @property
    def ended(self):
        return self.status is not None or self.reset is not None

    def __repr__(self):
        return f"status {self.status} {self.message!r}, reset {self.reset}, {len(self.data)} bytes"


class Http2Client:
    """One connection to 127.0.0.1. Nothing waits longer than `patience` seconds."""

    def __init__(self, port, patience=60, preface=True, sock=None):
        self.socket = sock or socket.create_connection(("127.0.0.1", port), timeout=patience)
        # A call is several small writes; without this each would wait for the last to be acknowledged.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.patience = patience
        self.goaway = None  # the error code of the peer's farewell
        self.closed = False
        self._received = b""
        self._initial_window = 65535
        self._window = {0: 65535}  # what may be sent: on the connection, and on each stream
        self._answers = {}
        self._next_stream = 1
        if preface:
            # HEADER_TABLE_SIZE 0: no answer refers to an earlier one.
            self.send_bytes(PREFACE + self.frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    @staticmethod
    def frame(kind, flags, stream, payload=b""):
        return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload

    def send_bytes(self, data):
        """False once the peer takes no more."""
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True
        return not self.closed

    def send(self, kind, flags, stream, payload=b""):
        return self.send_bytes(self.frame(kind, flags, stream, payload))

    def abort(self):
        """RST instead of a farewell, as a killed client's machine would send."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def open_call(self, path, change=None, more=()):
        """Sends the headers of a call. `change` replaces some of the usual ones; None removes one."""
        headers = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost",
                   "te": "trailers", "content-type": "application/grpc"}
        headers.update(change or {})
        stream = self._next_stream
        self._next_stream += 2
        self._window[stream] = self._initial_window
        self._answers[stream] = Answer()
        block = header_block([(k, v) for k, v in headers.items() if v is not None] + list(more))
        if len(block) <= FRAME_BYTES:
            self.send(HEADERS, END_HEADERS, stream, block)
            return stream
        self.send(HEADERS, 0, stream, block[:FRAME_BYTES])
        for at in range(FRAME_BYTES, len(block), FRAME_BYTES):
            last = at + FRAME_BYTES >= len(block)
            self.send(9, END_HEADERS if last else 0, stream, block[at:at + FRAME_BYTES])
        return stream

    def send_message(self, stream, data, end=True):
        """As fast as flow control allows, until all is sent or the call is over."""
        at = 0
        while at < len(data) and not self._answers[stream].ended and not self.closed:
            room = min(self._window[0], self._window[stream], FRAME_BYTES)
            if room <= 0:
                if not self._read_frame(time.monotonic() + self.patience):
                    return
                continue
            part = data[at:at + room]
            at += len(part)
            self._window[0] -= len(part)
            self._window[stream] -= len(part)
            self.send(DATA, END_STREAM if end and at == len(data) else 0, stream, part)

    def call(self, path, message=b"", change=None, more=(), framed=None):
        """A unary call. `framed` replaces the message with its prefix."""
        stream = self.open_call(path, change, more)
        self.send_message(stream, grpc_message(message) if framed is None else framed)
        return self.answer(stream)

    def answer(self, stream):
        """What ended the call; None when the connection ended first, or patience."""
        end = time.monotonic() + self.patience
        while not self._answers[stream].ended:
            if not self._read_frame(end):
                return None
        return self._answers[stream]

    def first_answer(self, stream):
        """Reads until some bytes of an answer are there, or the call is over, or patience."""
        end = time.monotonic() + self.patience
        answer = self._answers[stream]
        while not answer.data and not answer.ended and self._read_frame(end):
            pass
        return answer

    def wait_closed(self):
        """True if the peer closes the connection, whatever it says before, within patience."""
        end = time.monotonic() + self.patience
        while self._read_frame(end):
            pass
        return self.closed

    def _receive(self, size, end):
        while len(self._received) < size:
            left = end - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                part = self.socket.recv(65536)
            except TimeoutError:
                return None
            except OSError:
                part = b""
            if not part:
                self.closed = True
                return None
            self._received += part
        taken, self._received = self._received[:size], self._received[size:]
        return taken

    def _read_frame(self, end):
        head = self._receive(9, end)
        if head is None:
            return False
        payload = self._receive(int.from_bytes(head[:3], "big"), end)
        if payload is None:
            return False
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        self._take(kind, flags, stream, payload)
        return True

    def _take(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == 4:  # INITIAL_WINDOW_SIZE, of streams that are open too
                    for open_stream in self._answers:
                        self._window[open_stream] += value - self._initial_window
                    self._initial_window = value
            self.send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind == WINDOW_UPDATE and stream in self._window:
            self._window[stream] += struct.unpack(">I", payload)[0]
        elif kind == GOAWAY:
            self.goaway = struct.unpack_from(">I", payload, 4)[0]
        elif stream not in self._answers:
            pass  # of a stream that the test has made up
        elif kind == RST_STREAM:
            self._answers[stream].reset = struct.unpack(">I", payload)[0]
        elif kind == DATA:
            self._answers[stream].data += payload
        elif kind == HEADERS:
            fields = parse_header_block(payload)
            if "grpc-status" in fields:
                self._answers[stream].status = int(fields["grpc-status"])
                self._answers[stream].message = fields.get("grpc-message") or ""
