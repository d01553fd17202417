// The page: which view is open, and errors.
import { call } from './api.js';
import { AttentionView } from './attention.js';
import { byId, make, shortNumber } from './dom.js';
import { startExplain } from './explain.js';
import { HeatMap } from './heatmap.js';
import { startMechanism } from './mechanism.js';
import { readLink, state, writeLink } from './state.js';

const VIEWS = ['attention', 'explain', 'mechanism', 'reading'];

// The same characters in five orders, of which each says something else.
const WORD_ORDERS = ['吃饭没', '没吃饭', '没饭吃', '饭吃没', '饭没吃'];

function report(message, isError = false) {
  byId('error').textContent = isError ? message : '';
  if (isError) byId('status').textContent = '';
}

function describeModel(model) {
  byId('model').textContent = `${model.name}: ${model.layers} layers of ${model.heads} heads, up to ` +
    `${model.maxTokens} tokens; computed in ${model.precision}`;
}

// A link may ask for what this page does not have.
function replaceUnknownChoices() {
  const usual = { matrix: 'ATTENTION_MATRIX_WEIGHTS', specials: 'ATTENTION_SPECIALS_KEEP',
    level: 'ATTENTION_LEVEL_TOKEN' };
  for (const [name, value] of Object.entries(usual)) {
    const known = [...byId(name).options].some((option) => option.value === state[name]);
    if (!known) state[name] = value;
  }
}

function openView(name) {
  state.view = VIEWS.includes(name) ? name : 'attention';
  for (const view of VIEWS) byId(`view-${view}`).hidden = view !== state.view;
  for (const button of document.querySelectorAll('nav [data-view]')) {
    if (button.dataset.view === state.view) button.setAttribute('aria-current', 'page');
    else button.removeAttribute('aria-current');
  }
  report('');
  writeLink();
}

// Offered where the model knows the characters: others it would map to one unknown token.
async function offerWordOrders() {
  const { texts } = await call('tokenize', { texts: { values: WORD_ORDERS } });
  if (texts.some((text) => text.tokens.some((token) => token.text === '[UNK]'))) return;
  byId('word-order-buttons').replaceChildren(...WORD_ORDERS.map((text) => {
    const button = make('button', { type: 'button', lang: 'zh' }, text);
    button.addEventListener('click', () => {
      byId('text').value = text;
      byId('text-form').requestSubmit();
    });
    return button;
  }));
  byId('word-order').hidden = false;
}

function explainMap() {
  let reply = null;
  const map = new HeatMap(byId('explain-map'), {
    move: (i, j) => {
      const value = reply.contributions.values[i * reply.secondTokens.length + j];
      byId('explain-readout').replaceChildren(make('bdi', {}, reply.firstTokens[i].text), ' and ',
        make('bdi', {}, reply.secondTokens[j].text), `: ${shortNumber(value)}`);
    },
    pin: () => {},
  });
  return (next) => {
    reply = next;
    map.show(reply.firstTokens, reply.secondTokens, Float32Array.from(reply.contributions.values),
      { scale: 'sqrt', perRow: false });
  };
}

function startTheme(redraw) {
  const root = document.documentElement;
  root.dataset.theme = localStorage.getItem('theme') ?? '';
  if (!root.dataset.theme) delete root.dataset.theme;
  byId('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    localStorage.setItem('theme', root.dataset.theme);
    redraw();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}

async function start() {
  readLink();
  const model = await call('model', {});
  describeModel(model);

  const attention = new AttentionView(model, report);
  const mechanism = startMechanism(report);
  const explain = startExplain(report, explainMap());
  startTheme(() => attention.redraw());

  const openFromLink = async () => {
    replaceUnknownChoices();
    attention.restore();
    explain.restore();
    openView(state.view);
    if (state.view === 'mechanism') await mechanism.open();
    else await attention.show();
  };
  for (const button of document.querySelectorAll('[data-view]')) {
    button.addEventListener('click', () => {
      openView(button.dataset.view);
      if (state.view === 'mechanism') mechanism.open();
      if (state.view === 'attention' && attention.layers.size === 0) attention.show();
      if (button.closest('main')) byId('main').focus();
    });
  }
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest('input, textarea, select');
    if (!typing && state.view === 'attention') attention.key(event);
  });
  window.addEventListener('hashchange', () => {
    readLink();
    openFromLink();
  });
  offerWordOrders().catch(() => {});
  await openFromLink();
  document.body.dataset.ready = 'true';
}

start().catch((error) => report(error.message, true));
