// The server's API as JSON over HTTP.

// An RPC's error: `code` is that of google.rpc.Code.
export class RpcError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// The reader's bearer token, for servers that ask for one: kept by this tab and gone with it.
const tokenKey = 'attune-token';

// Whether there now is another token than the one that was refused. Of several calls that are
// refused at once, the first asks for all.
function askForToken(refused) {
  if (sessionStorage.getItem(tokenKey) === refused) {
    const answer = window.prompt('This server asks for a token:')?.trim();
    if (!answer) return false;
    sessionStorage.setItem(tokenKey, answer);
  }
  return sessionStorage.getItem(tokenKey) !== refused;
}

async function post(method, request, signal) {
  const token = sessionStorage.getItem(tokenKey);
  const headers = { 'Content-Type': 'application/json' };
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  const body = JSON.stringify(request);
  const response = await fetch(`/v1/${method}`, { method: 'POST', headers, body, signal });
  if (response.status === 401 && askForToken(token)) return post(method, request, signal);
  return response;
}

export async function call(method, request, signal) {
  let response;
  try {
    response = await post(method, request, signal);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RpcError(14, 'the server does not answer; is it running?');
  }
  const reply = await response.json().catch(() => null);
  if (response.ok && reply !== null) return reply;
  throw new RpcError(reply?.code ?? 13, reply?.message ?? `HTTP ${response.status}`);
}

function decodeBytes(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export function decodeFloats(base64) {
  return new Float32Array(decodeBytes(base64).buffer);
}

function halfToFloat(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

let floatOfHalf = null;  // by the half's bits

function decodeHalves(base64) {
  floatOfHalf ??= Float32Array.from({ length: 1 << 16 }, (_, half) => halfToFloat(half));
  const halves = new Uint16Array(decodeBytes(base64).buffer);
  const values = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; ++i) values[i] = floatOfHalf[halves[i]];
  return values;
}

function decodeScaled(base64, scalesBase64, columns) {
  const bytes = decodeBytes(base64);
  const scales = decodeFloats(scalesBase64);
  const values = new Float32Array(bytes.length);
  for (let i = 0; i < bytes.length; ++i) values[i] = bytes[i] * scales[Math.floor(i / columns)];
  return values;
}

// The matrices of an AttentionMapResponse, [layers, heads, queries, keys], as numbers.
export function decodeMap(reply) {
  const [layers, heads, queries, keys] = reply.shape.map(Number);
  let values;
  if (reply.encoding === 'ATTENTION_ENCODING_U8') {
    values = decodeScaled(reply.data, reply.rowScales, keys);
  } else if (reply.encoding === 'ATTENTION_ENCODING_F16') {
    values = decodeHalves(reply.data);
  } else {
    values = decodeFloats(reply.data);
  }
  return { layers, heads, queries, keys, values };
}
