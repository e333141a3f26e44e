// Damage: how strong each motor still is, and how each foot grips. The same for all runs of a task.

import { $, el, percent } from "./dom.js";

const PATIENCE = 120; // milliseconds between the last movement of a slider and the replay

export class DamagePanel {
  constructor(onchange) {
    this.onchange = onchange;
    this.tasks = new Map();
    $("damage-reset").addEventListener("click", () => this.reset());
  }

  /** What to ask the server for: only what differs from a sound robot. */
  of(run) {
    const factors = this.tasks.get(run.task);
    const changed = (table) => Object.fromEntries(Object.entries(table ?? {}).filter(([, factor]) => factor !== 1));
    return { joints: changed(factors?.joints), friction: changed(factors?.friction) };
  }

  show(run, robot) {
    this.task = run.task;
    if (!this.tasks.has(run.task)) this.tasks.set(run.task, { joints: {}, friction: {} });
    const feet = robot.feet.filter((foot) => foot.measured);
    $("damage-joints").replaceChildren(...robot.joints.map((name) => this.slider("joints", name, name)));
    $("damage-friction").replaceChildren(...feet.map(({ name, label }) => this.slider("friction", name, label)));
    this.count();
  }

  slider(kind, name, label) {
    const task = this.task;
    const table = this.tasks.get(task)[kind];
    const output = el("output", {}, percent(table[name] ?? 1));
    const input = el("input", { type: "range", min: 0, max: 1, step: 0.05, value: table[name] ?? 1 });
    input.setAttribute("aria-label", `${kind === "joints" ? "Strength of" : "Grip of"} ${label}`);
    input.addEventListener("input", () => {
      const factor = (this.tasks.get(task)[kind][name] = Number(input.value));
      output.textContent = percent(factor);
      this.changed();
    });
    return el("label", { className: "slider" }, el("span", {}, label.replaceAll("_", " ")), input, output);
  }

  changed() {
    this.count();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.onchange(), PATIENCE);
  }

  count() {
    const { joints, friction } = this.of({ task: this.task });
    const n = Object.keys(joints).length + Object.keys(friction).length;
    $("damage-count").textContent = n ? `${n} changed` : "none";
    $("damage-reset").hidden = n === 0;
  }

  reset() {
    this.tasks.set(this.task, { joints: {}, friction: {} });
    for (const input of document.querySelectorAll("#damage input")) input.value = 1;
    for (const output of document.querySelectorAll("#damage output")) output.textContent = percent(1);
    this.count();
    this.changed();
  }
}
