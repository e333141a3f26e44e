// The archive's past: a slider through all iterations, and what the archive was at each.

import { spentBy } from "./curves.js";
import { $, number } from "./dom.js";

const GROWTH = 5; // seconds in which an archive grows before one's eyes

export class Past {
  /** `ended()` whether the run is over; `onmove()` when another moment is chosen, `onproblem(error)` when it cannot be shown. */
  constructor(source, curves, { ended, onmove, onproblem }) {
    Object.assign(this, { source, curves, ended, onmove, onproblem, iteration: null, log: null, metrics: null, growing: null });
    $("iteration").addEventListener("input", (event) => {
      this.growing = null;
      this.goTo(Number(event.target.value));
    });
    $("grow").addEventListener("click", () => this.grow());
  }

  /** Back to now, for this run; `metrics` tell how long its past is. */
  open(id, metrics = id === this.id ? this.metrics : null) {
    const last = metrics?.iteration.at(-1) ?? 0;
    Object.assign(this, { id, metrics, iteration: null, growing: null, log: id === this.id ? this.log : null });
    $("history").hidden = last < 1;
    Object.assign($("iteration"), { max: last, value: last });
    this.say();
  }

  /** New insertions may have come. */
  forget() {
    this.log = null;
  }

  async goTo(iteration) {
    const id = this.id;
    $("iteration").value = iteration;
    try {
      const log = this.log ?? (await this.source.history(id));
      if (id !== this.id) return;
      this.log = log;
    } catch (error) {
      return this.onproblem(error);
    }
    this.iteration = iteration >= Number($("iteration").max) ? null : iteration;
    this.say();
    this.onmove();
  }

  say() {
    const { iteration, metrics } = this;
    if (iteration === null || !metrics) {
      const all = metrics?.evaluations.at(-1);
      $("moment").textContent = all === undefined ? "" : `${number(all, 0)} evaluations, ${this.ended() ? "the end" : "so far"}`;
      return this.curves.mark(null);
    }
    $("moment").textContent = `${number(spentBy(iteration, metrics, metrics.evaluations), 0)} evaluations`;
    this.curves.mark(iteration);
  }

  /** The archive as it was: every accepted insertion so far, the last one of a cell on top. */
  values(cells) {
    const values = new Float32Array(cells).fill(NaN);
    const { iteration: when, cell, objective } = this.log;
    for (let i = 0; i < when.length && when[i] <= this.iteration; i++) values[cell[i]] = objective[i];
    return values;
  }

  async grow() {
    const last = Number($("iteration").max);
    const turn = (this.growing = {});
    const began = performance.now();
    const next = async () => {
      if (this.growing !== turn) return;
      const share = (performance.now() - began) / 1000 / GROWTH;
      await this.goTo(Math.min(Math.round(share * last), last));
      if (share < 1) requestAnimationFrame(next);
    };
    await next();
  }
}
