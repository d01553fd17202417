// What one token looks at, and who looks at it, as two tables; and what each token is worth.
import { make, shortNumber, tokenNode } from './dom.js';

const SHOWN = 10;

function rank(tokens, valueOf) {
  return tokens.map((token, i) => ({ token, i, value: valueOf(i) }))
    .sort((a, b) => b.value - a.value || a.i - b.i)
    .slice(0, SHOWN);
}

function table(caption, entries, open) {
  const largest = Math.max(...entries.map((e) => e.value), 1e-12);
  const rows = entries.map(({ token, i, value }) => {
    const name = open ? make('button', { type: 'button', className: 'link' }, tokenNode(token))
      : tokenNode(token);
    if (open) name.addEventListener('click', () => open(i));
    const bar = make('meter', { min: 0, max: largest, value: Math.max(value, 0),
      'aria-hidden': 'true' });
    return make('tr', {}, make('td', {}, String(i)), make('td', {}, name),
      make('td', { className: 'number' }, shortNumber(value)), make('td', {}, bar));
  });
  return make('table', {}, make('caption', {}, caption), make('tbody', {}, ...rows));
}

// values: [tokens, tokens]; open(token) is called when a name is chosen.
export function showToken(place, tokens, values, token, open) {
  const n = tokens.length;
  if (token < 0 || token >= n) {
    place.replaceChildren(make('p', { className: 'hint' },
      'Choose a token in the head view or the heat map.'));
    return;
  }
  const chosen = make('h3', {}, 'Token ', String(token), ': ', tokenNode(tokens[token]));
  place.replaceChildren(chosen,
    table('looks at', rank(tokens, (j) => values[token * n + j]), open),
    table('is looked at by', rank(tokens, (i) => values[i * n + token]), open));
}

// values: of each token, how far the embedding moves without it.
export function showErasure(place, tokens, values) {
  place.replaceChildren(table('1 − cosine of the embedding without the token',
    rank(tokens, (i) => values[i]), null));
}
