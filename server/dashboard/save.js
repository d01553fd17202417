// Files made on this machine from what is shown.

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
