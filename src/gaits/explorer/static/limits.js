// Which objectives the colours span: the same for all runs of a task.

import { $ } from "./dom.js";

export class Limits {
  /** `shown()`: the limits that the map has now; `onchange()` when others are chosen. */
  constructor({ shown, onchange }) {
    Object.assign(this, { shown, onchange, of: "runs", own: null });
    this.inputs = [$("limits-low"), $("limits-high")];
    for (const input of [$("limits-of"), ...this.inputs]) input.addEventListener("change", () => this.choose());
  }

  /** [low, high] of a run among `runs`: up to the best of its task, or the task's own, or those that were chosen. */
  range({ task, limits }, runs) {
    if (this.of === "own") return this.own;
    const numbers = runs.filter((run) => run.task === task).map((run) => run.numbers);
    const known = numbers.filter((one) => one.objective_max !== null);
    if (this.of === "task" || !known.length) return limits;
    const [least, most] = [Math.min(...known.map((one) => one.objective_min)), Math.max(...known.map((one) => one.objective_max))];
    return [most > limits[0] ? limits[0] : least, most]; // if none does better than nothing, as far down as they go
  }

  /** One's own begin as what is shown. */
  choose() {
    const { inputs } = this;
    const own = $("limits-of").value === "own";
    if (own && this.of !== "own") this.shown().forEach((value, i) => (inputs[i].value = Number(value.toPrecision(3))));
    const [low, high] = inputs.map((input) => input.valueAsNumber);
    const wrong = own && !(low < high);
    for (const input of inputs) input.setAttribute("aria-invalid", wrong);
    $("limits-own").hidden = !own;
    if (wrong) return;
    Object.assign(this, { of: $("limits-of").value, own: [low, high] });
    this.onchange();
  }
}
