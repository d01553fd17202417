// The attention view: asks for maps, and keeps its panels showing the same layer, heads and token.
import { call, decodeMap } from './api.js';
import { headColor } from './colors.js';
import { makeDocument } from './document.js';
import { byId, make, shortNumber } from './dom.js';
import { HeadGrid } from './grid.js';
import { HeadView } from './headview.js';
import { HeatMap } from './heatmap.js';
import { showErasure, showToken } from './inspect.js';
import { saveNpz, savePng, saveText, toCsv } from './save.js';
import { state, writeLink } from './state.js';

const THUMBNAIL = 32;
// Up to this many bytes all layers are asked for at once.
const ALL_LAYERS_BYTES = 4 << 20;
const MOST_SVG_TOKENS = 128;
// From here on the last digits of a weight are not worth twice the bytes.
const HALF_PRECISION_TOKENS = 256;

export class AttentionView {
  // report(message, isError) tells the reader.
  constructor(model, report) {
    Object.assign(this, { model, report });
    this.layers = new Map();  // number -> decoded map with its reply
    this.hovered = -1;
    this.fills = 0;
    this.grid = new HeadGrid(byId('grid'), (layer, head) => this.openHead(layer, head));
    this.headView = new HeadView(byId('head-view'), {
      hover: (token, right) => this.hover(token, right),
      pin: (token, right) => this.pin(token, right),
    });
    this.heatMap = new HeatMap(byId('heat-map'), {
      move: (row, column) => this.describeCell(row, column),
      pin: (row) => this.pin(row, false),
    });
    this.bind();
  }

  // ---- Asking ----

  input() {
    return state.second ? { textPair: { first: state.text, second: state.second } }
      : { text: state.text };
  }

  query(more) {
    return { ...this.input(), truncation: 'TRUNCATION_RIGHT', matrix: state.matrix,
      specials: state.specials, level: state.level, ablate: state.ablate,
      maxBytes: String(this.model.limits.maxAttentionReplyBytes), ...more };
  }

  async fetchMap(more) {
    const reply = await call('attention-map', { query: this.query(more) }, this.abort.signal);
    return { ...decodeMap(reply), reply };
  }

  // Everything anew: the text or an option has changed.
  async show() {
    this.abort?.abort();
    this.abort = new AbortController();
    this.layers.clear();
    byId('erasure').replaceChildren();
    state.layer = Math.min(Math.max(state.layer, 0), this.model.layers - 1);
    state.head = Math.min(Math.max(state.head, 0), this.model.heads - 1);
    state.heads = state.heads.filter((h) => h >= 0 && h < this.model.heads);
    if (state.heads.length === 0) state.heads = [state.head];
    writeLink();
    byId('status').textContent = 'Computing';
    try {
      const half = state.text.length > 4 * HALF_PRECISION_TOKENS;
      this.encoding = half ? { encoding: 'ATTENTION_ENCODING_F16' } : {};
      const first = await this.fetchMap({ layers: [state.layer], ...this.encoding });
      this.layers.set(state.layer, first);
      this.describeReply(first.reply);
      byId('result').hidden = false;
      this.buildGrid(first.reply);
      this.showLayer();
      this.report('');
      await this.fillGrid();
      byId('status').textContent = `Attention of ${this.units.length} tokens shown`;
    } catch (error) {
      if (error.name === 'AbortError') return;
      byId('result').hidden = this.layers.size === 0;
      this.report(error.message, true);
    }
  }

  // A request that was given up for another one is no error.
  fail(error) {
    if (error.name !== 'AbortError') this.report(error.message, true);
  }

  describeReply(reply) {
    const units = reply.words?.length > 0 ? reply.words : reply.tokens;
    this.units = reply.keys?.length > 0 ? reply.keys.map((k) => units[k]) : units;
    this.merged = reply.heads.length === 0;
    const notes = [];
    if (reply.truncated) notes.push(`The text was cut to ${reply.tokens.length} tokens.`);
    if (reply.beyondTrainedLength) notes.push('Longer than what the model was trained for.');
    if (reply.movement) {
      notes.push('With these heads off the embedding moved: 1 − cosine = ' +
        `${shortNumber(reply.movement.cosineDistance)}.`);
    }
    byId('notice').textContent = notes.join(' ');
    byId('ablated').textContent = state.ablate.length === 0 ? '' : `Off: ${state.ablate
      .map(({ layer, head }) => `layer ${layer} head ${head}`).join(', ')}`;
  }

  buildGrid(reply) {
    const all = Array.from({ length: this.model.layers }, (_, i) => i);
    this.grid.build(all, reply.heads);
    byId('head-title').textContent = this.merged ? 'Lines (all heads together)' : 'Head view';
    this.selectHead();
  }

  async fillGrid() {
    const number = ++this.fills;  // choices may come faster than replies; the last one is drawn
    const isLast = () => number === this.fills;
    if (state.statistic && !this.merged) {
      const { statistic } = state;
      const { statistics } = await this.fetchWithoutMap({ statistics: true });
      if (isLast()) this.grid.drawStatistic(statistics, statistic);
      return;
    }
    if (state.matrix !== 'ATTENTION_MATRIX_RAW_SCORES' &&
        state.matrix !== 'ATTENTION_MATRIX_HIDDEN_SIMILARITY') {
      const map = await this.fetchMap({ pool: { size: THUMBNAIL } });
      if (isLast()) this.drawThumbnails(map);
      return;
    }
    const bytes = 4 * this.units.length ** 2 * this.grid.heads.length * this.model.layers;
    const groups = bytes <= ALL_LAYERS_BYTES ? [[]] : this.grid.layers.map((l) => [l]);
    for (const layers of groups) {
      const map = this.layers.get(layers[0]) ?? await this.fetchMap({ layers, ...this.encoding });
      if (!isLast()) return;
      this.drawThumbnails(map);
    }
  }

  // What is computed from whole matrices, without sending one.
  fetchWithoutMap(more) {
    const query = { ...this.input(), truncation: 'TRUNCATION_RIGHT',
      matrix: 'ATTENTION_MATRIX_NONE', ablate: state.ablate, ...more };
    return call('attention-map', { query }, this.abort.signal);
  }

  async eraseTokens() {
    try {
      const reply = await this.fetchWithoutMap({ erasure: 'TOKEN_ERASURE_REMOVE' });
      showErasure(byId('erasure'), reply.tokens, reply.erasure);
    } catch (error) {
      this.fail(error);
    }
  }

  drawThumbnails(map) {
    const size = map.queries * map.keys;
    map.reply.layers.forEach((layer, l) => {
      for (let h = 0; h < map.heads; ++h) {
        const head = this.merged ? 0 : map.reply.heads[h];
        this.grid.drawThumbnail(layer, head, map, (l * map.heads + h) * size);
      }
    });
  }

  // ---- Choosing ----

  async openHead(layer, head) {
    state.head = head;
    if (!state.heads.includes(head)) state.heads = [head];
    await this.openLayer(layer);
  }

  async openLayer(layer) {
    state.layer = layer;
    writeLink();
    this.selectHead();
    if (!this.layers.has(layer)) {
      try {
        this.layers.set(layer, await this.fetchMap({ layers: [layer], ...this.encoding }));
      } catch (error) {
        this.fail(error);
        return;
      }
    }
    if (state.layer === layer) this.showLayer();
  }

  selectHead() {
    this.grid.select(state.layer, state.head,
      new Set(state.ablate.map(({ layer, head }) => `${layer},${head}`)));
    const off = this.isAblated();
    byId('ablate').textContent = off ? 'Switch this head on' : 'Switch this head off';
    byId('layer').value = String(state.layer);
    this.makeChips();
  }

  isAblated() {
    return state.ablate.some((a) => a.layer === state.layer && a.head === state.head);
  }

  toggleAblation() {
    state.ablate = this.isAblated()
      ? state.ablate.filter((a) => a.layer !== state.layer || a.head !== state.head)
      : [...state.ablate, { layer: state.layer, head: state.head }];
    this.show();
  }

  makeChips() {
    const chips = Array.from({ length: this.merged ? 0 : this.model.heads }, (_, head) => {
      const chip = make('button', { type: 'button', className: 'chip',
        'aria-pressed': String(state.heads.includes(head)), 'aria-label': `head ${head}` },
      String(head));
      chip.style.setProperty('--head', headColor(head, this.model.heads));
      chip.addEventListener('click', () => this.toggleHead(head));
      chip.addEventListener('dblclick', () => this.isolateHead(head));
      return chip;
    });
    const focused = document.activeElement?.getAttribute('aria-label');
    byId('head-chips').replaceChildren(...chips);
    chips.find((c) => c.getAttribute('aria-label') === focused)?.focus();
  }

  // Never none.
  toggleHead(head) {
    const others = state.heads.filter((h) => h !== head);
    if (others.length === state.heads.length) state.heads = [...others, head].sort((a, b) => a - b);
    else if (others.length > 0) state.heads = others;
    this.headsChanged(state.heads.includes(head) ? head : state.heads[0]);
  }

  // The only one already: all again.
  isolateHead(head) {
    const alone = this.aloneBefore === head;
    this.aloneBefore = alone ? -1 : head;
    state.heads = alone ? Array.from({ length: this.model.heads }, (_, h) => h) : [head];
    this.headsChanged(head);
  }

  headsChanged(head) {
    state.head = head;
    writeLink();
    this.selectHead();
    this.showLayer();
  }

  // ---- Showing what is there ----

  // Not while the layer's map is on its way; it is shown when it comes.
  isThere() {
    return this.layers.has(state.layer);
  }

  headValues(head) {
    const map = this.layers.get(state.layer);
    const size = map.queries * map.keys;
    const at = this.merged ? 0 : map.reply.heads.indexOf(head);
    return map.values.subarray(at * size, (at + 1) * size);
  }

  showLayer() {
    if (!this.isThere()) return;
    if (state.token >= this.units.length) state.token = -1;
    const heads = this.merged ? [0] : state.heads;
    this.headView.show(this.units, heads.map((head) => ({ head, values: this.headValues(head) })),
      this.model.heads);
    byId('lines-legend').textContent = `Strongest line: ${shortNumber(this.headView.unit)}.`;
    this.showHeatMap(false);
    this.showFocus(state.token, false);
  }

  showHeatMap(keepView = true) {
    if (!this.isThere()) return;
    this.heatMap.show(this.units, this.units, this.headValues(state.head), {
      scale: state.scale, perRow: state.rows === 'row', keepView });
    byId('map-name').textContent =
      this.merged ? `layer ${state.layer}` : `layer ${state.layer}, head ${state.head}`;
    const brightest = state.rows === 'row' ? 'the largest value of its row'
      : shortNumber(this.heatMap.largest);
    byId('legend').textContent =
      `Rows look at columns. Strongest colour: ${brightest}; nothing: 0 or less.`;
  }

  hover(token, right) {
    this.hovered = token;
    this.showFocus(token >= 0 ? token : state.token, right);
  }

  pin(token, right) {
    state.token = state.token === token ? -1 : token;
    writeLink();
    this.showFocus(state.token >= 0 ? state.token : token, right);
    this.showUnpin();
  }

  unpin() {
    state.token = -1;
    writeLink();
    this.showFocus(-1, false);
  }

  showUnpin() {
    const button = byId('unpin');
    button.hidden = state.token < 0;
    if (state.token >= 0) {
      button.replaceChildren('Pinned: ', make('bdi', {}, this.units[state.token].text), ' ✕');
    }
  }

  showFocus(token, right) {
    this.headView.setFocus(token, right);
    if (!this.isThere()) return;
    const values = this.headValues(state.head);
    showToken(byId('inspect'), this.units, values, token, (i) => this.pin(i, false));
    this.showUnpin();
    if (token >= 0) this.describeToken(token, values);
  }

  place(row, column, value) {
    const head = this.merged ? '' : ` head ${state.head}`;
    byId('readout').replaceChildren(`layer ${state.layer}${head}, from `,
      make('bdi', {}, this.units[row].text), ` (${row}) to `,
      make('bdi', {}, this.units[column].text), ` (${column}): ${shortNumber(value)}`);
  }

  describeCell(row, column) {
    if (!this.isThere()) return;
    this.place(row, column, this.headValues(state.head)[row * this.units.length + column]);
  }

  // Where this token looks most.
  describeToken(token, values) {
    const n = this.units.length;
    let best = 0;
    for (let j = 1; j < n; ++j) if (values[token * n + j] > values[token * n + best]) best = j;
    this.place(token, best, values[token * n + best]);
  }

  // ---- Controls ----

  bind() {
    const rerun = (id, name) => byId(id).addEventListener('change', () => {
      state[name] = byId(id).value;
      this.show();
    });
    rerun('matrix', 'matrix');
    rerun('specials', 'specials');
    rerun('level', 'level');
    const redraw = (id, name) => byId(id).addEventListener('change', () => {
      state[name] = byId(id).value;
      writeLink();
      this.showHeatMap();
    });
    redraw('scale', 'scale');
    redraw('rows', 'rows');
    byId('statistic').addEventListener('change', () => {
      state.statistic = byId('statistic').value;
      writeLink();
      this.fillGrid().catch((error) => this.fail(error));
    });
    byId('text-form').addEventListener('submit', (event) => {
      event.preventDefault();
      state.text = byId('text').value;
      state.second = byId('second').value;
      state.token = -1;
      this.show();
    });
    byId('layer').replaceChildren(...Array.from({ length: this.model.layers }, (_, i) =>
      make('option', { value: String(i) }, String(i))));
    byId('layer').addEventListener('change', () => this.openLayer(Number(byId('layer').value)));
    byId('ablate').addEventListener('click', () => this.toggleAblation());
    byId('erase').addEventListener('click', () => this.eraseTokens());
    byId('unpin').addEventListener('click', () => this.unpin());
    byId('zoom-in').addEventListener('click', () => this.heatMap.zoomCenter(1.4));
    byId('zoom-out').addEventListener('click', () => this.heatMap.zoomCenter(1 / 1.4));
    byId('zoom-fit').addEventListener('click', () => this.heatMap.fit());
    this.bindExports();
  }

  // Keys that work wherever nothing is being typed.
  key(event) {
    if (event.key === 'Escape') return this.unpin();
    if (event.key === ']' && state.layer + 1 < this.model.layers) this.openLayer(state.layer + 1);
    if (event.key === '[' && state.layer > 0) this.openLayer(state.layer - 1);
    return undefined;
  }

  restore() {
    for (const id of ['text', 'second', 'matrix', 'specials', 'level', 'statistic', 'scale', 'rows']) {
      byId(id).value = state[id];
    }
  }

  redraw() {
    if (this.layers.size === 0) return;
    this.showLayer();
    this.selectHead();
    this.fillGrid().catch((error) => this.fail(error));
  }

  // ---- Export ----

  fileName(ending) {
    const head = this.merged ? '' : `-head-${state.head}`;
    return `attention-layer-${state.layer}${head}.${ending}`;
  }

  svgFits() {
    if (this.units.length <= MOST_SVG_TOKENS) return true;
    this.report(`An SVG holds at most ${MOST_SVG_TOKENS} tokens, and this text has ` +
      `${this.units.length}; take the PNG.`, true);
    return false;
  }

  bindExports() {
    const on = (id, action) => byId(id).addEventListener('click', () => this.isThere() && action());
    const svg = 'image/svg+xml';
    on('copy-link', async () => {
      try {
        await navigator.clipboard.writeText(location.href);
        byId('status').textContent = 'The link is in the clipboard';
      } catch {
        this.report('The browser gives no access to the clipboard; copy the address instead.', true);
      }
    });
    on('save-png', () => savePng(this.fileName('png'), byId('heat-map')));
    on('save-svg', () => this.svgFits() &&
      saveText(this.fileName('svg'), svg, this.heatMap.toSvg()));
    on('save-lines', () => this.svgFits() &&
      saveText(this.fileName('lines.svg'), svg, this.headView.toSvg()));
    on('save-csv', () => saveText(this.fileName('csv'), 'text/csv',
      toCsv(this.units, this.units, this.headValues(state.head))));
    on('save-json', () => saveText(this.fileName('json'), 'application/json',
      JSON.stringify(this.exchange())));
    on('save-npz', () => this.saveAllLayers());
    on('save-html', () => saveText(this.fileName('html'), 'text/html', this.makeDocument()));
  }

  // The call that gave what is shown, and its reply.
  exchange() {
    return { request: { query: this.query({ layers: [state.layer], ...this.encoding }) },
      response: this.layers.get(state.layer).reply };
  }

  // In f32, whatever the page shows. One after the other: together they may be more than a reply.
  async saveAllLayers() {
    byId('status').textContent = 'Computing';
    try {
      const maps = [];
      for (const layer of this.grid.layers) maps.push(await this.fetchMap({ layers: [layer] }));
      saveNpz('attention.npz', this.units, maps);
      byId('status').textContent = 'Every layer is saved';
    } catch (error) {
      this.fail(error);
    }
  }

  makeDocument() {
    const fits = this.units.length <= MOST_SVG_TOKENS;
    const pictures = fits
      ? [['Lines', this.headView.toSvg()], ['Heat map', this.heatMap.toSvg()]]
      : [['Heat map', byId('heat-map').toDataURL()]];
    const { reply } = this.layers.get(state.layer);
    const heads = (this.merged ? [0] : reply.heads)
      .map((head) => ({ head, values: this.headValues(head) }));
    return makeDocument({ title: `${this.model.name}, ${byId('map-name').textContent}`,
      text: state.text, tokens: this.units, heads, pictures, exchange: this.exchange() });
  }
}
