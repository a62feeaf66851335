import { deflateSync, inflateSync } from 'node:zlib';

/*
 * Reduces a screenshot to at most 256 colors, which is invisible on a page of text. PNG (W3C, third edition): 8 bits
 * per channel in, a palette out.
 */

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const MAX_COLORS = 256;

/** @param {Buffer} png truecolor, not interlaced, as Chromium writes it */
export function smallPng(png) {
  const { width, height, channels, data } = readPng(png);
  const pixels = removeFilters(inflateSync(data), width, height, channels);
  const { palette, indexOf } = createPalette(pixels, channels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows[y * (width + 1) + x + 1] = indexOf.get(colorAt(pixels, (y * width + x) * channels));
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    createChunk('IHDR', header),
    createChunk('PLTE', Buffer.from(palette.flatMap((color) => splitColor(color)))),
    createChunk('IDAT', deflateSync(rows, { level: 9 })),
    createChunk('IEND', Buffer.alloc(0)),
  ]);
}

function readPng(png) {
  const data = [];
  let header;
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12) {
    const body = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    const type = png.toString('latin1', at + 4, at + 8);
    if (type === 'IHDR') header = body;
    if (type === 'IDAT') data.push(body);
  }
  const channels = { 2: 3, 6: 4 }[header[9]];
  if (header[8] !== 8 || channels === undefined || header[12] !== 0) {
    throw new Error('can’t reduce the picture: it isn’t an 8-bit, non-interlaced truecolor PNG');
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  return { width, height, channels, data: Buffer.concat(data) };
}

function removeFilters(lines, width, height, channels) {
  const stride = width * channels;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = lines[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x < channels ? 0 : pixels[at - channels];
      const up = y === 0 ? 0 : pixels[at - stride];
      const corner = x < channels || y === 0 ? 0 : pixels[at - stride - channels];
      pixels[at] = lines[y * (stride + 1) + 1 + x] + predictByte(filter, left, up, corner);
    }
  }
  return pixels;
}

function predictByte(filter, left, up, corner) {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const [toLeft, toUp, toCorner] = [up - corner, left - corner, left + up - 2 * corner].map(Math.abs);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

const colorAt = (pixels, at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
const splitColor = (color) => [color >> 16, (color >> 8) & 255, color & 255];

/** The most frequent colors, and for every color the nearest of them. */
function createPalette(pixels, channels) {
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += channels) {
    const color = colorAt(pixels, at);
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const colors = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color);
  const palette = colors.slice(0, MAX_COLORS);
  return { palette, indexOf: new Map(colors.map((color) => [color, findNearest(palette, color)])) };
}

function findNearest(palette, color) {
  const [r, g, b] = splitColor(color);
  let [best, leastDistance] = [0, Number.POSITIVE_INFINITY];
  for (const [index, candidate] of palette.entries()) {
    const [r2, g2, b2] = splitColor(candidate);
    const distance = (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2;
    if (distance < leastDistance) [best, leastDistance] = [index, distance];
  }
  return best;
}

function createChunk(type, body) {
  const typeAndBody = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const bytes = Buffer.alloc(typeAndBody.length + 8);
  bytes.writeUInt32BE(body.length, 0);
  bytes.set(typeAndBody, 4);
  bytes.writeUInt32BE(crc32(typeAndBody), typeAndBody.length + 4);
  return bytes;
}

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
