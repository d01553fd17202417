// Which pairs of tokens carry the similarity of two texts.
import { call } from './api.js';
import { byId, make, shortNumber, tokenNode } from './dom.js';
import { state, writeLink } from './state.js';

const SHOWN = 15;

function pairs(reply) {
  const columns = reply.secondTokens.length;
  return reply.contributions.values
    .map((value, at) => ({ value, i: Math.floor(at / columns), j: at % columns }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .slice(0, SHOWN);
}

function show(reply) {
  byId('explain-cosine').textContent =
    `Cosine ${shortNumber(reply.cosine)}; the contributions of all pairs add up to it.`;
  const rows = pairs(reply).map(({ value, i, j }) => make('tr', {},
    make('td', {}, tokenNode(reply.firstTokens[i])),
    make('td', {}, tokenNode(reply.secondTokens[j])),
    make('td', { className: 'number' }, shortNumber(value))));
  byId('explain-pairs').replaceChildren(
    make('caption', {}, `The ${rows.length} largest contributions`),
    make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'first text'),
      make('th', { scope: 'col' }, 'second text'), make('th', { scope: 'col' }, 'contribution'))),
    make('tbody', {}, ...rows));
}

// draw(reply) shows the whole matrix.
export function startExplain(report, draw) {
  const run = async () => {
    state.first = byId('first').value;
    state.other = byId('other').value;
    writeLink();
    try {
      const reply = await call('explain-similarity', { first: state.first, second: state.other,
        truncation: 'TRUNCATION_RIGHT' });
      report('');
      byId('explain-result').hidden = false;
      show(reply);
      draw(reply);
    } catch (error) {
      byId('explain-result').hidden = true;
      report(error.message, true);
    }
  };
  byId('explain-form').addEventListener('submit', (event) => {
    event.preventDefault();
    run();
  });
  return { run, restore: () => {
    byId('first').value = state.first;
    byId('other').value = state.other;
  } };
}
