// The archive as a map: a strip with its profile, a heatmap or a nested grid, to be hovered, clicked and walked by keys.

import { clamp, digitsFor, number, onTheme, sharpen, themed } from "./dom.js";
import { makeLayout, ticksOf } from "./layout.js";

const MARGIN = { left: 46, right: 6, top: 6, bottom: 40 };
const STRIP = 40;
const DOT = 2.4;
const FAR_STEP = 10;
const WHOLE = { x: 0, y: 0, w: 1, h: 1 };
const [ZOOM, MOST_ZOOM, DRAGGED] = [1.6, 40, 4]; // by one step, at most, and pixels from which on a press is a drag

/** The raster of an archive in the colours of its values, one pixel per cell, bottom row last: ready to be scaled up. */
export function paintRaster(layout, values, scale) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [layout.width, layout.height];
  const context = canvas.getContext("2d");
  const image = context.createImageData(layout.width, layout.height);
  for (let row = 0; row < layout.height; row++) {
    for (let column = 0; column < layout.width; column++) {
      const value = values[layout.labels[row * layout.width + column]];
      const at = 4 * ((layout.height - 1 - row) * layout.width + column);
      if (!Number.isNaN(value)) image.data.set([...scale.color(value), 255], at);
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

export class MapView {
  /**
   * `onpick(cell, add)` when a filled cell is chosen, `onhover(cell or null)` when the cursor or the keys move, `onview(part)`
   * when another part of the map is looked at.
   */
  constructor(canvas, { onpick, onhover, onview }) {
    Object.assign(this, { canvas, onpick, onhover, onview, marks: [], framed: null, cursor: null, hovered: null, layout: null });
    this.part = WHOLE; // of the map that is seen, as shares of its sides
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.dragged || this.choose(this.pick(event), event.shiftKey));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.watchView();
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.leave());
    new ResizeObserver(() => this.refresh()).observe(canvas);
    onTheme(() => this.draw());
  }

  /** Show an archive; what is filled comes with `paint`. */
  show(archive) {
    this.layout = makeLayout(archive);
    this.part = WHOLE;
    this.canvas.classList.toggle("flat", this.layout.flat);
    [this.cursor, this.hovered] = [null, null];
  }

  /** Show nothing: the archive is not there. */
  clear() {
    Object.assign(this, { layout: null, values: null });
    this.hover(null);
    sharpen(this.canvas).clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
  }

  /** Fill the cells: values (cells,), NaN where there is none; `known` (cells,) is NaN only where a cell is empty. */
  paint(values, scale, known = values) {
    Object.assign(this, { values, scale, known, picture: null });
    this.refresh();
  }

  /** Draw, and tell again about the cell under the cursor: its numbers or its place may have changed. */
  refresh() {
    this.draw();
    this.onhover(this.hovered);
  }

  /** Whether a cell has an elite. */
  has(cell) {
    return !Number.isNaN(this.known[cell]);
  }

  /** Frames around cells: `marks` in colours of their own, `framed` in ink. */
  mark(marks, framed = null) {
    Object.assign(this, { marks, framed });
    this.draw();
  }

  // --- where things are -------------------------------------------------------------------------------------------

  get area() {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const top = this.layout.flat ? height - MARGIN.bottom - STRIP : MARGIN.top;
    return {
      left: MARGIN.left,
      top,
      width: Math.max(10, width - MARGIN.left - MARGIN.right),
      height: Math.max(10, height - MARGIN.bottom - top),
    };
  }

  /** Where a cell's middle is on the canvas. */
  spot(cell, area = this.area) {
    const [{ spots }, { x, y, w, h }] = [this.layout, this.part];
    const [u, v] = [(spots[2 * cell] - x) / w, (spots[2 * cell + 1] - y) / h];
    return [area.left + u * area.width, area.top + (1 - v) * area.height];
  }

  /** Where a cell's dot is above the strip. */
  dot(cell, area = this.area) {
    return [this.spot(cell, area)[0], this.level(this.values[cell], area)];
  }

  /** How high a value is above the strip. */
  level(value, area) {
    const [low, high] = this.profileRange;
    const share = clamp((value - low) / (high - low || 1), 0, 1); // outliers of robustness are beyond the scale
    return MARGIN.top + 4 + (1 - share) * (area.top - MARGIN.top - 20);
  }

  get profileRange() {
    const { low, high } = this.scale;
    return [Math.min(low, 0), Math.max(high, 0)];
  }

  /** The cell under the pointer; above a strip, the nearest dot; null outside. */
  pick(event) {
    if (!this.layout || !this.values) return null;
    const area = this.area;
    const [x, y] = [event.offsetX, event.offsetY];
    const [u, v] = [(x - area.left) / area.width, 1 - (y - area.top) / area.height];
    if (u < 0 || u >= 1 || v < 0) return null;
    if (v >= 1) return this.layout.flat ? this.nearestDot(x, y, area) : null;
    const [{ labels, width, height }, part] = [this.layout, this.part];
    const cell = labels[Math.floor((part.y + v * part.h) * height) * width + Math.floor((part.x + u * part.w) * width)];
    if (!this.layout.flat || !Number.isNaN(this.values[cell])) return cell;
    return this.nearestDot(x, null, area); // cells of a strip can be narrower than a pixel
  }

  nearestDot(x, y, area) {
    let [best, found] = [24 ** 2, null];
    for (let cell = 0; cell < this.values.length; cell++) {
      if (Number.isNaN(this.values[cell])) continue;
      const [dx, dy] = this.dot(cell, area);
      const distance = (dx - x) ** 2 + (y === null ? 0 : (dy - y) ** 2);
      if (distance < best) [best, found] = [distance, cell];
    }
    return found;
  }

  // --- which part is seen -----------------------------------------------------------------------------------------

  /** Ctrl and the wheel zoom where the pointer is; a drag moves what is zoomed. */
  watchView() {
    this.canvas.addEventListener("wheel", (event) => {
      if (!this.layout || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const { left, top, width, height } = this.area;
      this.zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, (event.offsetX - left) / width, 1 - (event.offsetY - top) / height);
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", ({ offsetX, offsetY }) => {
      [this.pressed, this.dragged] = [[offsetX, offsetY, this.part], false];
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons === 1 && this.pressed && this.part !== WHOLE) this.drag(event);
      else this.hover(this.pick(event));
    });
  }

  drag({ offsetX, offsetY }) {
    const [x, y, part] = this.pressed;
    this.dragged ||= Math.hypot(offsetX - x, offsetY - y) > DRAGGED;
    if (!this.dragged) return;
    const { width, height } = this.area;
    this.look({ ...part, x: part.x - ((offsetX - x) / width) * part.w, y: part.y + ((offsetY - y) / height) * part.h });
  }

  /** Look closer (`by` above 1) or from further away, so that the point at shares `u`, `v` of the picture stays there. */
  zoom(by, u = 0.5, v = 0.5) {
    const { x, y, w, h } = this.part;
    const [wide, high] = [clamp(w / by, 1 / MOST_ZOOM, 1), this.layout.flat ? 1 : clamp(h / by, 1 / MOST_ZOOM, 1)];
    this.look({ x: x + u * (w - wide), y: y + v * (h - high), w: wide, h: high });
  }

  /** See this part, as far as there is a map; `quietly` when another map says so. */
  look({ x, y, w, h }, quietly = false) {
    this.part = w >= 1 ? WHOLE : { x: clamp(x, 0, 1 - w), y: clamp(y, 0, 1 - h), w, h };
    if (!quietly) this.onview(this.part);
    this.refresh();
  }

  /** See the part around a cell, if it is not in sight. */
  follow(cell) {
    const [{ spots }, { x, y, w, h }] = [this.layout, this.part];
    const [u, v] = [spots[2 * cell], this.layout.flat ? 0.5 : spots[2 * cell + 1]];
    if (u < x || u > x + w || v < y || v > y + h) this.look({ x: u - w / 2, y: v - h / 2, w, h });
  }

  // --- what people do ---------------------------------------------------------------------------------------------

  hover(cell) {
    if (cell === this.hovered) return;
    this.hovered = cell;
    this.onhover(cell);
    this.draw();
  }

  leave() {
    this.hover(null);
    this.draw();
  }

  choose(cell, add) {
    if (cell === null || !this.has(cell)) return;
    this.cursor = cell;
    this.onpick(cell, add);
    this.draw();
  }

  key(event) {
    if (!this.values) return;
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key in directions) this.move(this.step(...directions[event.key]));
    else if (event.key === "Home") this.move(this.best);
    else if (event.key === "+" || event.key === "-") {
      this.zoom(event.key === "+" ? ZOOM : 1 / ZOOM);
      if (this.cursor !== null) this.follow(this.cursor);
    }
    else if (event.key === "Enter") this.choose(this.cursor ?? this.best, event.shiftKey);
    else return;
    event.preventDefault();
  }

  move(cell) {
    if (cell === null) return;
    this.follow(cell);
    this.cursor = this.hovered = cell;
    this.onhover(cell);
    this.draw();
  }

  get best() {
    let best = null;
    for (let cell = 0; cell < this.values.length; cell++) {
      if (!Number.isNaN(this.values[cell]) && (best === null || this.values[cell] > this.values[best])) best = cell;
    }
    return best;
  }

  /** The filled cell to go to from the cursor: near, and straight ahead rather than aside. */
  step(dx, dy) {
    if (this.cursor === null) return this.best;
    if (this.layout.flat) return this.stepAlong(dx || FAR_STEP * dy);
    const { spots, width, height } = this.layout;
    let [least, found] = [Infinity, this.cursor];
    for (let cell = 0; cell < this.values.length; cell++) {
      if (!this.has(cell) || cell === this.cursor) continue;
      const x = (spots[2 * cell] - spots[2 * this.cursor]) * width;
      const y = (spots[2 * cell + 1] - spots[2 * this.cursor + 1]) * height;
      const ahead = x * dx + y * dy;
      const cost = ahead + 3 * Math.abs(x * dy - y * dx);
      if (ahead > 1e-6 && cost < least) [least, found] = [cost, cell];
    }
    return found;
  }

  stepAlong(steps) {
    const { spots } = this.layout;
    const filled = [...this.values.keys()].filter((cell) => this.has(cell));
    filled.sort((a, b) => spots[2 * a] - spots[2 * b]);
    return filled[clamp(filled.indexOf(this.cursor) + steps, 0, filled.length - 1)];
  }

  // --- drawing ----------------------------------------------------------------------------------------------------

  draw() {
    if (!this.layout || !this.values || !this.canvas.clientWidth) return;
    const context = sharpen(this.canvas);
    const area = this.area;
    context.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    this.picture ??= paintRaster(this.layout, this.values, this.scale);
    context.fillStyle = themed("empty");
    context.fillRect(area.left, area.top, area.width, area.height);
    context.imageSmoothingEnabled = false;
    const [{ x, y, w, h }, { width, height }] = [this.part, this.picture];
    const seen = [x * width, (1 - y - h) * height, w * width, h * height];
    context.drawImage(this.picture, ...seen, area.left, area.top, area.width, area.height);
    this.drawAxes(context, area);
    if (this.layout.flat) this.drawLevels(context, area);
    context.save();
    context.beginPath();
    context.rect(area.left - 5, 0, area.width + 10, this.canvas.clientHeight - MARGIN.bottom + 5); // frames at the edge, too
    if (this.part !== WHOLE) context.clip();
    this.drawLines(context, area);
    if (this.layout.flat) this.drawProfile(context, area);
    this.drawMarks(context, area);
    context.restore();
  }

  drawLines(context, area) {
    context.fillStyle = themed("panel");
    const [{ lines }, { x, y, w, h }] = [this.layout, this.part];
    for (const at of lines.x) context.fillRect(area.left + ((at - x) / w) * area.width - 1, area.top, 2, area.height);
    for (const at of lines.y) context.fillRect(area.left, area.top + (1 - (1 - at - y) / h) * area.height - 1, area.width, 2);
  }

  drawAxes(context, area) {
    const { x, y } = this.layout.axes;
    const bottom = area.top + area.height;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = themed("muted");
    context.textAlign = "center";
    for (const { at, text } of ticksOf(x, this.part.x, this.part.w)) {
      context.textAlign = at === 1 ? "right" : at === 0 ? "left" : "center";
      context.fillText(text, area.left + at * area.width, bottom + 15);
    }
    context.textAlign = "center";
    context.fillText(label(x), area.left + area.width / 2, bottom + 32, area.width);
    if (!y) return;
    context.textAlign = "right";
    for (const { at, text } of ticksOf(y, this.part.y, this.part.h)) {
      const inward = at === 1 ? 9 : at === 0 ? 0 : 4;
      context.fillText(text, area.left - 6, bottom - at * area.height + inward);
    }
    context.save();
    context.translate(11, area.top + area.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(label(y), 0, 0, area.height);
    context.restore();
  }

  /** Lines at zero and at both ends of what the profile above a strip shows. */
  drawLevels(context, area) {
    const [low, high] = this.profileRange;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    const ends = [0, low, high].filter((v, i, all) => all.indexOf(v) === i);
    for (const value of ends) {
      const y = this.level(value, area);
      if (value === low && value && Math.abs(y - this.level(0, area)) < 14) continue; // the two labels would overlap
      context.fillStyle = themed("line");
      context.fillRect(area.left, y, area.width, 1);
      context.fillStyle = themed("muted");
      context.fillText(number(value, digitsFor(high - low)), area.left - 6, y + 4);
    }
  }

  drawProfile(context, area) {
    for (let cell = 0; cell < this.values.length; cell++) {
      if (Number.isNaN(this.values[cell])) continue;
      context.fillStyle = `rgb(${this.scale.color(this.values[cell])})`;
      context.beginPath();
      context.arc(...this.dot(cell, area), DOT, 0, 2 * Math.PI);
      context.fill();
    }
  }

  drawMarks(context, area) {
    for (const cell of this.framed ?? []) this.outline(context, area, cell, themed("ink"), 1.5, 0.55);
    for (const { cell, color } of this.marks) this.outline(context, area, cell, color, 3, 1);
    if (this.hovered !== null) this.outline(context, area, this.hovered, themed("ink"), 2, 0.8);
    const focused = this.cursor !== null && document.activeElement === this.canvas;
    if (focused) this.outline(context, area, this.cursor, themed("focus"), 3, 1);
  }

  /** A frame around a cell, pale inside so that it shows on every colour; on a strip also around its dot. */
  outline(context, area, cell, color, width, alpha) {
    const [x, y] = this.spot(cell, area);
    const grid = this.layout.labels.length === this.layout.cells;
    const [wide, high] = [area.width / this.layout.width / this.part.w, area.height / this.layout.height / this.part.h];
    const w = Math.max(grid ? wide : 10, this.layout.flat ? 3 : 7);
    const h = Math.max(grid || this.layout.flat ? high : 10, 7);
    context.save();
    context.globalAlpha = alpha;
    for (const [style, line] of [[themed("panel"), width + 2], [color, width]]) {
      [context.strokeStyle, context.lineWidth] = [style, line];
      context.strokeRect(x - w / 2, y - h / 2, w, h);
      if (!this.layout.flat || Number.isNaN(this.values[cell])) continue;
      context.beginPath();
      context.arc(...this.dot(cell, area), DOT + 3, 0, 2 * Math.PI);
      context.stroke();
    }
    context.restore();
  }
}

const label = (axis) => (axis.inner.length ? `${axis.name} (in each block: ${axis.inner.join(", ")})` : axis.name);
