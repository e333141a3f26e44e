// Contacts of each foot over an episode, with the playhead; drag to scrub.

import { clamp, percent, sharpen, themed } from "./dom.js";

const ROW = 15;
const FONT = "11px system-ui, sans-serif";
const SHARE = 48; // pixels for the percentage after a label

export class Timeline {
  /** `onscrub(step)` when somebody points at a moment. */
  constructor(canvas, onscrub) {
    Object.assign(this, { canvas, episode: null, rows: [], step: 0, left: 0 });
    const scrub = (event) => {
      if (this.episode) onscrub(clamp((event.offsetX - this.left) / this.width, 0, 1) * this.span);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    canvas.addEventListener("pointermove", (event) => event.buttons && scrub(event));
    new ResizeObserver(() => this.draw(this.step)).observe(canvas);
  }

  get width() {
    return Math.max(10, this.canvas.clientWidth - this.left - 2);
  }

  /** Rows: the measured feet, then other parts that touched the ground. */
  show(episode, robot, span) {
    const count = robot.feet.length;
    const share = (foot) => {
      let sum = 0;
      for (let i = 0; i < episode.length; i++) sum += episode.contacts[i * count + foot];
      return sum / Math.max(episode.length, 1);
    };
    const all = robot.feet.map((foot, i) => ({ ...foot, i, share: share(i) }));
    this.rows = [...all.filter((foot) => foot.measured), ...all.filter((foot) => !foot.measured && foot.share > 0)];
    Object.assign(this, { episode, span, count, bars: null });
    const context = this.canvas.getContext("2d");
    context.font = FONT;
    this.left = Math.max(0, ...this.rows.map((row) => context.measureText(row.label).width)) + SHARE;
    this.canvas.hidden = this.rows.length === 0;
    this.canvas.style.height = `${ROW * this.rows.length + 4}px`;
    const told = this.rows.map((row) => `${row.label} ${percent(row.share)}`).join(", ");
    this.canvas.setAttribute("aria-label", `Time on the ground: ${told}`);
  }

  /** The longest episode on show sets the scale of all. */
  stretch(span) {
    if (this.episode && span !== this.span) Object.assign(this, { span, bars: null });
  }

  draw(step) {
    this.step = step;
    if (!this.episode || !this.canvas.clientWidth) return;
    const context = sharpen(this.canvas);
    const { canvas } = this;
    if (!this.bars || this.bars.width !== canvas.width || this.bars.height !== canvas.height) this.bars = this.paintBars();
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.bars, 0, 0);
    context.restore();
    context.fillStyle = themed("ink");
    context.fillRect(this.left + (Math.min(step, this.span) / this.span) * this.width - 1, 0, 2, canvas.clientHeight);
  }

  /** Everything but the playhead, drawn once. */
  paintBars() {
    const bars = document.createElement("canvas");
    const context = sharpen(bars, this.canvas.clientWidth, this.canvas.clientHeight);
    const scale = this.width / this.span;
    context.font = FONT;
    this.rows.forEach(({ label, i, measured, share }, row) => {
      const top = 2 + row * ROW;
      context.fillStyle = themed("muted");
      context.textAlign = "left";
      context.fillText(label, 0, top + 10);
      context.textAlign = "right";
      context.fillText(percent(share), this.left - 6, top + 10);
      context.fillStyle = themed("track");
      context.fillRect(this.left, top, this.episode.length * scale, ROW - 4);
      context.fillStyle = measured ? themed("contact") : themed("muted");
      for (const [from, to] of stretches(this.episode, i, this.count)) {
        context.fillRect(this.left + from * scale, top, Math.max((to - from) * scale, 0.6), ROW - 4);
      }
    });
    return bars;
  }
}

/** [from, to) of each time a foot stood, in steps. */
function* stretches({ contacts, length }, foot, count) {
  let from = -1;
  for (let i = 0; i <= length; i++) {
    const stands = i < length && contacts[i * count + foot];
    if (stands && from < 0) from = i;
    if (!stands && from >= 0) {
      yield [from, i];
      from = -1;
    }
  }
}
