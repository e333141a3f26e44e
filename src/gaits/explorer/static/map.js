// The archive as a map: a strip with its profile, a heatmap or a nested grid, to be hovered, clicked and walked by keys.

import { clamp, digitsFor, number, onTheme, sharpen, themed } from "./dom.js";
import { makeLayout, ticksOf } from "./layout.js";
import { View } from "./view.js";

const MARGIN = { left: 46, right: 6, top: 6, bottom: 40 };
const STRIP = 40;
const DOT = 2.4;
const FAR_STEP = 10;

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
   * `onpick(cell, add)` when a filled cell is chosen, or one of `any`, `onhover(cell or null)` when the cursor or the keys move, `onview(part)`
   * when another part of the map is looked at.
   */
  constructor(canvas, { onpick, onhover, onview }) {
    Object.assign(this, { canvas, onpick, onhover, onview, marks: [], framed: null, any: false, cursor: null, hovered: null, layout: null });
    this.view = new View(canvas, () => this.layout && this.area, (part, quietly) => {
      if (!quietly) this.onview(part);
      this.refresh();
    });
    canvas.addEventListener("pointermove", (event) => this.view.drag(event) || this.hover(this.pick(event)));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.view.dragged || this.choose(this.pick(event), event.shiftKey));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.leave());
    new ResizeObserver(() => this.refresh()).observe(canvas);
    onTheme(() => this.draw());
  }

  /** Show an archive; what is filled comes with `paint`. */
  show(archive) {
    this.layout = makeLayout(archive);
    this.view.reset(this.layout.flat);
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
    const { spots } = this.layout;
    const [u, v] = this.view.see(spots[2 * cell], spots[2 * cell + 1]);
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
    const [{ labels, width, height }, [x0, y0]] = [this.layout, this.view.place(u, v)];
    const cell = labels[Math.floor(y0 * height) * width + Math.floor(x0 * width)];
    if (!this.layout.flat || this.any || !Number.isNaN(this.values[cell])) return cell;
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
    if (cell === null || !(this.any || this.has(cell))) return;
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
      this.view.zoom(event.key === "+");
      if (this.cursor !== null) this.follow(this.cursor);
    }
    else if (event.key === "Enter") this.choose(this.cursor ?? this.best, event.shiftKey);
    else return;
    event.preventDefault();
  }

  /** See the part around a cell, if it is out of sight. */
  follow(cell) {
    this.view.follow(this.layout.spots[2 * cell], this.layout.flat ? 0.5 : this.layout.spots[2 * cell + 1]);
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
    const [{ x, y, w, h }, { width, height }] = [this.view.part, this.picture];
    const seen = [x * width, (1 - y - h) * height, w * width, h * height];
    context.drawImage(this.picture, ...seen, area.left, area.top, area.width, area.height);
    this.drawAxes(context, area);
    if (this.layout.flat) this.drawLevels(context, area);
    context.save();
    context.beginPath();
    context.rect(area.left - 5, 0, area.width + 10, this.canvas.clientHeight - MARGIN.bottom + 5); // frames at the edge, too
    if (!this.view.whole) context.clip();
    this.drawLines(context, area);
    if (this.layout.flat) this.drawProfile(context, area);
    this.drawMarks(context, area);
    context.restore();
  }

  drawLines(context, area) {
    context.fillStyle = themed("panel");
    const { lines } = this.layout;
    for (const at of lines.x) context.fillRect(area.left + this.view.see(at, 0)[0] * area.width - 1, area.top, 2, area.height);
    for (const at of lines.y) context.fillRect(area.left, area.top + (1 - this.view.see(0, 1 - at)[1]) * area.height - 1, area.width, 2);
  }

  drawAxes(context, area) {
    const { x, y } = this.layout.axes;
    const bottom = area.top + area.height;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = themed("muted");
    context.textAlign = "center";
    for (const { at, text } of ticksOf(x, this.view.part.x, this.view.part.w)) {
      context.textAlign = at === 1 ? "right" : at === 0 ? "left" : "center";
      context.fillText(text, area.left + at * area.width, bottom + 15);
    }
    context.textAlign = "center";
    context.fillText(label(x), area.left + area.width / 2, bottom + 32, area.width);
    if (!y) return;
    context.textAlign = "right";
    for (const { at, text } of ticksOf(y, this.view.part.y, this.view.part.h)) {
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
    const [{ part }, { width: columns, height: rows }] = [this.view, this.layout];
    const [wide, high] = [area.width / columns / part.w, area.height / rows / part.h];
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
