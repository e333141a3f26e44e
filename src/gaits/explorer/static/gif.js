// A GIF of pictures, without help: 255 colours for all of them, and only what changes in each.

const SHIFT = 3; // colours are told apart by their upper five bits
const key = (data, i) => ((data[i] >> SHIFT) << 10) | ((data[i + 1] >> SHIFT) << 5) | (data[i + 2] >> SHIFT);

/** `frame(i)` gives the pixels (RGBA) of picture i of `count`; each is shown for `delay` hundredths of a second. */
export async function encodeGif(width, height, count, delay, frame) {
  const palette = makePalette([await frame(0), await frame(count >> 1), await frame(count - 1)]);
  const parts = [header(width, height, palette.colors)];
  let last = null;
  for (let i = 0; i < count; i++) {
    const pixels = palette.map(await frame(i));
    parts.push(picture(width, height, changes(pixels, last), delay));
    last = pixels;
    if (i % 4 === 3) await new Promise((done) => setTimeout(done)); // the page stays alive
  }
  return new Blob([...parts, Uint8Array.of(0x3b)], { type: "image/gif" });
}

const CLEAR = 255; // the number of what has not changed

function changes(pixels, last) {
  if (!last) return pixels;
  return pixels.map((value, i) => (value === last[i] ? CLEAR : value));
}

/** The colours that are there most often; every other becomes the nearest of them. */
function makePalette(samples) {
  const counts = new Map();
  for (const data of samples) {
    for (let i = 0; i < data.length; i += 4) counts.set(key(data, i), (counts.get(key(data, i)) ?? 0) + 1);
  }
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, CLEAR).map(([code]) => code);
  const colors = common.map((code) => [(code >> 10) & 31, (code >> 5) & 31, code & 31].map((c) => (c << SHIFT) | (c >> 2)));
  const known = new Map(common.map((code, i) => [code, i]));
  const nearest = (code) => {
    const own = [(code >> 10) & 31, (code >> 5) & 31, code & 31].map((c) => (c << SHIFT) | (c >> 2));
    let [best, found] = [Infinity, 0];
    colors.forEach((color, i) => {
      const distance = color.reduce((sum, c, k) => sum + (c - own[k]) ** 2, 0);
      if (distance < best) [best, found] = [distance, i];
    });
    known.set(code, found);
    return found;
  };
  const map = (data) => {
    const pixels = new Uint8Array(data.length / 4);
    for (let i = 0; i < pixels.length; i++) pixels[i] = known.get(key(data, 4 * i)) ?? nearest(key(data, 4 * i));
    return pixels;
  };
  return { colors, map };
}

const two = (value) => [value & 255, value >> 8];

function header(width, height, colors) {
  const table = new Uint8Array(3 * 256);
  colors.forEach((color, i) => table.set(color, 3 * i));
  const again = [0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0]; // for ever
  return Uint8Array.from([...new TextEncoder().encode("GIF89a"), ...two(width), ...two(height), 0xf7, 0, 0, ...table, ...again]);
}

function picture(width, height, pixels, delay) {
  const control = [0x21, 0xf9, 4, 0x05, ...two(Math.round(delay)), CLEAR, 0]; // what is clear shows the picture before
  const place = [0x2c, 0, 0, 0, 0, ...two(width), ...two(height), 0, 8];
  const data = compress(pixels);
  const blocks = [];
  for (let i = 0; i < data.length; i += 255) {
    const block = data.subarray(i, i + 255);
    blocks.push(Uint8Array.of(block.length), block);
  }
  return new Blob([Uint8Array.from([...control, ...place]), ...blocks, Uint8Array.of(0)]);
}

/** LZW with codes of 9 to 12 bits, as GIF has it. */
function compress(pixels) {
  const [CLEAR_CODE, END_CODE, FULL] = [256, 257, 4096];
  const out = new Uint8Array(pixels.length * 2 + 16);
  let [size, bits, held] = [0, 0, 0];
  let [width, next, codes] = [9, 258, new Map()];
  const put = (code) => {
    held |= code << bits;
    bits += width;
    for (; bits >= 8; bits -= 8, held >>>= 8) out[size++] = held & 255;
  };
  put(CLEAR_CODE);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const pair = (prefix << 8) | pixels[i];
    const code = codes.get(pair);
    if (code !== undefined) {
      prefix = code;
      continue;
    }
    put(prefix);
    if (next < FULL) {
      if (next === 1 << width) width++;
      codes.set(pair, next++);
    } else {
      put(CLEAR_CODE);
      [width, next, codes] = [9, 258, new Map()];
    }
    prefix = pixels[i];
  }
  put(prefix);
  put(END_CODE);
  out[size++] = held & 255;
  return out.subarray(0, size);
}
