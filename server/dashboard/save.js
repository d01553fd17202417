// Files made on this machine from what is shown.
import { floats, integers, makeNpz, texts } from './npz.js';

function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveText(name, type, text) {
  save(name, new Blob([text], { type }));
}

export function savePng(name, canvas) {
  canvas.toBlob((blob) => save(name, blob), 'image/png');
}

// A spreadsheet must not take a token for a formula.
const csvCell = (text) => {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
};

// [rows, columns] with a token before each row and above each column.
export function toCsv(rowTokens, columnTokens, values) {
  const columns = columnTokens.length;
  const lines = [['""', ...columnTokens.map((t) => csvCell(t.text))].join(',')];
  rowTokens.forEach((token, i) => {
    const row = values.subarray(i * columns, (i + 1) * columns);
    lines.push([csvCell(token.text), ...row].join(','));
  });
  return `${lines.join('\r\n')}\r\n`;
}

// maps: decoded, each of one layer, whose array has the shape of transformers' output_attentions:
// [1, heads, tokens, tokens].
export function saveNpz(name, tokens, maps) {
  save(name, makeNpz([
    texts('tokens', tokens.map((token) => token.text)),
    integers('layers', maps.map(({ reply }) => reply.layers[0])),
    integers('heads', maps[0].reply.heads),
    ...maps.map(({ reply, heads, queries, keys, values }) =>
      floats(`layer_${reply.layers[0]}`, [1, heads, queries, keys], values)),
  ]));
}
