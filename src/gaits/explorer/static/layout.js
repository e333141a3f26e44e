// Where the cells of an archive are in its picture: a raster of cell numbers, whatever the archive is.
//
// Grids are nested as in the figures: even measures along x, odd ones along y, earlier ones outside. An archive of
// centroids shows at every point the nearest one.

const RASTER = 320;
const MAX_COLUMNS = 4096;

/** { width, height, labels, spots, lines, axes, ... }: labels are cell numbers, bottom row first; spots [x, y] in 0..1. */
export function makeLayout(archive) {
  const layout = archive.dims ? gridLayout(archive) : centroidLayout(archive);
  return { ...layout, flat: (archive.dims ?? archive.ranges).length === 1, cells: archive.cells };
}

function gridLayout({ dims, ranges, measure_names: names }) {
  const xs = dims.filter((_, i) => i % 2 === 0);
  const ys = dims.filter((_, i) => i % 2 === 1);
  const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
  const [width, height] = [product(xs), product(ys)];
  const labels = new Int32Array(width * height);
  const spots = new Float32Array(2 * width * height);
  for (let cell = 0; cell < width * height; cell++) {
    const [column, row] = place(cell, dims);
    labels[row * width + column] = cell;
    spots.set([(column + 0.5) / width, (row + 0.5) / height], 2 * cell);
  }
  const axis = (along, start) => ({
    name: names[start],
    inner: names.filter((_, i) => i % 2 === start % 2 && i > start),
    ticks: along.length > 1 ? blockTicks(along[0], ranges[start]) : null,
    range: ranges[start],
  });
  return {
    width,
    height,
    labels,
    spots,
    lines: { x: blockEdges(xs), y: blockEdges(ys) },
    axes: { x: axis(xs, 0), y: ys.length ? axis(ys, 1) : null },
  };
}

/** The grid's indices of a cell, as they are written in `--cells 3,12`. */
export function positionOf(cell, dims) {
  const position = [];
  for (let i = dims.length - 1, rest = cell; i >= 0; i--) {
    position[i] = rest % dims[i];
    rest = Math.floor(rest / dims[i]);
  }
  return position;
}

/** Column and row of a cell. */
function place(cell, dims) {
  const fold = (parity) => (sum, at, i) => (i % 2 === parity ? sum * dims[i] + at : sum);
  const position = positionOf(cell, dims);
  return [position.reduce(fold(0), 0), position.reduce(fold(1), 0)];
}

const blockEdges = (along) => (along.length > 1 ? Array.from({ length: along[0] - 1 }, (_, i) => (i + 1) / along[0]) : []);

const blockTicks = (n, [low, high]) =>
  Array.from({ length: n }, (_, i) => ({ at: (i + 0.5) / n, text: (low + ((high - low) * (i + 0.5)) / n).toFixed(2) }));

/** What to write along an axis of which a part is seen, from a share `start` of it and as wide as a share `width`. */
export function ticksOf({ ticks, range: [low, high] }, start, width) {
  if (ticks) return ticks.map(({ at, text }) => ({ at: (at - start) / width, text })).filter(({ at }) => at > 0 && at < 1);
  const seen = (high - low) * width;
  const digits = seen >= 20 ? 0 : seen >= 2 ? 1 : seen >= 0.2 ? 2 : 3;
  return [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: (low + (high - low) * (start + width * at)).toFixed(digits) }));
}

function centroidLayout({ centroids, ranges, measure_names: names }) {
  const flat = ranges.length === 1;
  const share = (value, axis) => (value - ranges[axis][0]) / (ranges[axis][1] - ranges[axis][0]);
  const spots = new Float32Array(2 * centroids.length);
  centroids.forEach((centroid, i) => spots.set([share(centroid[0], 0), flat ? 0.5 : share(centroid[1], 1)], 2 * i));
  const width = flat ? Math.min(4 * centroids.length, MAX_COLUMNS) : RASTER;
  const height = flat ? 1 : RASTER;
  const hidden = names.length > 2 ? ` (first 2 of ${names.length} measures)` : "";
  const axis = (i) => ({ name: names[i] + (i ? "" : hidden), inner: [], ticks: null, range: ranges[i] });
  return {
    width,
    height,
    labels: nearest(spots, width, height),
    spots,
    lines: { x: [], y: [] },
    axes: { x: axis(0), y: flat ? null : axis(1) },
  };
}

/** The nearest spot of every pixel, found bin by bin so that thousands of centroids take no time. */
function nearest(spots, width, height) {
  const n = spots.length / 2;
  const side = Math.max(1, Math.floor(Math.sqrt(n / 2)));
  const bins = Array.from({ length: side * side }, () => []);
  const bin = (value) => Math.min(Math.max(Math.floor(value * side), 0), side - 1);
  for (let i = 0; i < n; i++) bins[bin(spots[2 * i + 1]) * side + bin(spots[2 * i])].push(i);
  const labels = new Int32Array(width * height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      labels[row * width + column] = search((column + 0.5) / width, (row + 0.5) / height);
    }
  }
  return labels;

  function search(x, y) {
    let [best, found] = [Infinity, -1];
    for (let ring = 0; ring <= side && (ring - 1) / side < Math.sqrt(best); ring++) {
      for (let by = bin(y) - ring; by <= bin(y) + ring; by++) {
        for (let bx = bin(x) - ring; bx <= bin(x) + ring; bx++) {
          const edge = Math.max(Math.abs(bx - bin(x)), Math.abs(by - bin(y))) === ring;
          if (!edge || bx < 0 || by < 0 || bx >= side || by >= side) continue;
          for (const i of bins[by * side + bx]) {
            const distance = (spots[2 * i] - x) ** 2 + (spots[2 * i + 1] - y) ** 2;
            if (distance < best) [best, found] = [distance, i];
          }
        }
      }
    }
    return found;
  }
}
