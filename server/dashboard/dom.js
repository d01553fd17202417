// Small helpers for the page. Text only ever enters it as text.

export const byId = (id) => document.getElementById(id);

// An element with properties, and children that are nodes or text.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('aria-') || name === 'role' || name === 'scope') {
      element.setAttribute(name, value);
    } else {
      element[name] = value;
    }
  }
  element.append(...children);
  return element;
}

// A token as the vocabulary spells it, in a direction of its own.
export function tokenNode(token) {
  return make('bdi', { className: token.special ? 'token special' : 'token' }, token.text);
}

// The theme's colours, for canvases. Asking is slow: once a frame, not once a token.
export function themeColors() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  return { ink: color('--ink'), muted: color('--muted'), accent: color('--accent'),
    mark: color('--mark') };
}

// Three significant digits, in a width that does not jump about.
export function shortNumber(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 0.001 || size >= 10000) return value.toExponential(2);
  return value.toPrecision(3);
}

// Prepares `canvas` for its size in CSS pixels on this screen, and returns its context.
export function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const pixelWidth = Math.max(1, Math.round(width * ratio));
  const pixelHeight = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== pixelWidth) canvas.width = pixelWidth;
  if (canvas.height !== pixelHeight) canvas.height = pixelHeight;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// Runs `draw` once in the next frame, however often it is asked to.
export function frameScheduler(draw) {
  let pending = false;
  return () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
    });
  };
}
