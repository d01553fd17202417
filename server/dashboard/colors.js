// Colours of values and of heads.

// Points of a scale whose lightness rises evenly, so that it survives greyscale printing and
// colour-blind eyes; the dark theme runs it from dark to light, the light theme the other way.
const SCALE = [
  [16, 22, 48], [33, 52, 104], [30, 92, 132], [31, 132, 137], [72, 170, 122], [157, 200, 93],
  [250, 226, 98],
];
const LIGHT_SCALE = [
  [255, 255, 252], [214, 236, 218], [150, 208, 196], [84, 168, 180], [47, 121, 160], [43, 70, 130],
  [34, 20, 74],
];

export const isDark = () => {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

function sample(scale, position) {
  const at = Math.min(Math.max(position, 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(at), scale.length - 2);
  return scale[low].map((c, i) => Math.round(c + (scale[low + 1][i] - c) * (at - low)));
}

// 256 RGB triples of the theme in use.
export function colorTable() {
  const scale = isDark() ? SCALE : LIGHT_SCALE;
  const table = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; ++i) table.set(sample(scale, i / 255), i * 3);
  return table;
}

export const colorOf = (table, position) => {
  const i = Math.round(Math.min(Math.max(position, 0), 1) * 255) * 3;
  return `rgb(${table[i]}, ${table[i + 1]}, ${table[i + 2]})`;
};

// Text on such a colour.
export const inkOn = (table, position) => {
  const i = Math.round(Math.min(Math.max(position, 0), 1) * 255) * 3;
  const light = 0.299 * table[i] + 0.587 * table[i + 1] + 0.114 * table[i + 2];
  return light > 140 ? '#10131a' : '#ffffff';
};

// As many hues as there are heads; the number always stands beside it.
export const headColor = (head, heads) =>
  `hsl(${Math.round((head * 360) / heads)} 70% ${isDark() ? 62 : 40}%)`;

// Where a value lies on the scale, 0 to 1.
export function scalePosition(value, largest, kind) {
  if (!(largest > 0) || !(value > 0)) return 0;
  const share = value / largest;
  if (kind === 'sqrt') return Math.sqrt(share);
  if (kind === 'log') return Math.max(0, 1 + Math.log10(share) / 4);
  return share;
}
