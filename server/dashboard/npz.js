// Arrays as a file that numpy.load reads: an uncompressed ZIP archive (PKWARE's APPNOTE 6.3) of
// .npy files (numpy.lib.format, version 1.0).

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crc32(parts) {
  let crc = -1;
  for (const bytes of parts) {
    for (let i = 0; i < bytes.length; ++i) crc = CRC_TABLE[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}

// Little-endian numbers: H is one of 2 bytes, I one of 4.
function record(format, ...numbers) {
  const sizes = [...format].map((kind) => (kind === 'H' ? 2 : 4));
  const view = new DataView(new ArrayBuffer(sizes.reduce((a, b) => a + b)));
  let at = 0;
  numbers.forEach((number, i) => {
    if (sizes[i] === 2) view.setUint16(at, number, true);
    else view.setUint32(at, number, true);
    at += sizes[i];
  });
  return new Uint8Array(view.buffer);
}

const ascii = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function npyHeader(type, shape) {
  const sizes = shape.map((size) => `${size},`).join(' ');
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // So long that the data begin at a multiple of 64 bytes.
  const line = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  return [ascii('\x93NUMPY\x01\x00'), record('H', line.length), ascii(line)];
}

const npy = (name, type, shape, data) =>
  ({ name: `${name}.npy`, parts: [...npyHeader(type, shape), bytesOf(data)] });

// Row-major, as typed arrays lie in memory.
export const floats = (name, shape, values) => npy(name, '<f4', shape, values);
export const integers = (name, values) => npy(name, '<i4', [values.length], Int32Array.from(values));

// Texts of code points, the shorter ones filled up with zeros.
export function texts(name, values) {
  const width = Math.max(1, ...values.map((text) => [...text].length));
  const points = new Uint32Array(values.length * width);
  values.forEach((text, i) => points.set([...text].map((c) => c.codePointAt(0)), i * width));
  return npy(name, `<U${width}`, [values.length], points);
}

// A Blob of arrays made by the functions above.
export function makeNpz(arrays) {
  const version = 20;
  const date = 33;  // 1980-01-01, the first there is
  const files = [];
  const directory = [];
  let offset = 0;
  for (const { name, parts } of arrays) {
    const size = parts.reduce((sum, bytes) => sum + bytes.length, 0);
    const described = [version, 0, 0, 0, date, crc32(parts), size, size, name.length, 0];
    const header = record('IHHHHHIIIHH', 0x04034b50, ...described);
    files.push(header, ascii(name), ...parts);
    directory.push(record('IHHHHHHIIIHHHHHII', 0x02014b50, version, ...described, 0, 0, 0, 0, offset),
      ascii(name));
    offset += header.length + name.length + size;
  }
  const length = directory.reduce((sum, bytes) => sum + bytes.length, 0);
  const end = record('IHHHHIIH', 0x06054b50, 0, 0, arrays.length, arrays.length, length, offset, 0);
  return new Blob([...files, ...directory, end], { type: 'application/zip' });
}
