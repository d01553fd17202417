// One matrix as coloured cells: zoom, pan, and a crosshair that pointer and keyboard move.
// The cells are painted once, a pixel each; a frame only scales that picture, so that a matrix of
// 512 by 512 pans as smoothly as a small one.
import { colorTable, scalePosition } from './colors.js';
import { fitCanvas, frameScheduler, shortNumber, themeColors } from './dom.js';
import { escapeXml } from './headview.js';

const MARGIN = 84;
const LEAST_LABELLED_CELL = 13;
const MOST_ZOOM_CELL = 64;

export class HeatMap {
  // move(row, column) is called when the crosshair moves, pin(row) on a click or Enter.
  constructor(canvas, { move, pin }) {
    this.canvas = canvas;
    this.move = move;
    this.pin = pin;
    this.cross = { row: -1, column: -1 };
    this.draw = frameScheduler(() => this.paint());
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.dragStart(event));
    canvas.addEventListener('pointermove', (event) => this.point(event));
    canvas.addEventListener('pointerup', (event) => this.dragEnd(event));
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  // values: [rows, columns]; scale: linear, sqrt or log; perRow: each row by its own largest value.
  show(rowTokens, columnTokens, values, { scale, perRow, keepView }) {
    const sameSize = this.rowTokens?.length === rowTokens.length &&
      this.columnTokens?.length === columnTokens.length;
    Object.assign(this, { rowTokens, columnTokens, values, scale, perRow });
    this.bitmap = this.render();
    if (!(keepView && sameSize)) this.fit();
    this.draw();
  }

  render() {
    const rows = this.rowTokens.length;
    const columns = this.columnTokens.length;
    const bitmap = document.createElement('canvas');
    bitmap.width = columns;
    bitmap.height = rows;
    const image = new ImageData(columns, rows);
    const table = colorTable();
    let largest = 0;
    for (const value of this.values) if (value > largest) largest = value;
    this.largest = largest;
    for (let i = 0; i < rows; ++i) {
      const row = this.values.subarray(i * columns, (i + 1) * columns);
      const unit = this.perRow ? row.reduce((a, b) => Math.max(a, b), 0) : largest;
      for (let j = 0; j < columns; ++j) {
        const color = Math.round(255 * scalePosition(row[j], unit, this.scale)) * 3;
        const at = (i * columns + j) * 4;
        image.data[at] = table[color];
        image.data[at + 1] = table[color + 1];
        image.data[at + 2] = table[color + 2];
        image.data[at + 3] = 255;
      }
    }
    bitmap.getContext('2d').putImageData(image, 0, 0);
    return bitmap;
  }

  size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  // Shows the whole matrix.
  fit() {
    const { width, height } = this.size();
    const cells = Math.max(this.rowTokens?.length ?? 1, this.columnTokens?.length ?? 1);
    this.cell = Math.max(Math.min((width - MARGIN) / cells, (height - MARGIN) / cells, 40), 0.2);
    this.leastCell = this.cell;
    this.left = 0;
    this.top = 0;
    this.draw();
  }

  resize() {
    if (!this.bitmap) return;
    if (this.cell === this.leastCell) this.fit();
    this.clamp();
    this.draw();
  }

  // Zooms so that the matrix under (x, y) stays where it is.
  zoom(factor, x, y) {
    const before = this.cell;
    this.cell = Math.min(Math.max(this.cell * factor, this.leastCell), MOST_ZOOM_CELL);
    const grown = this.cell / before;
    this.left = (this.left + x - MARGIN) * grown - (x - MARGIN);
    this.top = (this.top + y - MARGIN) * grown - (y - MARGIN);
    this.clamp();
    this.draw();
  }

  zoomCenter(factor) {
    const { width, height } = this.size();
    this.zoom(factor, (width + MARGIN) / 2, (height + MARGIN) / 2);
  }

  pan(x, y) {
    this.left += x;
    this.top += y;
    this.clamp();
    this.draw();
  }

  clamp() {
    const { width, height } = this.size();
    const most = (cells, room) => Math.max(0, cells * this.cell - (room - MARGIN));
    this.left = Math.min(Math.max(this.left, 0), most(this.columnTokens.length, width));
    this.top = Math.min(Math.max(this.top, 0), most(this.rowTokens.length, height));
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - MARGIN + this.left;
    const y = event.clientY - box.top - MARGIN + this.top;
    const column = Math.floor(x / this.cell);
    const row = Math.floor(y / this.cell);
    const inside = column >= 0 && row >= 0 && column < this.columnTokens.length &&
      row < this.rowTokens.length;
    return inside ? { row, column } : null;
  }

  setCross(row, column) {
    this.cross = { row, column };
    this.draw();
  }

  wheel(event) {
    if (!this.bitmap) return;
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
  }

  dragStart(event) {
    this.drag = { x: event.clientX, y: event.clientY, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  point(event) {
    if (!this.bitmap) return;
    if (this.drag) {
      const x = this.drag.x - event.clientX;
      const y = this.drag.y - event.clientY;
      if (!this.drag.moved && Math.abs(x) + Math.abs(y) < 4) return;
      this.pan(x, y);
      this.drag = { x: event.clientX, y: event.clientY, moved: true };
      return;
    }
    const at = this.cellAt(event);
    if (at && (at.row !== this.cross.row || at.column !== this.cross.column)) {
      this.setCross(at.row, at.column);
      this.move(at.row, at.column);
    }
  }

  dragEnd(event) {
    const clicked = this.drag && !this.drag.moved;
    this.drag = null;
    const at = clicked && this.bitmap ? this.cellAt(event) : null;
    if (!at) return;
    this.setCross(at.row, at.column);
    this.move(at.row, at.column);
    this.pin(at.row);
  }

  key(event) {
    if (!this.bitmap) return;
    let { row, column } = this.cross;
    const lastRow = this.rowTokens.length - 1;
    const lastColumn = this.columnTokens.length - 1;
    if (event.key === 'ArrowRight') column += 1;
    else if (event.key === 'ArrowLeft') column -= 1;
    else if (event.key === 'ArrowDown') row += 1;
    else if (event.key === 'ArrowUp') row -= 1;
    else if (event.key === 'Home') column = 0;
    else if (event.key === 'End') column = lastColumn;
    else if (event.key === '+' || event.key === '=') return this.zoomCenter(1.4);
    else if (event.key === '-') return this.zoomCenter(1 / 1.4);
    else if (event.key === '0') return this.fit();
    else if (event.key === 'Enter' && row >= 0) return this.pin(row);
    else return undefined;
    event.preventDefault();
    row = Math.min(Math.max(row, 0), lastRow);
    column = Math.min(Math.max(column, 0), lastColumn);
    this.setCross(row, column);
    this.reveal(row, column);
    this.move(row, column);
    return undefined;
  }

  reveal(row, column) {
    const { width, height } = this.size();
    const x = column * this.cell;
    const y = row * this.cell;
    this.left = Math.min(Math.max(this.left, x + this.cell - (width - MARGIN)), x);
    this.top = Math.min(Math.max(this.top, y + this.cell - (height - MARGIN)), y);
    this.clamp();
  }

  paint() {
    const { width, height } = this.size();
    if (!this.bitmap || width === 0) return;
    const context = fitCanvas(this.canvas, width, height);
    this.colors = themeColors();
    context.imageSmoothingEnabled = this.cell < 1;
    context.save();
    context.beginPath();
    context.rect(MARGIN, MARGIN, width - MARGIN, height - MARGIN);
    context.clip();
    context.drawImage(this.bitmap, MARGIN - this.left, MARGIN - this.top,
      this.columnTokens.length * this.cell, this.rowTokens.length * this.cell);
    this.paintCross(context, width, height);
    context.restore();
    this.paintLabels(context, width, height);
  }

  paintCross(context, width, height) {
    const { row, column } = this.cross;
    if (row < 0 || row >= this.rowTokens.length || column >= this.columnTokens.length) return;
    const x = MARGIN - this.left + column * this.cell;
    const y = MARGIN - this.top + row * this.cell;
    const size = Math.max(this.cell, 2);
    context.strokeStyle = this.colors.accent;
    context.lineWidth = 1;
    context.globalAlpha = 0.55;
    context.strokeRect(MARGIN - 2, y, width, size);
    context.strokeRect(x, MARGIN - 2, size, height);
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.strokeRect(x, y, size, size);
  }

  paintLabels(context, width, height) {
    context.font = `${Math.min(13, Math.max(10, this.cell * 0.7))}px system-ui, sans-serif`;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const every = Math.max(1, Math.ceil(LEAST_LABELLED_CELL / this.cell));
    const each = (tokens, scroll, room, place, focused) => {
      const first = Math.max(0, Math.floor(scroll / this.cell));
      const last = Math.min(tokens.length - 1, Math.floor((scroll + room) / this.cell));
      for (let i = first; i <= last; ++i) {
        if (i % every !== 0 && i !== focused) continue;
        const near = focused >= 0 && i !== focused && Math.abs(i - focused) < every;
        if (near) continue;
        const { accent, muted, ink } = this.colors;
        context.fillStyle = i === focused ? accent : tokens[i].special ? muted : ink;
        place(`\u2068${tokens[i].text}\u2069`, MARGIN - scroll + (i + 0.5) * this.cell);
      }
    };
    each(this.rowTokens, this.top, height - MARGIN, (text, y) => {
      if (y > MARGIN - 4) context.fillText(text, MARGIN - 6, y, MARGIN - 8);
    }, this.cross.row);
    each(this.columnTokens, this.left, width - MARGIN, (text, x) => {
      if (x < MARGIN - 4) return;
      context.save();
      context.translate(x, MARGIN - 6);
      context.rotate(Math.PI / 2);
      context.fillText(text, 0, 0, MARGIN - 8);
      context.restore();
    }, this.cross.column);
  }

  // The whole matrix as an SVG document: for texts short enough to print.
  toSvg() {
    const cell = 16;
    const rows = this.rowTokens.length;
    const columns = this.columnTokens.length;
    const picture = this.bitmap.getContext('2d').getImageData(0, 0, columns, rows).data;
    const parts = [];
    for (let i = 0; i < rows; ++i) {
      parts.push(`<text x="${MARGIN - 4}" y="${MARGIN + i * cell + 12}" text-anchor="end">` +
        `${escapeXml(this.rowTokens[i].text)}</text>`);
      for (let j = 0; j < columns; ++j) {
        const at = (i * columns + j) * 4;
        parts.push(`<rect x="${MARGIN + j * cell}" y="${MARGIN + i * cell}" width="${cell}" ` +
          `height="${cell}" fill="rgb(${picture.slice(at, at + 3).join(',')})">` +
          `<title>${shortNumber(this.values[i * columns + j])}</title></rect>`);
      }
    }
    for (let j = 0; j < columns; ++j) {
      parts.push(`<text transform="translate(${MARGIN + j * cell + 4} ${MARGIN - 4}) rotate(-90)">` +
        `${escapeXml(this.columnTokens[j].text)}</text>`);
    }
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${MARGIN + columns * cell + 8}" ` +
      `height="${MARGIN + rows * cell + 8}" font-family="sans-serif" font-size="12">` +
      `${parts.join('')}</svg>`;
  }
}
