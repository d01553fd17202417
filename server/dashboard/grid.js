// Layers by heads: one cell a head, with a thumbnail of its map or a statistic.
import { colorOf, colorTable, inkOn, scalePosition } from './colors.js';
import { fitCanvas, make, shortNumber } from './dom.js';

const LABELS = {
  HEAD_LABEL_NEXT: 'next', HEAD_LABEL_PREVIOUS: 'prev', HEAD_LABEL_BROAD: 'broad',
  HEAD_LABEL_CLS: '[CLS]', HEAD_LABEL_SEPARATOR: '[SEP]', HEAD_LABEL_PUNCTUATION: 'punct',
};

export class HeadGrid {
  // open(layer, head) is called when a cell is chosen.
  constructor(table, open) {
    this.table = table;
    this.open = open;
    this.cells = new Map();
    table.addEventListener('keydown', (event) => this.moveFocus(event));
  }

  // Makes the cells: `layers` are numbers, and so are `heads`; none means that heads are merged.
  build(layers, heads) {
    this.layers = layers;
    this.heads = heads.length > 0 ? heads : [0];
    this.merged = heads.length === 0;
    this.cells.clear();
    this.table.classList.remove('numbers');
    const head = make('tr', {}, make('th', { scope: 'col' }, 'layer'));
    for (const h of this.heads) {
      head.append(make('th', { scope: 'col' }, this.merged ? 'all heads' : String(h)));
    }
    const rows = [...layers].reverse().map((layer) => this.makeRow(layer));
    this.table.replaceChildren(make('thead', {}, head), make('tbody', {}, ...rows));
  }

  makeRow(layer) {
    const row = make('tr', {}, make('th', { scope: 'row' }, String(layer)));
    for (const head of this.heads) {
      const canvas = make('canvas', { 'aria-hidden': 'true' });
      const label = make('span', { className: 'cell-label' });
      const button = make('button', { type: 'button', className: 'cell', tabIndex: -1 },
        canvas, label);
      button.addEventListener('click', () => this.open(layer, head));
      this.cells.set(`${layer},${head}`, { layer, head, button, canvas, label });
      row.append(make('td', {}, button));
    }
    return row;
  }

  name(cell) {
    return this.merged ? `layer ${cell.layer}` : `layer ${cell.layer}, head ${cell.head}`;
  }

  // Draws the map of one head, [queries, keys] from `offset` on, into its cell.
  drawThumbnail(layer, head, map, offset) {
    const cell = this.cells.get(`${layer},${head}`);
    if (!cell) return;
    this.table.classList.remove('numbers');
    const { queries, keys, values } = map;
    const image = new ImageData(keys, queries);
    const table = colorTable();
    let largest = 0;
    for (let i = 0; i < queries * keys; ++i) largest = Math.max(largest, values[offset + i]);
    for (let i = 0; i < queries * keys; ++i) {
      const color = Math.round(255 * scalePosition(values[offset + i], largest, 'sqrt')) * 3;
      image.data.set([table[color], table[color + 1], table[color + 2], 255], i * 4);
    }
    // A small map shows its cells; a large one is averaged, since picking cells would lose the rest.
    cell.canvas.style.imageRendering = keys > 64 ? 'auto' : 'pixelated';
    cell.canvas.width = keys;
    cell.canvas.height = queries;
    cell.canvas.getContext('2d').putImageData(image, 0, 0);
    cell.label.textContent = '';
    cell.button.setAttribute('aria-label', this.name(cell));
  }

  // Shows a number of each head: summaries are HeadSummary messages.
  drawStatistic(summaries, field) {
    this.table.classList.add('numbers');
    const table = colorTable();
    const largest = Math.max(...summaries.map((s) => Math.abs(s[field])), 1e-12);
    for (const summary of summaries) {
      const cell = this.cells.get(`${summary.layer},${summary.head}`);
      if (!cell) continue;
      const position = Math.abs(summary[field]) / largest;
      const context = fitCanvas(cell.canvas, 1, 1);
      context.fillStyle = colorOf(table, position);
      context.fillRect(0, 0, 1, 1);
      const label = LABELS[summary.label] ?? '';
      cell.label.replaceChildren(shortNumber(summary[field]), make('small', {}, label));
      cell.label.style.color = inkOn(table, position);
      cell.button.setAttribute('aria-label',
        `${this.name(cell)}: ${shortNumber(summary[field])}${label ? `, ${label}` : ''}`);
    }
  }

  // Marks the open cell, which is also the one that Tab reaches.
  select(layer, head, ablated) {
    const wanted = `${layer},${this.merged ? 0 : head}`;
    for (const [key, cell] of this.cells) {
      cell.button.setAttribute('aria-pressed', String(key === wanted));
      cell.button.tabIndex = key === wanted ? 0 : -1;
      cell.button.classList.toggle('ablated', ablated.has(key));
    }
  }

  moveFocus(event) {
    const key = [...this.cells].find(([, c]) => c.button === document.activeElement)?.[0];
    if (!key) return;
    let [layer, head] = key.split(',').map(Number);
    const at = this.heads.indexOf(head);
    if (event.key === 'ArrowRight') head = this.heads[at + 1];
    else if (event.key === 'ArrowLeft') head = this.heads[at - 1];
    else if (event.key === 'Home') head = this.heads[0];
    else if (event.key === 'End') head = this.heads.at(-1);
    else if (event.key === 'ArrowUp') layer += 1;
    else if (event.key === 'ArrowDown') layer -= 1;
    else return;
    event.preventDefault();
    this.cells.get(`${layer},${head}`)?.button.focus();
  }
}
