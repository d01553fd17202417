#!/usr/bin/env python3
"""The Helm chart as Helm renders it, as Kubernetes' schemas read it, and as the real server takes
it. Needs the interpreter with tests/requirements.txt; ATTUNE_SERVER_BINARY and
ATTUNE_CLIENT_BINARY name the programs."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import helm_python
import kubernetes_validate
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from loopback import free_port  # noqa: E402

CHART = ROOT / "deploy/helm/attune"
# The oldest that the chart is for, apart from image volumes, and the newest that is known.
VERSIONS = ("1.27", kubernetes_validate.latest_version())

ALL_ON = {
    "image": {"repository": "registry.example/attune", "digest": "sha256:" + "0" * 64},
    "imagePullSecrets": [{"name": "registry"}],
    "model": {"source": "claim", "claim": "models", "path": "bert/v2"},
    "settings": {"ATTUNE_PRECISION": "f32", "ATTUNE_MAX_TEXTS": 64},
    "tls": {"secret": "attune-tls", "clientCa": True},
    "tokens": {"secret": "attune-tokens"},
    "autoscaling": {"enabled": True, "queueTokens": 20000},
    "canary": {"enabled": True, "tag": "next", "settings": {"ATTUNE_PRECISION": "int8"}},
    "networkPolicy": {"callers": [{"podSelector": {"matchLabels": {"calls": "attune"}}}],
                      "monitoring": [{"namespaceSelector": {}}],
                      "egress": [{"ports": [{"port": 4317, "protocol": "TCP"}]}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "podAnnotations": {"a": "b"}, "podLabels": {"team": "search"},
    "nodeSelector": {"cpu": "avx512"}, "tolerations": [{"operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}}, "priorityClassName": "high",
}
IMAGE_VOLUME = {"model": {"source": "image", "image": "registry.example/models:1", "path": "m"}}


def render(values=None):
    """The objects, by kind and name."""
    with helm_python.Chart.load(str(CHART)) as chart:
        files = chart.render(values or {}, name="demo", namespace="search")
    objects = [document for name, text in files.items() if name.endswith(".yaml")
               for document in yaml.safe_load_all(text) if document]
    return {(document["kind"], document["metadata"]["name"]): document for document in objects}


def pods_of(objects):
    return [document["spec"]["template"] for document in objects.values()
            if document["kind"] == "Deployment"]


def server_of(pod):
    return pod["spec"]["containers"][0]


def environment_of(pod):
    return {variable["name"]: variable["value"] for variable in server_of(pod)["env"]}


class HelmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.default = render()
        cls.all_on = render(ALL_ON)
        cls.pod = pods_of(cls.default)[0]

    def test_helm_finds_nothing_to_say_but_that_there_is_no_icon(self):
        for values in ({}, ALL_ON, IMAGE_VOLUME):
            findings = helm_python.lint(str(CHART), values, strict=True)
            self.assertEqual(findings["errors"], [])
            self.assertEqual([message["error"] for message in findings["messages"]],
                             ["icon is recommended"])

    def test_every_object_has_only_the_fields_that_kubernetes_knows(self):
        for objects in (self.default, self.all_on):
            for (kind, name), document in objects.items():
                if kind == "ServiceMonitor":  # not Kubernetes' own
                    continue
                for version in VERSIONS:
                    with self.subTest(kind=kind, name=name, version=version):
                        kubernetes_validate.validate(document, version, strict=True)
        for document in render(IMAGE_VOLUME).values():
            kubernetes_validate.validate(document, VERSIONS[-1], strict=True)

    def test_a_value_that_the_chart_does_not_know_is_refused(self):
        for values in ({"replicaCount": 3}, {"resources": {"cpu": 0.5, "memory": "1Gi"}},
                       {"model": {"source": "claim"}}, {"settings": {"PRECISION": "f32"}},
                       {"image": {"digest": "latest"}}):
            with self.subTest(values=values), self.assertRaises(helm_python.HelmError):
                render(values)

    def test_pods_meet_the_restricted_security_standard(self):
        for pod in pods_of(self.default) + pods_of(self.all_on):
            spec = pod["spec"]
            self.assertTrue(spec["securityContext"]["runAsNonRoot"])
            self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertFalse(spec["automountServiceAccountToken"])
            for container in spec["containers"] + spec.get("initContainers", []):
                context = container["securityContext"]
                self.assertFalse(context["allowPrivilegeEscalation"])
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
            for volume in spec["volumes"]:
                self.assertLessEqual(volume.keys() - {"name"},
                                     {"configMap", "emptyDir", "persistentVolumeClaim", "secret"})

    def test_kubernetes_waits_for_the_whole_drain(self):
        pod = pods_of(render({"drain": {"delaySeconds": 7, "timeoutSeconds": 40}}))[0]
        drain = sum(int(environment_of(pod)[f"ATTUNE_DRAIN_{name}"].removesuffix("s"))
                    for name in ("DELAY", "TIMEOUT"))
        self.assertGreaterEqual(pod["spec"]["terminationGracePeriodSeconds"], drain + 5)

    def test_every_port_that_is_named_is_one_of_the_pod(self):
        ports = {port["name"] for port in server_of(self.pod)["ports"]}
        named = [port["targetPort"] for (kind, _), document in self.all_on.items()
                 if kind == "Service" for port in document["spec"]["ports"]]
        policy = self.all_on["NetworkPolicy", "demo-attune"]
        named += [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]
        self.assertEqual(set(named), ports)

    def test_a_pod_may_call_nobody_but_the_hub_and_what_is_named(self):
        def ports(objects):
            policy = objects["NetworkPolicy", "demo-attune"]["spec"]
            self.assertIn("Egress", policy["policyTypes"])
            return [port["port"] for rule in policy["egress"] for port in rule["ports"]]

        self.assertEqual(ports(self.default), [53, 53, 443])
        self.assertEqual(ports(self.all_on), [4317])
        self.assertEqual(ports(render({"model": {"source": "claim", "claim": "models"}})), [])

    def test_services_reach_the_canary_too_and_its_settings_are_its_own(self):
        stable, canary = (self.all_on["Deployment", name]["spec"]["template"]
                          for name in ("demo-attune", "demo-attune-canary"))
        selector = self.all_on["Service", "demo-attune"]["spec"]["selector"]
        for pod in (stable, canary):
            self.assertLessEqual(selector.items(), pod["metadata"]["labels"].items())
        self.assertEqual(environment_of(stable)["ATTUNE_PRECISION"], "f32")
        self.assertEqual(environment_of(canary)["ATTUNE_PRECISION"], "int8")
        self.assertEqual(environment_of(canary)["ATTUNE_MAX_TEXTS"], "64")
        self.assertTrue(server_of(canary)["image"].endswith(":next"))

    def test_autoscaling_owns_the_number_of_pods(self):
        self.assertNotIn("replicas", self.all_on["Deployment", "demo-attune"]["spec"])
        self.assertEqual(self.default["Deployment", "demo-attune"]["spec"]["replicas"], 2)

    def test_the_version_is_the_projects(self):
        project = re.search(r"project\(attune VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
        with helm_python.Chart.load(str(CHART)) as chart:
            self.assertEqual(chart.version, project[1])
        self.assertTrue(server_of(self.pod)["image"].endswith(":" + project[1]))

    def test_the_download_keeps_what_is_right_and_fetches_the_rest(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            config = self.default["ConfigMap", "demo-attune-download"]["data"]
            hub = folder / "hub/sentence-transformers/all-MiniLM-L6-v2/resolve/main"
            (hub / "1_Pooling").mkdir(parents=True)
            (hub / "a").write_text("first")
            (hub / "1_Pooling/b").write_text("second")
            sums = subprocess.run(["sha256sum", "a", "1_Pooling/b"], cwd=hub, check=True,
                                  capture_output=True, text=True).stdout
            (folder / "SHA256SUMS").write_text(sums)
            (folder / "download.sh").write_text(config["download.sh"])
            (folder / "model").mkdir()
            (folder / "model/a").write_text("first")
            command = ["sh", folder / "download.sh", f"file://{folder}/hub", folder / "model"]
            first = subprocess.run(command, check=True, capture_output=True, text=True)
            self.assertEqual(first.stdout, "fetching 1_Pooling/b\n")
            self.assertEqual((folder / "model/1_Pooling/b").read_text(), "second")

            (hub / "1_Pooling/b").write_text("other")
            (folder / "model/1_Pooling/b").unlink()
            wrong = subprocess.run(command, check=False, capture_output=True)
            self.assertNotEqual(wrong.returncode, 0)


class RenderedServer:
    """The real server with the environment of a rendered pod, and nothing else changed but that its
    ports are free ones of loopback and its folders are below `folder`."""

    def __init__(self, pod, folder):
        self.ports = {}
        environment = {"PATH": os.environ["PATH"]}
        for name, value in environment_of(pod).items():
            if match := re.fullmatch(r"0\.0\.0\.0:(\d+)", value):
                self.ports[int(match[1])] = free_port()
                value = f"127.0.0.1:{self.ports[int(match[1])]}"
            elif value.startswith("/"):
                value = str(folder) + value
            environment[name] = value
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen([os.environ["ATTUNE_SERVER_BINARY"]], env=environment,
                                        stderr=self.log)

    def probe(self, probe):
        """Whether a probe of the pod succeeds."""
        if "grpc" in probe:
            return subprocess.run(
                [os.environ["ATTUNE_CLIENT_BINARY"], "health", "--timeout", "2s", "--server",
                 f"127.0.0.1:{self.ports[probe['grpc']['port']]}",
                 "--service", probe["grpc"].get("service", "")],
                check=False, capture_output=True).returncode == 0
        url = f"http://127.0.0.1:{self.ports[9464]}{probe['httpGet']['path']}"
        with contextlib.suppress(OSError), urllib.request.urlopen(url) as reply:
            return reply.status == 200
        return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class RenderedServerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        subprocess.run([ROOT / "deploy/make-demo-model.py", "--into",
                        self.folder / "models/all-MiniLM-L6-v2"], check=True, capture_output=True)

    def check(self, values):
        pod = pods_of(render({"drain": {"delaySeconds": 0}, **values}))[0]
        server = RenderedServer(pod, self.folder)
        self.addCleanup(server.kill)
        container = server_of(pod)
        for _ in range(container["startupProbe"]["failureThreshold"]):
            if server.probe(container["startupProbe"]):
                break
            self.assertIsNone(server.process.poll(), (self.folder / "log").read_text())
            time.sleep(0.1)
        self.assertTrue(server.probe(container["readinessProbe"]))
        self.assertTrue(server.probe(container["livenessProbe"]))
        self.assertEqual(server.stop(), 0)

    def test_serves_with_the_default_values(self):
        self.check({})

    def test_serves_with_tls_and_tokens_and_is_probed_without_them(self):
        tls = self.folder / "etc/attune/tls"
        tls.mkdir(parents=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-keyout", tls / "tls.key",
                        "-out", tls / "tls.crt"], check=True, capture_output=True)
        tokens = self.folder / "etc/attune/tokens"
        tokens.mkdir()
        (tokens / "tokens").write_text("alice:" + "0" * 64 + "\n")
        self.check({"tls": {"secret": "a"}, "tokens": {"secret": "b"}})


if __name__ == "__main__":
    unittest.main()
