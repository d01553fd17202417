// The page that `attune export-html` writes: the panels of the dashboard around one reply, which is
// in the page, so that it needs no server.
import { decodeMap } from './api.js';
import { headColor } from './colors.js';
import { byId, make, shortNumber } from './dom.js';
import { HeadGrid } from './grid.js';
import { HeadView } from './headview.js';
import { HeatMap } from './heatmap.js';
import { showToken } from './inspect.js';

class Page {
  constructor(reply) {
    this.reply = reply;
    this.map = decodeMap(reply);
    const units = reply.words.length > 0 ? reply.words : reply.tokens;
    this.units = reply.keys.map((key) => units[key]);
    this.merged = reply.heads.length === 0;
    this.heads = this.merged ? [0] : reply.heads;
    this.total = Math.max(...this.heads) + 1;
    this.layer = reply.layers[0];
    this.head = this.heads[0];
    this.shown = [this.head];
    this.token = -1;
    this.grid = new HeadGrid(byId('grid'), (layer, head) => this.open(layer, head));
    this.headView = new HeadView(byId('head-view'), {
      hover: (token, right) => this.focus(token >= 0 ? token : this.token, right),
      pin: (token, right) => this.pin(token, right),
    });
    this.heatMap = new HeatMap(byId('heat-map'), {
      move: (row, column) => this.describe(row, column),
      pin: (row) => this.pin(row, false),
    });
    this.bind();
    this.grid.build(reply.layers, reply.heads);
    this.show();
    this.fillGrid();
  }

  values(layer, head) {
    const size = this.map.queries * this.map.keys;
    const at = (this.reply.layers.indexOf(layer) * this.map.heads + this.heads.indexOf(head)) * size;
    return this.map.values.subarray(at, at + size);
  }

  open(layer, head) {
    this.layer = layer;
    this.head = head;
    if (!this.shown.includes(head)) this.shown = [head];
    this.show();
  }

  show() {
    this.grid.select(this.layer, this.head, new Set());
    byId('layer').value = String(this.layer);
    this.makeChips();
    this.headView.show(this.units,
      this.shown.map((head) => ({ head, values: this.values(this.layer, head) })), this.total);
    this.showHeatMap();
    this.focus(this.token, false);
  }

  showHeatMap() {
    this.heatMap.show(this.units, this.units, this.values(this.layer, this.head), {
      scale: byId('scale').value, perRow: byId('rows').value === 'row', keepView: true });
    byId('map-name').textContent = this.place();
    byId('legend').textContent = byId('rows').value === 'row'
      ? 'Rows look at columns. Strongest colour: the largest value of its row.'
      : `Rows look at columns. Strongest colour: ${shortNumber(this.heatMap.largest)}.`;
  }

  place() {
    return this.merged ? `layer ${this.layer}` : `layer ${this.layer}, head ${this.head}`;
  }

  fillGrid() {
    const statistic = byId('statistic').value;
    if (statistic) {
      this.grid.drawStatistic(this.reply.statistics, statistic);
      return;
    }
    const size = this.map.queries * this.map.keys;
    this.reply.layers.forEach((layer, l) => this.heads.forEach((head, h) =>
      this.grid.drawThumbnail(layer, head, this.map, (l * this.map.heads + h) * size)));
  }

  makeChips() {
    byId('head-chips').replaceChildren(...(this.merged ? [] : this.heads).map((head) => {
      const chip = make('button', { type: 'button', className: 'chip',
        'aria-pressed': String(this.shown.includes(head)), 'aria-label': `head ${head}` },
      String(head));
      chip.style.setProperty('--head', headColor(head, this.total));
      chip.addEventListener('click', () => this.toggle(head));
      chip.addEventListener('dblclick', () => this.open(this.layer, this.isolate(head)));
      return chip;
    }));
  }

  isolate(head) {
    this.shown = [head];
    return head;
  }

  // Never none.
  toggle(head) {
    const others = this.shown.filter((h) => h !== head);
    if (others.length === this.shown.length) this.shown = [...others, head].sort((a, b) => a - b);
    else if (others.length > 0) this.shown = others;
    this.head = this.shown.includes(head) ? head : this.shown[0];
    this.show();
    byId('head-chips').querySelector(`[aria-label="head ${head}"]`).focus();
  }

  pin(token, right) {
    this.token = this.token === token ? -1 : token;
    this.focus(this.token >= 0 ? this.token : token, right);
  }

  focus(token, right) {
    this.headView.setFocus(token, right);
    showToken(byId('inspect'), this.units, this.values(this.layer, this.head), token,
      (i) => this.pin(i, false));
    byId('unpin').hidden = this.token < 0;
    if (this.token >= 0) {
      byId('unpin').replaceChildren('Pinned: ', make('bdi', {}, this.units[this.token].text), ' ✕');
    }
  }

  describe(row, column) {
    const value = this.values(this.layer, this.head)[row * this.units.length + column];
    byId('readout').replaceChildren(`${this.place()}, from `,
      make('bdi', {}, this.units[row].text), ` (${row}) to `,
      make('bdi', {}, this.units[column].text), ` (${column}): ${shortNumber(value)}`);
  }

  unpin() {
    this.token = -1;
    this.focus(-1, false);
  }

  bind() {
    byId('statistic').closest('.row').hidden = this.reply.statistics.length === 0;
    byId('statistic').addEventListener('change', () => this.fillGrid());
    byId('scale').addEventListener('change', () => this.showHeatMap());
    byId('rows').addEventListener('change', () => this.showHeatMap());
    byId('unpin').addEventListener('click', () => this.unpin());
    byId('layer').replaceChildren(...this.reply.layers.map((layer) =>
      make('option', { value: String(layer) }, String(layer))));
    byId('layer').addEventListener('change', () => this.open(Number(byId('layer').value), this.head));
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.unpin();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.show();
      this.fillGrid();
    });
  }
}

try {
  new Page(JSON.parse(byId('attune').textContent).response);
  document.body.dataset.ready = 'true';
} catch (error) {
  byId('error').textContent = `This page cannot be shown: ${error.message}`;
}
