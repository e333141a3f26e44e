// The runs side by side: a card each, with a little map; and what is known about the one that is looked at.

import { makeScale, runColor } from "./colors.js";
import { $, el, number, onTheme, percent } from "./dom.js";
import { makeLayout } from "./layout.js";
import { paintRaster } from "./map.js";

/** Values by cell (NaN where it is empty) from an archive's list of elites. */
export function valuesOf(archive, name = "objective") {
  const values = new Float32Array(archive.cells).fill(NaN);
  archive.cell.forEach((cell, i) => (values[cell] = archive[name][i] ?? NaN));
  return values;
}

export class RunStrip {
  constructor(runs, { onchoose, archiveOf, rangeOf }) {
    Object.assign(this, { onchoose, archiveOf, rangeOf, cards: new Map() });
    this.watcher = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) if (isIntersecting) this.fill(target);
    });
    $("runs").replaceChildren(...runs.map((run) => this.card(run)));
    $("runs").hidden = runs.length < 2;
    onTheme(() => this.refresh());
  }

  card(run) {
    const dot = el("span", { className: "dot" });
    dot.style.background = runColor(run.id);
    const thumbnail = el("canvas", { className: "thumbnail", width: 1, height: 1, "aria-hidden": "true" });
    const numbers = el("span", { className: "muted" });
    const title = el("strong", {}, dot, run.algorithm);
    const which = el("span", {}, `${run.task_title}, seed ${run.seed}${run.folder}`);
    const names = el("span", { className: "names" }, title, which, numbers);
    const go = () => this.onchoose(run.id);
    const card = el("button", { type: "button", className: "run", onclick: go }, thumbnail, names);
    card.title = run.name;
    card.dataset.run = run.id;
    this.cards.set(run.id, { card, thumbnail, numbers });
    this.update(run);
    this.watcher.observe(card);
    return card;
  }

  update(run) {
    const { qd_score: score, coverage } = run.corrected ?? run.numbers; // without luck, where it is known
    const going = run.done < run.evaluations ? `, ${percent(run.done / run.evaluations)} done` : "";
    this.cards.get(run.id).numbers.textContent = `QD ${number(score, 0)}, ${percent(coverage)} filled${run.corrected ? ", corrected" : ""}${going}`;
  }

  choose(id) {
    for (const [key, { card }] of this.cards) {
      if (key === id) card.setAttribute("aria-current", "true");
      else card.removeAttribute("aria-current");
    }
    const { card } = this.cards.get(id);
    $("runs").scrollTo({ left: card.offsetLeft - 40, behavior: "smooth" });
  }

  /** Draw the little map of a card that has come into view. */
  async fill(card) {
    this.watcher.unobserve(card);
    const id = Number(card.dataset.run);
    const archive = await this.archiveOf(id).catch(() => null);
    if (!archive) return;
    const scale = makeScale("objective", ...this.rangeOf(id));
    const picture = paintRaster(makeLayout(archive), valuesOf(archive), scale);
    const { thumbnail } = this.cards.get(id);
    [thumbnail.width, thumbnail.height] = [112, 112];
    const context = thumbnail.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, 0, 0, thumbnail.width, thumbnail.height);
  }

  refresh(id = null) {
    for (const [key, { card }] of this.cards) if (id === null || id === key) this.watcher.observe(card);
  }
}

/** The settings of a run, in words. */
export function showDetails(run) {
  const rows = run.details.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  $("details").replaceChildren(...rows);
}
