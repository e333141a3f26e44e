// Which part of a map is seen: zoomed by the wheel, keys and buttons, moved by a drag. Places are shares of its sides.

import { clamp } from "./dom.js";

const WHOLE = { x: 0, y: 0, w: 1, h: 1 };
const [STEP, MOST, DRAGGED] = [1.6, 40, 4]; // zoom by one step, at most, and pixels from which on a press is a drag

export class View {
  /** `areaOf()`: where the map is on its canvas, or null without one. `onlook(part, quietly)` when another part is seen. */
  constructor(canvas, areaOf, onlook) {
    Object.assign(this, { areaOf, onlook, part: WHOLE, flat: false, pressed: null, dragged: false });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", ({ offsetX, offsetY }) => {
      [this.pressed, this.dragged] = [[offsetX, offsetY, this.part], false];
    });
  }

  /** See all of another map; a `flat` one is only zoomed along x. */
  reset(flat) {
    Object.assign(this, { part: WHOLE, flat });
  }

  get whole() {
    return this.part === WHOLE;
  }

  /** Where in the picture a place of the map is; beyond 0 to 1 it is out of sight. */
  see(u, v) {
    return [(u - this.part.x) / this.part.w, (v - this.part.y) / this.part.h];
  }

  /** The place that is seen somewhere in the picture. */
  place(u, v) {
    return [this.part.x + u * this.part.w, this.part.y + v * this.part.h];
  }

  wheel(event) {
    const area = this.areaOf();
    if (!area || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const [u, v] = [(event.offsetX - area.left) / area.width, 1 - (event.offsetY - area.top) / area.height];
    this.zoom(event.deltaY < 0, u, v);
  }

  /** Follow a pointer that is pressed, if there is more to see; whether it is one. */
  drag({ buttons, offsetX, offsetY }) {
    if (buttons !== 1 || !this.pressed || this.whole) return false;
    const [x, y, part] = this.pressed;
    this.dragged ||= Math.hypot(offsetX - x, offsetY - y) > DRAGGED;
    const { width, height } = this.areaOf();
    const moved = { x: part.x - ((offsetX - x) / width) * part.w, y: part.y + ((offsetY - y) / height) * part.h };
    if (this.dragged) this.look({ ...part, ...moved });
    return true;
  }

  /** Look closer or from further away, so that what is seen at `u`, `v` of the picture stays there. */
  zoom(closer, u = 0.5, v = 0.5) {
    const by = closer ? STEP : 1 / STEP;
    const { x, y, w, h } = this.part;
    const [wide, high] = [clamp(w / by, 1 / MOST, 1), this.flat ? 1 : clamp(h / by, 1 / MOST, 1)];
    this.look({ x: x + u * (w - wide), y: y + v * (h - high), w: wide, h: high });
  }

  /** See this part, as far as there is a map; `quietly` when another map says so. */
  look({ x, y, w, h }, quietly = false) {
    this.part = w >= 1 ? WHOLE : { x: clamp(x, 0, 1 - w), y: clamp(y, 0, 1 - h), w, h };
    this.onlook(this.part, quietly);
  }

  /** See the part around a place, if it is out of sight. */
  follow(u, v) {
    const { w, h } = this.part;
    if (this.see(u, v).some((share) => share < 0 || share > 1)) this.look({ x: u - w / 2, y: v - h / 2, w, h });
  }
}
