// Two columns of tokens with a line for each weight: from the left (query) to the right (key).
// Everything is drawn on a canvas of the size of the window into the list, so a long text costs no
// more than what is seen of it.
import { headColor } from './colors.js';
import { fitCanvas, frameScheduler, shortNumber, themeColors } from './dom.js';

const ROW = 22;
const TOP = 4;
// Without a token in focus, only this many lines of each row; a text of 512 has 262,144.
const LINES_PER_ROW = 3;
const LEAST_OPACITY = 0.02;

// The lines of the largest values of each row of values [n, n]: [from, to, value].
function strongestLines(values, n) {
  const limit = n <= 32 ? n : LINES_PER_ROW;
  const lines = [];
  for (let i = 0; i < n; ++i) {
    const row = values.subarray(i * n, (i + 1) * n);
    const best = [];  // columns, the largest value first
    for (let j = 0; j < n; ++j) {
      let at = best.length;
      while (at > 0 && row[j] > row[best[at - 1]]) --at;
      if (at === limit) continue;
      best.splice(at, 0, j);
      if (best.length > limit) best.pop();
    }
    for (const j of best) lines.push([i, j, row[j]]);
  }
  return lines;
}

export class HeadView {
  // hover(token) follows the pointer and the keyboard, -1 for none; pin(token) a click or Enter.
  constructor(scroller, { hover, pin }) {
    this.scroller = scroller;
    this.canvas = scroller.querySelector('canvas');
    this.spacer = scroller.querySelector('.spacer');
    this.hover = hover;
    this.pin = pin;
    this.tokens = [];
    this.heads = [];
    this.focus = -1;
    this.fromRight = false;
    this.draw = frameScheduler(() => this.paint());
    scroller.addEventListener('scroll', this.draw);
    scroller.addEventListener('pointermove', (event) => this.point(event));
    scroller.addEventListener('pointerleave', () => this.hover(-1, false));
    scroller.addEventListener('click', (event) => this.click(event));
    scroller.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(this.draw).observe(scroller);
  }

  // heads: [{ head, values }], each [tokens, tokens]; `total` heads in the model.
  show(tokens, heads, total) {
    this.tokens = tokens;
    this.heads = heads.map(({ head, values }) =>
      ({ head, values, strongest: strongestLines(values, tokens.length) }));
    this.total = total;
    this.unit = this.largest();
    this.spacer.style.height = `${tokens.length * ROW + 2 * TOP}px`;
    this.draw();
  }

  setFocus(token, fromRight) {
    this.focus = token;
    this.fromRight = fromRight;
    this.draw();
  }

  reveal(token) {
    const top = token * ROW;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    const bottom = top + ROW - this.scroller.clientHeight + 2 * TOP;
    if (bottom > this.scroller.scrollTop) this.scroller.scrollTop = bottom;
  }

  tokenAt(event) {
    const box = this.scroller.getBoundingClientRect();
    const token = Math.floor((event.clientY - box.top + this.scroller.scrollTop - TOP) / ROW);
    const right = event.clientX - box.left > box.width / 2;
    return { token: token >= 0 && token < this.tokens.length ? token : -1, right };
  }

  point(event) {
    const { token, right } = this.tokenAt(event);
    this.hover(token, right);
  }

  click(event) {
    const { token, right } = this.tokenAt(event);
    if (token >= 0) this.pin(token, right);
  }

  key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const last = this.tokens.length - 1;
    if (event.key in steps) {
      const next = Math.min(Math.max(this.focus + steps[event.key], 0), last);
      this.hover(next, this.fromRight);
      this.reveal(next);
    } else if (event.key === 'Home' || event.key === 'End') {
      this.hover(event.key === 'Home' ? 0 : last, this.fromRight);
      this.reveal(event.key === 'Home' ? 0 : last);
    } else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      this.hover(Math.max(this.focus, 0), event.key === 'ArrowRight');
    } else if (event.key === 'Enter' && this.focus >= 0) {
      this.pin(this.focus, this.fromRight);
    } else {
      return;
    }
    event.preventDefault();
  }

  // The lines to draw of one of the heads: those of the token in focus, else the strongest.
  lines({ values, strongest }) {
    if (this.focus < 0) return strongest;
    const n = this.tokens.length;
    return this.tokens.map((_, j) => {
      const [from, to] = this.fromRight ? [j, this.focus] : [this.focus, j];
      return [from, to, values[from * n + to]];
    });
  }

  // The largest value of the heads shown: its line is drawn solid, the others in proportion.
  largest() {
    let largest = 0;
    for (const { values } of this.heads) for (const v of values) if (v > largest) largest = v;
    return largest;
  }

  geometry() {
    const width = this.scroller.clientWidth;
    const column = Math.min(width * 0.36, 220);
    return { width, height: this.scroller.clientHeight, left: column, right: width - column };
  }

  paint() {
    const { width, height, left, right } = this.geometry();
    if (width === 0) return;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = fitCanvas(this.canvas, width, height);
    this.colors = themeColors();
    const shift = TOP - this.scroller.scrollTop;
    this.paintLines(context, shift, height, left, right);
    this.paintTokens(context, shift, height, left, right);
  }

  paintLines(context, shift, height, left, right) {
    const unit = Math.max(this.unit, 1e-12);
    context.lineWidth = 2;
    for (const shown of this.heads) {
      context.strokeStyle = headColor(shown.head, this.total);
      for (const [from, to, value] of this.lines(shown)) {
        const opacity = value / unit;
        const y0 = from * ROW + ROW / 2 + shift;
        const y1 = to * ROW + ROW / 2 + shift;
        if (!(opacity >= LEAST_OPACITY) || Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) {
          continue;
        }
        context.globalAlpha = opacity;
        context.beginPath();
        context.moveTo(left + 4, y0);
        context.lineTo(right - 4, y1);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  paintTokens(context, shift, height, left, right) {
    context.font = '14px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const first = Math.max(0, Math.floor(-shift / ROW));
    const last = Math.min(this.tokens.length - 1, Math.ceil((height - shift) / ROW));
    for (let i = first; i <= last; ++i) {
      const y = i * ROW + ROW / 2 + shift;
      this.paintToken(context, i, y, left, 'right', this.focus === i && !this.fromRight);
      this.paintToken(context, i, y, right, 'left', this.focus === i && this.fromRight);
    }
  }

  paintToken(context, i, y, x, align, focused) {
    if (focused) {
      context.fillStyle = this.colors.mark;
      const start = align === 'right' ? 0 : x;
      context.fillRect(start, y - ROW / 2, align === 'right' ? x : this.geometry().width - x, ROW);
    }
    const token = this.tokens[i];
    context.fillStyle = token.special ? this.colors.muted : this.colors.ink;
    context.textAlign = align;
    // An isolate of its own, so that right-to-left tokens do not turn the number around.
    const text = `\u2068${token.text}\u2069`;
    const label = align === 'right' ? `${text} ${i}` : `${i} ${text}`;
    context.fillText(label, x, y, align === 'right' ? x - 4 : this.geometry().width - x - 4);
  }

  // What is seen, as an SVG document: for texts short enough to print.
  toSvg() {
    const n = this.tokens.length;
    const width = 480;
    const parts = [];
    const text = (i, x, anchor) => `<text x="${x}" y="${i * ROW + 20}" text-anchor="${anchor}">` +
      `${escapeXml(this.tokens[i].text)}</text>`;
    for (const shown of this.heads) {
      for (const [from, to, value] of this.lines(shown)) {
        const opacity = value / Math.max(this.unit, 1e-12);
        if (!(opacity >= LEAST_OPACITY)) continue;
        parts.push(`<line x1="165" y1="${from * ROW + 15}" x2="315" y2="${to * ROW + 15}" ` +
          `stroke="${headColor(shown.head, this.total)}" stroke-opacity="${shortNumber(opacity)}"/>`);
      }
    }
    for (let i = 0; i < n; ++i) parts.push(text(i, 160, 'end'), text(i, 320, 'start'));
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${n * ROW + 16}" ` +
      `font-family="sans-serif" font-size="14" stroke-width="2">` +
      `<g fill="currentColor">${parts.join('')}</g></svg>`;
  }
}

export function escapeXml(text) {
  const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (c) => entities[c]);
}
