"""What the figures were measured on."""

import os
import pathlib
import platform
import subprocess

ISA_FLAGS = ("avx2", "fma", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
             "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16")


def cpuinfo(key):
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "unknown"


def os_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def commit(folder):
    git = ["git", "-C", str(folder)]
    try:
        revision = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], check=True,
                                  capture_output=True, text=True).stdout.strip()
        changes = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"],
                                 check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return revision + (" with changes" if changes else "")


def describe(folder):
    flags = set(cpuinfo("flags").split())
    return {
        "cpu": cpuinfo("model name"),
        "family and model": f"{cpuinfo('cpu family')}/{cpuinfo('model')}",
        "isa": [flag for flag in ISA_FLAGS if flag in flags],
        "cores": len(os.sched_getaffinity(0)),
        "os": os_name(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "commit": commit(folder),
    }
