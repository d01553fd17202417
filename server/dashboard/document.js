// One HTML file that shows a head without any server: pictures, the caveats, how it was made, and
// the data, also in the form that BertViz's head_view takes.
import { escapeXml } from './headview.js';

const CAVEATS = [
  'Attention shows where a head reads from, not why a model answers as it does ' +
    '(Jain & Wallace 2019; Wiegreffe & Pinter 2019).',
  'Weight on [CLS], [SEP] and full stops is mostly parking: the vectors there are short ' +
    '(Clark et al. 2019; Kobayashi et al. 2020).',
  'A weight has no sign: what is looked at may add to the result or take away from it.',
];

// JSON inside a script element ends at no tag and at no line separator of JavaScript.
const embedJson = (value) => JSON.stringify(value).replace(/[<\u2028\u2029]/g,
  (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

// heads: [{ head, values }], each [tokens, tokens] -> BertViz's nested lists [layer][head][row][column].
function bertviz(tokens, heads) {
  const n = tokens.length;
  const rows = (values) => Array.from({ length: n }, (_, i) =>
    Array.from(values.subarray(i * n, (i + 1) * n), (v) => Number(v.toPrecision(6))));
  const text = tokens.map((token) => token.text);
  return { attention: [{ name: null, attn: [heads.map(({ values }) => rows(values))],
    left_text: text, right_text: text }] };
}

const section = (title, content) => `<h2>${escapeXml(title)}</h2>${content}`;
const facts = (entries) => `<dl>${entries.map(([name, value]) =>
  `<dt>${escapeXml(name)}</dt><dd>${escapeXml(String(value))}</dd>`).join('')}</dl>`;

// pictures: [[title, SVG or data: address of a PNG]]; exchange: { request, response }.
export function makeDocument({ title, text, tokens, heads, pictures, exchange }) {
  const images = pictures.map(([name, picture]) => section(name, picture.startsWith('<svg')
    ? picture : `<img alt="${escapeXml(name)}" src="${picture}">`)).join('');
  const made = Object.entries(exchange.response.provenance ?? {});
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeXml(title)}</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; margin: 1rem auto; max-width: 70rem; padding: 0 1rem; }
svg, img { max-width: 100%; height: auto; } dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
</style></head><body>
<h1>${escapeXml(title)}</h1>
<p><bdi>${escapeXml(text)}</bdi></p>
${images}
${section('How to read this', `<ul>${CAVEATS.map((c) => `<li>${escapeXml(c)}</li>`).join('')}</ul>`)}
${section('How it was made', facts(made))}
<script type="application/json" id="attune">${embedJson(exchange)}</script>
<script type="application/json" id="bertviz">${embedJson(bertviz(tokens, heads))}</script>
</body></html>
`;
}
