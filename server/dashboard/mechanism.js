// The attention formula on vectors of one's own, step by step, as Attend computes it.
import { call } from './api.js';
import { colorOf, colorTable, inkOn } from './colors.js';
import { byId, make, shortNumber } from './dom.js';
import { state, writeLink } from './state.js';

const X_B = '1 0 1 0\n0 2 0 2\n1 1 1 1';

const EXAMPLES = {
  a: {
    note: 'Three word vectors, no projections: each score is how alike two vectors are, and each ' +
      'output a mixture of the vectors, weighted by it.',
    vectors: '1 2 1 2 1\n1 1 3 2 1\n3 1 2 1 1', score: 'ATTEND_SCORE_DOT',
  },
  b: {
    note: 'Queries, keys and values are three different views of the same vectors, each by a matrix ' +
      'of its own. Unscaled.',
    vectors: X_B, query: '1 0 1\n1 0 0\n0 0 1\n0 1 1', key: '0 0 1\n1 1 0\n0 1 0\n1 1 0',
    value: '0 2 0\n0 3 0\n1 0 3\n1 1 0', score: 'ATTEND_SCORE_DOT',
  },
  rounded: {
    note: 'Example B with its weights rounded by hand: the outputs become exact.',
    vectors: X_B, value: '0 2 0\n0 3 0\n1 0 3\n1 1 0', weights: '0 .5 .5\n0 1 0\n0 .9 .1',
  },
  scaled: {
    note: 'Example B, the scores divided by the square root of the head dimension: weights spread.',
    vectors: X_B, query: '1 0 1\n1 0 0\n0 0 1\n0 1 1', key: '0 0 1\n1 1 0\n0 1 0\n1 1 0',
    value: '0 2 0\n0 3 0\n1 0 3\n1 1 0', score: 'ATTEND_SCORE_SCALED_DOT',
  },
};

const MATRICES = ['vectors', 'query', 'key', 'value', 'output', 'weights', 'additive'];
const CHOICES = ['score', 'normalizer', 'position', 'mask', 'heads'];

const STEPS = [
  ['queries', 'Queries: Q = X W_q', 'One row a vector: what it asks for.'],
  ['keys', 'Keys: K = X W_k', 'What each vector offers to be found by.'],
  ['values', 'Values: V = X W_v', 'What each vector hands over when it is looked at.'],
  ['scores', 'Scores', 'Row i, column j: how well the query of i meets the key of j.'],
  ['weights', 'Weights', 'The scores of a row, normalised: how i divides its attention.'],
  ['outputs', 'Outputs: weights times V', 'Each row is the mixture of values that i receives.'],
];

// "1 2\n3 4" as a Matrix message; nothing for blank text.
function parseMatrix(name, text) {
  const rows = text.trim().split(/\n|;/).map((line) => line.trim()).filter(Boolean)
    .map((line) => line.split(/[\s,]+/).map(Number));
  if (rows.length === 0) return undefined;
  const cols = rows[0].length;
  rows.forEach((row, i) => {
    if (row.length !== cols) {
      throw new Error(`${name}: row ${i} has ${row.length} numbers, row 0 has ${cols}`);
    }
    if (!row.every(Number.isFinite)) throw new Error(`${name}: row ${i} has something not a number`);
  });
  return { rows: rows.length, cols, values: rows.flat() };
}

function parseMask(text) {
  const window = /^window\s+(\d+)\s+(\d+)$/.exec(text);
  if (window) return { window: { left: Number(window[1]), right: Number(window[2]) } };
  if (text === 'causal') return { causal: {} };
  if (text === 'none' || text === '') return undefined;
  const edges = text.split(/[\s,]+/).map((edge) => /^(\d+)>(\d+)$/.exec(edge));
  if (edges.some((edge) => edge === null)) {
    throw new Error('mask: none, causal, window LEFT RIGHT, or edges like 0>1 1>2');
  }
  return { graph: { edges: edges.map(([, from, to]) => ({ from: Number(from), to: Number(to) })) } };
}

function request() {
  const field = (name) => byId(`attend-${name}`).value;
  const matrix = (name) => parseMatrix(name, field(name));
  const result = {
    vectors: matrix('vectors'), queryProjection: matrix('query'), keyProjection: matrix('key'),
    valueProjection: matrix('value'), outputProjection: matrix('output'),
    position: field('position'), heads: Number(field('heads')) || 0,
  };
  const given = matrix('weights');
  if (given) return { ...result, givenWeights: given };
  return { ...result, score: field('score'), normalizer: field('normalizer'),
    additiveVector: matrix('additive'), mask: parseMask(field('mask').trim()) };
}

function matrixTable(name, matrix) {
  const colors = colorTable();
  const largest = Math.max(...matrix.values.map(Math.abs), 1e-12);
  const rows = [];
  for (let i = 0; i < matrix.rows; ++i) {
    const cells = matrix.values.slice(i * matrix.cols, (i + 1) * matrix.cols).map((value) => {
      const cell = make('td', { className: 'number' }, shortNumber(value));
      cell.title = String(value);
      const position = Math.abs(value) / largest;
      cell.style.backgroundColor = colorOf(colors, position);
      cell.style.color = inkOn(colors, position);
      return cell;
    });
    rows.push(make('tr', {}, make('th', { scope: 'row' }, String(i)), ...cells));
  }
  return make('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': name },
    make('table', { className: 'matrix' }, make('tbody', {}, ...rows)));
}

function show(reply) {
  const steps = STEPS.filter(([field]) => reply[field]?.rows > 0).map(([field, title, note]) =>
    make('li', {}, make('h3', {}, title), make('p', { className: 'hint' }, note),
      matrixTable(title, reply[field])));
  byId('attend-steps').replaceChildren(...steps);
}

function collect() {
  return Object.fromEntries([...MATRICES, ...CHOICES]
    .map((name) => [name, byId(`attend-${name}`).value]));
}

function fill(values) {
  byId('attend-form').reset();
  for (const name of [...MATRICES, ...CHOICES]) {
    if (typeof values[name] === 'string') byId(`attend-${name}`).value = values[name];
  }
}

export function startMechanism(report) {
  const run = async () => {
    state.mechanism = collect();
    writeLink();
    try {
      show(await call('attend', request()));
      report('');
    } catch (error) {
      byId('attend-steps').replaceChildren();
      report(error.message, true);
    }
  };
  const load = (name) => {
    fill(EXAMPLES[name]);
    byId('attend-note').textContent = EXAMPLES[name].note;
    return run();
  };
  byId('attend-form').addEventListener('submit', (event) => {
    event.preventDefault();
    byId('attend-note').textContent = '';
    run();
  });
  for (const button of document.querySelectorAll('[data-example]')) {
    button.addEventListener('click', () => load(button.dataset.example));
  }
  return { open: () => {
    if (!state.mechanism) return load('a');
    fill(state.mechanism);
    return run();
  } };
}
