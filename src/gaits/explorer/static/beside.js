// A second archive beside the first: two runs of one task, cell by cell.

import { $, number } from "./dom.js";
import { MapView } from "./map.js";
import { valuesOf } from "./runs.js";

export class Beside {
  /** `main`: the first map. `archiveOf(id)`, `scaleOf(archive)`; `onpick(run, cell, add)`, `ontell(map, archive, cell)`. */
  constructor(main, { archiveOf, scaleOf, onpick, ontell, onproblem }) {
    Object.assign(this, { main, archiveOf, scaleOf, onproblem, run: null, archive: null });
    this.map = new MapView($("second-map"), {
      onpick: (cell, add) => onpick(this.run, cell, add),
      onhover: (cell) => {
        ontell(this.map, this.archive, cell);
        this.point(this.main, cell);
      },
      onview: (part) => this.main.layout && this.main.view.look(part, true),
    });
    $("beside").addEventListener("change", () => this.choose());
  }

  /** Offer the other runs of a task. */
  offer(run, runs) {
    const others = runs.filter((other) => other.task === run.task && other.id !== run.id);
    const chosen = $("beside").value;
    $("beside").replaceChildren(new Option("nothing", ""), ...others.map((other) => new Option(other.short, other.id)));
    $("beside").value = others.some((other) => String(other.id) === chosen) ? chosen : "";
    $("beside-label").hidden = !others.length;
    this.others = others;
    return this.choose();
  }

  async choose() {
    const run = this.others.find(({ id }) => String(id) === $("beside").value) ?? null;
    const archive = run && (await this.archiveOf(run.id).catch((error) => this.onproblem(error)));
    Object.assign(this, { run: archive ? run : null, archive: archive || null });
    $("second").hidden = !this.archive;
    $("second").closest("main").classList.toggle("two", Boolean(this.archive));
    if (!this.archive) return;
    $("second-title").textContent = `${run.short}: ${number(archive.cell.length, 0)} of ${number(archive.cells, 0)} cells`;
    $("second-map").setAttribute("aria-label", `Archive of ${run.short}. Arrows go to other elites, Enter plays.`);
    this.map.show(archive);
    this.paint();
    this.map.view.look(this.main.view.part, true);
  }

  paint() {
    if (this.archive) this.map.paint(valuesOf(this.archive), this.scaleOf());
  }

  /** The same cell on the other map, where both have the same cells. */
  point(map, cell) {
    if (!this.archive || !this.main.values || this.main.layout.cells !== this.map.layout.cells || map.hovered === cell) return;
    map.hovered = cell;
    map.draw();
  }
}
