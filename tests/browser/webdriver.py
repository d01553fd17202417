"""The few calls of the WebDriver protocol (W3C) that the tests need, to Debian's chromedriver."""

import base64
import json
import re
import subprocess
import tempfile
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013",
        "Right": "\ue014", "Down": "\ue015", "End": "\ue010", "Home": "\ue011", "Space": "\ue00d"}


class WebDriverError(Exception):
    pass


class Browser:
    """A headless Chromium of its own."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="attune-browser-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        try:
            self.address = self.await_address()
            self.session = self.create_session()
        except BaseException:
            self.stop_driver()
            raise

    def await_address(self):
        for line in self.driver.stdout:
            if match := re.search(r"started successfully on port (\d+)", line):
                return f"http://127.0.0.1:{match.group(1)}"
        raise WebDriverError("chromedriver did not start")

    def create_session(self):
        options = {"binary": "/usr/bin/chromium", "args": [
            # Without a sandbox, since CI runs as root; only pages of the server under test are opened.
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,1000",
            "--hide-scrollbars", f"--user-data-dir={self.profile.name}"]}
        session = self.request("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"}}}})
        return f"/session/{session['sessionId']}"

    def close(self):
        try:
            self.request("DELETE", self.session)
        finally:
            self.stop_driver()

    def stop_driver(self):
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        self.profile.cleanup()

    def request(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=100) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise WebDriverError(f"{value['error']}: {value['message']}") from error

    def command(self, method, path, body=None):
        return self.request(method, self.session + path, body)

    def open(self, url):
        self.command("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that the body of an async function returns."""
        function = f"return (async function () {{ {script} }}).apply(null, arguments)"
        return self.command("POST", "/execute/sync", {"script": function, "args": list(arguments)})

    def element(self, selector):
        return self.command("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.command("POST", f"/element/{self.element(selector)}/click")

    def keys(self, *names):
        """Types into what has the focus."""
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.command("POST", "/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def devtools(self, method, parameters):
        return self.command("POST", "/goog/cdp/execute", {"cmd": method, "params": parameters})

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def prefer(self, color_scheme):
        self.devtools("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": color_scheme}]})

    def errors(self):
        """What went wrong in the page since the last time; replies of 400 and more are no such thing."""
        log = self.command("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log
                if entry["level"] == "SEVERE" and entry["source"] != "network"]

    def screenshot(self, path, whole_page=True):
        picture = self.devtools("Page.captureScreenshot", {"captureBeyondViewport": whole_page})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
