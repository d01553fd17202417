// What the page shows, held in the address's fragment, which no browser sends to a server: a link is
// the whole state.

const DEFAULTS = {
  view: 'attention',
  text: 'The cat sat on the mat because it was tired.',
  second: '',
  layer: 0,
  heads: [0],
  head: 0,
  token: -1,
  matrix: 'ATTENTION_MATRIX_WEIGHTS',
  specials: 'ATTENTION_SPECIALS_KEEP',
  level: 'ATTENTION_LEVEL_TOKEN',
  statistic: '',
  scale: 'sqrt',
  rows: 'global',
  ablate: [],
  first: 'How do I reset my password?',
  other: 'I cannot log in to my account.',
  mechanism: null,
};

const LISTS = new Set(['heads']);
const NUMBERS = new Set(['layer', 'head', 'token']);
const JSONS = new Set(['ablate', 'mechanism']);

function parse(name, value) {
  if (LISTS.has(name)) return value.split(',').filter(Boolean).map(Number).filter(Number.isInteger);
  if (NUMBERS.has(name)) return Number.isInteger(Number(value)) ? Number(value) : DEFAULTS[name];
  if (JSONS.has(name)) {
    try {
      return JSON.parse(value);
    } catch {
      return DEFAULTS[name];
    }
  }
  return value;
}

function print(name, value) {
  if (LISTS.has(name)) return value.join(',');
  return JSONS.has(name) ? JSON.stringify(value) : String(value);
}

export const state = structuredClone(DEFAULTS);

export function readLink() {
  Object.assign(state, structuredClone(DEFAULTS));
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (name in DEFAULTS) state[name] = parse(name, value);
  }
  if (!Array.isArray(state.ablate)) state.ablate = [];
}

export function writeLink() {
  const link = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    const printed = print(name, value);
    if (printed !== print(name, DEFAULTS[name])) link.set(name, printed);
  }
  history.replaceState(null, '', link.size ? `#${link}` : location.pathname);
}
