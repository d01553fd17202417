"""The dashboard in a real browser, against a real server with the default model.

ATTUNE_SERVER_BINARY names the server; the model is in the cache, or where ATTUNE_TEST_MODEL points.
Screenshots go to the directory ATTUNE_SCREENSHOTS, for people to look at.
"""

import base64
import io
import json
import re
import struct
import unittest

import npz
from page import PageTest, default_model

TOKENS = 512
LONG_TEXT = " ".join(f"word {i} of a long text" for i in range(200))


class DashboardTest(PageTest):
    @classmethod
    def server_arguments(cls):
        return [default_model(), "--max-input-tokens", str(TOKENS)]

    # ---- What is shown ----

    def test_every_head_has_a_thumbnail(self):
        model = self.server.call("model", {})
        cells = self.value("document.querySelectorAll('#grid .cell').length")
        self.assertEqual(cells, model["layers"] * model["heads"])
        widths = self.value("[...document.querySelectorAll('#grid canvas')].map(c => c.width)")
        self.assertEqual(len(set(widths)), 1)
        self.assertGreater(widths[0], 1)

    def test_the_number_shown_is_the_number_of_the_rpc(self):
        text = "The cat sat."
        self.enter(text)
        self.choose("#layer", "3")
        self.wait("document.getElementById('map-name').textContent === 'layer 3, head 0'")
        self.focus("#heat-map")
        self.browser.keys("Down", "Down", "Right", "Right")
        attend = self.browser.run("""
            const reply = await (await fetch('/v1/attention-map', { method: 'POST',
              headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({
                query: { text: arguments[0], layers: [3], heads: [0] } }) })).json();
            const bytes = Uint8Array.from(atob(reply.data), (c) => c.charCodeAt(0));
            const n = reply.tokens.length;
            return [reply.tokens[1].text, reply.tokens[2].text,
                    new Float32Array(bytes.buffer)[1 * n + 2].toPrecision(3)];""", text)
        readout = self.text("#readout")
        self.assertIn("layer 3 head 0", readout)
        self.assertIn(f"from {attend[0]} (1) to {attend[1]} (2): ", readout)
        self.assertAlmostEqual(float(readout.rsplit(": ", 1)[1]), float(attend[2]), delta=1e-9)

    def test_a_token_says_what_it_looks_at_and_who_looks_at_it(self):
        self.focus("#head-view")
        self.browser.keys("Down", "Down", "Enter")
        captions = self.value("[...document.querySelectorAll('#inspect caption')].map(c => c.textContent)")
        self.assertEqual(captions, ["looks at", "is looked at by"])
        self.assertIn("Pinned: ", self.text("#unpin"))
        self.browser.keys("Escape")
        self.assertTrue(self.value("document.getElementById('unpin').hidden"))

    def test_a_link_to_what_the_page_does_not_have_shows_the_usual(self):
        self.show("#matrix=ATTENTION_MATRIX_UNHEARD_OF")
        self.assertEqual(self.value("document.getElementById('matrix').value"), "ATTENTION_MATRIX_WEIGHTS")
        self.assertEqual(self.text("#error"), "")

    def test_every_option_shows_something(self):
        for select in ["matrix", "specials", "level", "statistic"]:
            options = self.value(f"[...document.getElementById('{select}').options].map((o) => o.value)")
            self.assertGreater(len(options), 1, select)
            for option in options + options[:1]:
                self.choose(f"#{select}", option)
                self.wait("document.getElementById('status').textContent !== 'Computing'")
                self.assertEqual(self.text("#error"), "", option)
                self.assertFalse(self.value("document.getElementById('result').hidden"), option)

    def test_the_last_choice_is_shown_whichever_reply_comes_last(self):
        self.browser.run("""
            performance.clearResourceTimings();
            const select = document.getElementById('statistic');
            for (const value of ['entropy', '', 'support', '']) {
              select.value = value;
              select.dispatchEvent(new Event('change'));
            }
            while (performance.getEntriesByType('resource').length < 4) {
              await new Promise(requestAnimationFrame);
            }
            await new Promise((done) => setTimeout(done, 200));""")
        self.assertEqual(self.text("#error"), "")
        self.assertFalse(self.value("document.getElementById('grid').classList.contains('numbers')"))
        self.assertEqual(self.text("#grid tbody").replace("\n", ""), "543210")

    def test_what_is_done_while_a_layer_is_on_its_way_is_no_error(self):
        self.browser.run("""
            const fetchNow = window.fetch;
            window.fetch = async (...request) => {
              await new Promise((done) => setTimeout(done, 2000));
              return fetchNow(...request);
            };""")
        self.choose("#layer", "4")
        self.focus("#heat-map")
        self.browser.keys("Down", "Right")
        self.browser.click("#save-csv")
        self.focus("#head-view")
        self.browser.keys("Home", "Down", "Enter")
        self.assertEqual(self.text("#map-name"), "layer 0, head 0")
        self.wait("document.getElementById('map-name').textContent === 'layer 4, head 0'")
        self.assertIn("Pinned: ", self.text("#unpin"))
        self.assertEqual(self.value("document.querySelectorAll('#inspect caption').length"), 2)

    def test_a_head_that_is_switched_off_moves_the_embedding(self):
        self.browser.click("#ablate")
        self.wait("document.getElementById('notice').textContent.includes('the embedding moved')")
        self.assertIn("layer 0 head 0", self.text("#ablated"))
        self.browser.click("#ablate")
        self.wait("document.getElementById('ablated').textContent === ''")

    def test_the_similarity_of_two_texts_is_explained_by_pairs(self):
        self.browser.click("nav [data-view=explain]")
        self.browser.click("#explain-form [type=submit]")
        self.wait("!document.getElementById('explain-result').hidden")
        explained = self.server.call("explain-similarity", {
            "first": "How do I reset my password?", "second": "I cannot log in to my account."})
        self.assertIn(f"Cosine {explained['cosine']:.3}", self.text("#explain-cosine"))
        self.assertAlmostEqual(sum(explained["contributions"]["values"]), explained["cosine"], 4)
        self.assertEqual(self.value("document.querySelectorAll('#explain-pairs tbody tr').length"), 15)
        self.focus("#explain-map")
        self.browser.keys("Down", "Right")
        self.assertIn("[CLS] and ", self.text("#explain-readout"))
        self.browser.screenshot(self.pictures / "explain.png")

    def test_several_heads_have_colours_of_their_own(self):
        self.browser.click("#head-chips .chip:nth-child(3)")
        pressed = self.value("document.querySelectorAll('#head-chips [aria-pressed=true]').length")
        self.assertEqual(pressed, 2)
        colors = self.value(
            "[...document.querySelectorAll('.chip')].map(c => c.style.getPropertyValue('--head'))")
        self.assertEqual(len(set(colors)), len(colors))

    def test_word_orders_are_not_offered_where_the_model_cannot_read_them(self):
        self.browser.run("""
            while (!performance.getEntriesByName(`${location.origin}/v1/tokenize`).length) {
              await new Promise(requestAnimationFrame);
            }
            await new Promise((done) => setTimeout(done, 100));""")
        self.assertTrue(self.value("document.getElementById('word-order').hidden"))

    # ---- The mechanism ----

    def test_the_mechanism_shows_the_numbers_of_both_examples(self):
        self.browser.click("nav [data-view=mechanism]")
        self.wait("document.querySelectorAll('#attend-steps li').length === 6")
        steps = self.text("#attend-steps")
        self.assertIn("0.4220.4220.155", steps)
        self.browser.click("[data-example=rounded]")
        self.wait("document.querySelectorAll('#attend-steps li').length === 5")
        outputs = self.value("[...document.querySelectorAll('#attend-steps li:last-child td')]"
                             ".map(c => Number(c.textContent))")
        self.assertEqual(outputs, [2, 7, 1.5, 2, 8, 0, 2, 7.8, 0.3])

    # ---- Keyboard, sizes, colours ----

    def test_everything_is_reached_by_keyboard(self):
        self.focus("#grid [aria-pressed=true]")
        self.browser.keys("Right", "Up", "Enter")
        self.wait("document.getElementById('map-name').textContent === 'layer 1, head 1'")
        self.browser.keys("]")
        self.wait("document.getElementById('map-name').textContent === 'layer 2, head 1'")
        reached = set()
        self.focus(".skip")
        for _ in range(60):
            self.browser.keys("Tab")
            reached.add(self.value("document.activeElement.id"))
        for wanted in ["text", "matrix", "layer", "head-view", "heat-map", "scale", "save-json"]:
            self.assertIn(wanted, reached)

    def test_controls_have_names(self):
        unnamed = self.value("""[...document.querySelectorAll('button, select, textarea, input')]
            .filter((e) => e.offsetParent && !e.labels?.length && !e.textContent.trim() &&
                !e.getAttribute('aria-label')).map((e) => e.outerHTML)""")
        self.assertEqual(unnamed, [])

    def test_dark_and_light_are_readable(self):
        for scheme in ["light", "dark"]:
            self.browser.prefer(scheme)
            self.show()
            ratios = self.value("""(() => {
                const luminance = (hex) => {
                  const c = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
                    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
                };
                const color = (name) =>
                  luminance(getComputedStyle(document.documentElement).getPropertyValue(name).trim());
                const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                const pairs = [['--ink', '--paper'], ['--ink', '--panel'], ['--muted', '--panel'],
                  ['--muted', '--paper'], ['--ink', '--button'], ['--ink', '--mark'],
                  ['--accent', '--panel'], ['--on-primary', '--primary'], ['--primary', '--paper']];
                return pairs.map(([a, b]) => [a, b, ratio(color(a), color(b))]);
            })()""")
            for ink, paper, ratio in ratios:
                self.assertGreaterEqual(ratio, 4.5, f"{scheme}: {ink} on {paper}")
            self.browser.screenshot(self.pictures / f"wide_{scheme}.png")

    def test_the_theme_can_be_switched(self):
        background = "getComputedStyle(document.body).backgroundColor"
        light = self.value(background)
        self.browser.click("#theme")
        self.assertNotEqual(self.value(background), light)
        self.browser.click("#theme")
        self.assertEqual(self.value(background), light)

    def test_nothing_sticks_out_at_360_pixels(self):
        self.browser.resize(360, 740)
        for view in ["attention", "explain", "mechanism", "reading"]:
            self.show(f"#view={view}")
            self.assertLessEqual(self.value("document.scrollingElement.scrollWidth"), 360, view)
            self.browser.screenshot(self.pictures / f"narrow_{view}.png")

    # ---- Long, foreign and hostile texts ----

    def test_128_tokens_are_all_shown_soon(self):
        text = " ".join(["the cat sat on a mat"] * 21)
        times = sorted(self.browser.run("""
            const status = document.getElementById('status');
            document.getElementById('text').value = arguments[0];
            const before = performance.now();
            document.querySelector('#text-form [type=submit]').click();
            while (!status.textContent.includes('128 tokens shown')) {
              await new Promise(requestAnimationFrame);
            }
            return performance.now() - before;""", text) for _ in range(7))
        # For the reader of the log, as the frames below.
        print(f"128 tokens: all shown in {times[3]:.0f} ms, median; {times[-1]:.0f} ms, worst")

    def test_512_tokens_are_drawn_and_panned(self):
        self.enter(LONG_TEXT)
        self.wait(f"document.getElementById('status').textContent.includes('{TOKENS} tokens')")
        self.assertLessEqual(self.value("document.querySelectorAll('*').length"), 3000)
        for _ in range(4):
            self.browser.click("#zoom-in")
        self.print_frames("panning the heat map", """
            const map = document.getElementById('heat-map');
            map.scrollIntoView();
            const box = map.getBoundingClientRect();
            const fire = (type, i) => map.dispatchEvent(new PointerEvent(type, { pointerId: 1,
              clientX: box.left + 300 - i, clientY: box.top + 300 - i }));
            map.setPointerCapture = () => {};
            fire('pointerdown', 0);
            const move = (i) => fire('pointermove', i * 2);""")
        self.print_frames("scrolling the head view", """
            const lines = document.getElementById('head-view');
            lines.scrollIntoView();
            const move = (i) => { lines.scrollTop = 40 * i; };""")
        self.browser.screenshot(self.pictures / "long.png")

    def print_frames(self, name, script):
        """How long frames take while the script's move(i) is called in each. For the reader of the log:
        how fast it is depends on the machine."""
        frames = self.browser.run(f"""
            {script}
            const times = [];
            let before = performance.now();
            for (let i = 0; i < 120; ++i) {{
              move(i);
              await new Promise(requestAnimationFrame);
              const now = performance.now();
              times.push(now - before);
              before = now;
            }}
            return times.sort((a, b) => a - b);""")
        print(f"{name}, {TOKENS} tokens: median frame {frames[60]:.1f} ms, worst {frames[-1]:.1f} ms")

    def test_a_long_text_shows_the_numbers_of_the_rpc(self):
        self.enter(LONG_TEXT)
        self.wait(f"document.getElementById('status').textContent.includes('{TOKENS} tokens')")
        weights = self.weights_of(LONG_TEXT, maxTokens=TOKENS, truncation="TRUNCATION_RIGHT")
        self.focus("#heat-map")
        self.browser.keys("Down", "Down")
        for weight in weights[1][1:6]:
            self.browser.keys("Right")
            shown = float(self.text("#readout").rsplit(": ", 1)[1])
            # Three digits of a number that came as f16.
            self.assertAlmostEqual(shown, weight, delta=6e-3 * weight + 6e-8)

    def weights_of(self, text, **query):
        """Of layer 0, head 0: a list for each row."""
        reply = self.server.call("attention-map", {
            "query": {"text": text, "layers": [0], "heads": [0], **query}})
        tokens = len(reply["tokens"])
        values = struct.unpack(f"<{tokens * tokens}f", base64.b64decode(reply["data"]))
        return [values[row * tokens : (row + 1) * tokens] for row in range(tokens)]

    def test_of_a_longer_text_each_token_has_its_strongest_lines(self):
        text = " ".join(f"number {i} of them" for i in range(12))
        self.enter(text)
        self.keep_saved_files()
        self.browser.click("#save-lines")
        self.wait("window.saved['attention-layer-0-head-0.lines.svg']")
        svg = self.saved_bytes("attention-layer-0-head-0.lines.svg").decode()
        drawn = {(int(y0) // 22, int(y1) // 22): float(opacity) for y0, y1, opacity in re.findall(
            r'<line x1="165" y1="(\d+)" x2="315" y2="(\d+)" stroke="[^"]*" stroke-opacity="([^"]*)"', svg)}
        weights = self.weights_of(text)
        largest = max(map(max, weights))
        strongest = {}
        for i, row in enumerate(weights):
            for j in sorted(range(len(row)), key=lambda j: -row[j])[:3]:
                if row[j] / largest >= 0.02:
                    strongest[i, j] = row[j] / largest
        self.assertGreater(len(strongest), len(weights))
        self.assertEqual(drawn.keys(), strongest.keys())
        for line, opacity in strongest.items():
            self.assertAlmostEqual(drawn[line], opacity, delta=0.006)

    def test_right_to_left_and_chinese_texts_are_shown(self):
        for text, token in [("שלום עולם", "ש"), ("吃饭没", "饭"), ("مرحبا", "م")]:
            self.enter(text)
            self.focus("#head-view")
            self.browser.keys("Home", "Down", "Down")
            self.assertEqual(self.text("#error"), "")
            self.assertEqual(self.value("document.querySelectorAll('#inspect bdi').length > 2"), True)
            direction = self.value("getComputedStyle(document.getElementById('text')).direction")
            self.assertEqual(direction, "ltr" if token == "饭" else "rtl")

    def test_markup_in_a_text_stays_text(self):
        text = "<img src=x onerror=\"window.hacked = 1\"><script>window.hacked = 1</script> & <b>bold</b>"
        self.enter(text)
        self.focus("#head-view")
        self.browser.keys("Down", "Down", "Enter")
        self.assertEqual(self.value("document.querySelectorAll('main img, main script').length"), 0)
        self.assertFalse(self.value("window.hacked === 1"))
        self.assertEqual(self.value("document.getElementById('text').value"), text)
        self.show(self.value("location.hash"))
        self.assertEqual(self.value("document.getElementById('text').value"), text)
        self.assertFalse(self.value("window.hacked === 1"))

    def test_errors_of_the_server_are_shown(self):
        self.browser.click("nav [data-view=mechanism]")
        self.wait("document.querySelectorAll('#attend-steps li').length === 6")
        self.browser.run("document.getElementById('attend-query').value = '1 2'")
        self.browser.click("#attend-form [type=submit]")
        self.wait("document.getElementById('error').textContent.includes('query_projection')")
        self.browser.run("document.getElementById('attend-query').value = '1 x'")
        self.browser.click("#attend-form [type=submit]")
        self.wait("document.getElementById('error').textContent.includes('not a number')")
        self.assertEqual(self.value("document.getElementById('error').getAttribute('role')"), "alert")

    # ---- Links and files ----

    def test_a_link_holds_the_whole_view(self):
        self.enter("A dog barked at the moon.")
        self.choose("#layer", "4")
        self.browser.click("#head-chips .chip:nth-child(6)")
        self.choose("#scale", "log")
        self.focus("#head-view")
        self.browser.keys("Home", "Down", "Enter")
        link = self.value("location.hash")
        self.assertNotIn("?", self.value("location.href"))
        self.show(link)
        self.assertEqual(self.value("document.getElementById('text').value"),
                         "A dog barked at the moon.")
        self.assertEqual(self.text("#map-name"), "layer 4, head 5")
        self.assertEqual(self.value("document.getElementById('scale').value"), "log")
        self.assertIn("Pinned: ", self.text("#unpin"))

    def test_no_request_goes_anywhere_else(self):
        origins = self.value("[...new Set(performance.getEntriesByType('resource')"
                             ".map((e) => new URL(e.name).origin))]")
        self.assertEqual(origins, [self.server.url])

    def keep_saved_files(self):
        """From here on in window.saved, by name, instead of the downloads."""
        self.browser.run("""
            window.saved = {};
            URL.createObjectURL = (blob) => { window.blob = blob; return 'data:,'; };
            HTMLAnchorElement.prototype.click = function () { window.saved[this.download] = blob; };""")

    def saved_bytes(self, name):
        return base64.b64decode(self.browser.run("""
            const bytes = new Uint8Array(await window.saved[arguments[0]].arrayBuffer());
            return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));""", name))

    def test_what_is_shown_can_be_saved(self):
        self.enter("The cat & the <dog>")
        self.keep_saved_files()
        for button in ["save-png", "save-svg", "save-lines", "save-csv", "save-json",
                       "save-html"]:
            self.browser.click(f"#{button}")
        self.wait("Object.keys(window.saved).length === 6")
        name = "attention-layer-0-head-0"
        texts = self.browser.run("""
            const texts = {};
            for (const [name, blob] of Object.entries(window.saved)) texts[name] = await blob.text();
            return texts;""")
        self.assertIn("PNG", texts[f"{name}.png"][:8])
        for picture in [f"{name}.svg", f"{name}.lines.svg"]:
            faults = self.browser.run(
                "return new DOMParser().parseFromString(arguments[0], 'image/svg+xml')"
                ".querySelectorAll('parsererror').length", texts[picture])
            self.assertEqual(faults, 0, picture)
            self.assertIn("&lt;", texts[picture])
        saved = json.loads(texts[f"{name}.json"])
        tokens = [token["text"] for token in saved["response"]["tokens"]]
        self.assertEqual(tokens[0], "[CLS]")
        self.assertEqual(len(texts[f"{name}.csv"].splitlines()), len(tokens) + 1)
        page = texts[f"{name}.html"]
        self.assertNotRegex(page, r"(src|href)=\"(?!data:)")
        self.assertNotIn("<dog>", page)
        bertviz = json.loads(re.search(r'id="bertviz">(.*?)</script>', page).group(1))
        self.assertEqual(bertviz["attention"][0]["left_text"], tokens)
        self.assertAlmostEqual(sum(bertviz["attention"][0]["attn"][0][0][0]), 1, places=4)
        again = self.server.call("attention-map", saved["request"])
        self.assertEqual(again["data"], saved["response"]["data"])

    def test_every_layer_can_be_saved_for_numpy(self):
        text = "Naïve cats 😀 purr"
        for matrix, heads in [("ATTENTION_MATRIX_WEIGHTS", 12), ("ATTENTION_MATRIX_ROLLOUT", 1)]:
            self.show()
            self.choose("#matrix", matrix)
            self.enter(text)
            self.keep_saved_files()
            self.browser.click("#save-npz")
            self.wait("window.saved['attention.npz']")
            arrays = npz.read(io.BytesIO(self.saved_bytes("attention.npz")))
            reply = self.server.call("attention-map", {"query": {"text": text, "matrix": matrix}})
            tokens = [token["text"] for token in reply["tokens"]]
            self.assertEqual(arrays.pop("tokens").texts(), tokens)
            self.assertEqual(arrays.pop("layers").integers(), reply["layers"])
            self.assertEqual(arrays.pop("heads").integers(), reply["heads"])
            self.assertEqual(list(arrays), [f"layer_{layer}" for layer in reply["layers"]])
            for array in arrays.values():
                self.assertEqual(array.shape, (1, heads, len(tokens), len(tokens)))
                self.assertEqual(array.type, "<f4")
            self.assertEqual(b"".join(array.data for array in arrays.values()),
                             base64.b64decode(reply["data"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
