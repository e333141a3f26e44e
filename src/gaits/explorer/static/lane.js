// One policy on the stage: its picture, its numbers, its contacts.

import { Camera } from "./camera.js";
import { el, number, percent, sharpen } from "./dom.js";
import { Film } from "./film.js";
import { drawMoment, Motion } from "./robot.js";
import { Timeline } from "./timeline.js";

const DRAG_RADIANS = 0.006;
const KEY_RADIANS = 0.15;

export class Lane {
  /** `handlers`: onclose(lane), onpin(lane), onscrub(seconds), onchange() when it must be drawn again. */
  constructor({ run, cell, asked, color }, handlers) {
    Object.assign(this, { run, cell, asked, color, handlers, pinned: false, seen: false, motion: null, drawn: null });
    this.canvas = el("canvas", { className: "view", role: "application", tabIndex: 0 });
    this.title = el("strong");
    this.subtitle = el("span", { className: "muted" });
    this.message = el("p", { className: "message", hidden: true });
    this.numbers = el("dl", { className: "numbers" });
    this.contacts = el("canvas", { className: "contacts", role: "img" });
    this.timeline = new Timeline(this.contacts, (step) => handlers.onscrub(step * this.episode.seconds_per_step));
    this.pin = el("button", { className: "small", type: "button", onclick: () => handlers.onpin(this) }, "Pin");
    this.close = el("button", { className: "small", type: "button", onclick: () => handlers.onclose(this) }, "Close");
    const dot = el("span", { className: "dot" });
    dot.style.background = color;
    this.element = el(
      "article",
      { className: "lane" },
      el("header", {}, dot, el("div", { className: "names" }, this.title, this.subtitle), this.pin, this.close),
      el("div", { className: "screen" }, this.canvas, this.message),
      this.numbers,
      this.contacts,
    );
    this.setPinned(false);
    this.watch();
    new ResizeObserver(() => handlers.onchange()).observe(this.canvas);
  }

  setPinned(pinned) {
    this.pinned = pinned;
    this.pin.setAttribute("aria-pressed", pinned);
    this.pin.title = pinned ? "Let the next cell take this place again" : "Keep it here, and show the next cell beside it";
  }

  /** Drag or arrows turn the camera, a double click or Home turns it back. */
  watch() {
    this.canvas.addEventListener("pointerdown", (event) => this.canvas.setPointerCapture(event.pointerId));
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons !== 1 || event.pointerType === "touch") return; // a finger scrolls the page
      this.turnCamera(event.movementX * DRAG_RADIANS, event.movementY * DRAG_RADIANS);
    });
    this.canvas.addEventListener("dblclick", () => this.resetCamera());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const turns = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in turns) this.turnCamera(...turns[event.key].map((way) => way * KEY_RADIANS));
    else if (event.key === "Home") this.resetCamera();
    else return;
    event.preventDefault();
  }

  turnCamera(dx, dy) {
    this.camera?.turn(dx, dy);
    this.redraw();
  }

  resetCamera() {
    this.camera?.reset();
    this.redraw();
  }

  /** Draw everything anew: the camera, the size or the colours have changed. */
  redraw() {
    this.timeline.bars = null;
    this.refresh();
  }

  /** Draw the robot anew. */
  refresh() {
    this.drawn = null;
    this.handlers.onchange();
  }

  name(title, subtitle) {
    this.title.textContent = title;
    this.subtitle.textContent = subtitle;
    this.canvas.setAttribute("aria-label", `The robot of ${title}, moving. Arrows turn the camera, Home turns it back.`);
    this.pin.setAttribute("aria-label", `Pin ${title}`);
    this.close.setAttribute("aria-label", `Close ${title}`);
  }

  say(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  /** Take an episode to show; `mean` is what its policy returns on new ones, if that is known. */
  load(episode, robot, mean) {
    if (this.robot !== robot) this.camera = new Camera(robot.flat);
    const motion = episode.images ? new Film(episode, () => this.refresh()) : new Motion(episode, robot);
    Object.assign(this, { episode, robot, mean, motion, drawn: null });
    this.canvas.classList.toggle("still", Boolean(episode.images));
    this.timeline.show(episode, robot, episode.length);
    this.say("");
    this.showNumbers();
  }

  /** How long its episode is; 0 before there is one. */
  get seconds() {
    return this.motion ? this.episode.length * this.episode.seconds_per_step : 0;
  }

  showNumbers() {
    const { episode, robot } = this;
    const seconds = episode.length * episode.seconds_per_step;
    const distance = episode.root && episode.root[3 * episode.length] - episode.root[0];
    const lasted = `${number(seconds, 1)} s`;
    const ended = { time: lasted, fell: `fell after ${lasted}`, broke: `physics broke down after ${lasted}` };
    const { asked, recorded } = episode;
    const same = episode.objective === recorded.objective;
    const beside = (value) => (same ? "" : asked ? ` (asked: ${value})` : ` (${value})`);
    const facts = [
      [same ? "return, as recorded" : "return", number(episode.objective), "main"],
      ...(episode.damage ? [["undamaged", number(episode.sound)]] : []),
      ...(this.mean === null || episode.damage ? [] : [["mean of new episodes", number(this.mean)]]),
      ...(asked || episode.sound === recorded.objective ? [] : [["in the archive", number(recorded.objective)]]),
      ...(asked || recorded.seed !== null ? [] : [["seed in the archive", "none: an older run"]]),
      ...(episode.root ? [["distance", `${number(distance, 1)} m`]] : []),
      ["time", ended[episode.end]],
      ...robot.feet
        .filter((foot) => foot.measured)
        .map((foot, i) => [foot.label, percent(episode.measures[i]) + beside(percent(recorded.measures[i]))]),
      ...robot.measures.map((name, i) => [name, number(episode.measures[i], 2) + beside(number(recorded.measures[i], 2))]),
    ];
    const fact = ([name, value, kind = ""]) => el("div", { className: kind }, el("dt", {}, name), el("dd", {}, value));
    this.numbers.replaceChildren(...facts.map(fact));
  }

  /** Draw the moment after so many seconds, of `span` in all; nothing is done if it is on the screen already. */
  draw(seconds, span) {
    if (!this.motion || !this.canvas.clientWidth) return false;
    const { length, seconds_per_step: rate } = this.episode;
    const shown = Math.min(Number((seconds / rate).toFixed(6)), length); // a whole step stays one
    const key = `${shown} ${span} ${this.canvas.clientWidth}x${this.canvas.clientHeight}`;
    if (key === this.drawn) return false;
    this.drawn = key;
    this.paint(sharpen(this.canvas), shown, this.canvas.clientWidth, this.canvas.clientHeight);
    this.timeline.stretch(span / rate);
    this.timeline.draw(shown);
    return true;
  }

  paint(context, step, width, height) {
    if (this.episode.images) this.motion.draw(context, step, width, height);
    else drawMoment(context, this.camera, this.motion, this.robot, step, this.color, width, height);
  }

  /** Draw a moment elsewhere, for a file. */
  async drawAt(context, seconds, width, height) {
    if (!this.motion) return;
    const step = Math.min(seconds / this.episode.seconds_per_step, this.episode.length);
    await this.motion.prepare?.(step);
    this.paint(context, step, width, height);
  }
}
