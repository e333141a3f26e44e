// The runs side by side: a card each, with a little map; and what is known about the one that is looked at.

import { makeScale, runColor } from "./colors.js";
import { $, el, number, onTheme, percent } from "./dom.js";
import { makeLayout } from "./layout.js";
import { paintRaster } from "./map.js";

const OWN = new Set(["seed", "begun"]); // settings that every run has its own of

/** An archive with every elite's mean over new episodes, or what was recorded of those that were not played again. */
export const withMeans = (archive) => ({ ...archive, mean: archive.objective.map((value, i) => value + (archive.robustness?.[i] ?? 0)) });

/** Values by cell (NaN where it is empty) from an archive's list of elites. */
export function valuesOf(archive, name = "mean") {
  const values = new Float32Array(archive.cells).fill(NaN);
  archive.cell.forEach((cell, i) => (values[cell] = archive[name][i] ?? NaN));
  return values;
}

const MANY = 4; // runs from which on they are worth sorting
const led = (run) => run.corrected ?? run.numbers; // without luck, where it is known: what a card shows, and is sorted by
const GROUPS = { none: () => "", task: (run) => run.task_title, algorithm: (run) => run.algorithm };

export class RunStrip {
  constructor(runs, { onchoose, archiveOf, rangeOf }) {
    Object.assign(this, { onchoose, archiveOf, rangeOf, cards: new Map() });
    this.watcher = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) if (isIntersecting) this.fill(target);
    });
    this.runs = runs;
    for (const run of runs) this.card(run);
    $("runs").hidden = runs.length < 2;
    $("runs-tools").hidden = runs.length < MANY;
    for (const id of ["runs-filter", "runs-sort", "runs-group"]) $(id).addEventListener("input", () => this.arrange());
    this.arrange();
    onTheme(() => this.refresh());
  }

  /** Show the runs that all words of the filter are in, sorted and grouped as chosen. */
  arrange() {
    const words = $("runs-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (run) => `${run.algorithm} ${run.task_title} ${run.task} seed ${run.seed} ${run.name}`.toLowerCase();
    const found = this.runs.filter((run) => words.every((word) => text(run).includes(word)));
    const [by, group] = [$("runs-sort").value, GROUPS[$("runs-group").value]];
    const value = (run) => led(run)[by] ?? -Infinity;
    if (by) found.sort((a, b) => value(b) - value(a));
    const groups = new Map();
    for (const run of found) groups.set(group(run), [...(groups.get(group(run)) ?? []), run]);
    const shown = [...groups].flatMap(([title, runs]) => [
      ...(title ? [el("h3", {}, title)] : []),
      ...runs.map((run) => this.cards.get(run.id).card),
    ]);
    $("runs").replaceChildren(...shown);
    $("runs-count").textContent = `${found.length} of ${this.runs.length}`;
  }

  card(run) {
    const key = el("span", { className: "key" });
    key.style.background = runColor(run.id);
    const thumbnail = el("canvas", { className: "thumbnail", width: 1, height: 1, "aria-hidden": "true" });
    const numbers = el("span", { className: "muted" });
    const title = el("strong", {}, key, run.algorithm);
    const which = el("span", {}, `${run.task_title}, seed ${run.seed}${run.folder}`);
    const names = el("span", { className: "names" }, title, which, numbers);
    const go = () => this.onchoose(run.id);
    const card = el("button", { type: "button", className: "run", onclick: go }, thumbnail, names);
    card.title = run.name;
    card.dataset.run = run.id;
    this.cards.set(run.id, { card, thumbnail, numbers });
    this.update(run);
    this.watcher.observe(card);
  }

  update(run) {
    this.runs = this.runs.map((one) => (one.id === run.id ? run : one));
    const { qd_score: score, coverage, objective_max: best } = led(run);
    const going = run.done < run.evaluations ? `, ${percent(run.done / run.evaluations)} done` : "";
    this.cards.get(run.id).numbers.textContent = `QD ${number(score, 0)}, ${percent(coverage)} filled, best ${number(best, 0)}${run.corrected ? ", corrected" : ""}${going}`;
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

/** The settings of a run, in words; those in which the runs of its task differ stand out. */
export function showDetails(run, runs) {
  const others = runs.filter((other) => other.task === run.task && other.id !== run.id);
  const differs = ([name, value]) => others.some(({ details }) => details.find(([own]) => own === name)?.[1] !== value);
  const [[, command], ...facts] = run.details.length ? run.details : [["", ""]];
  const rows = facts.map((fact) => {
    const row = el("div", {}, el("dt", {}, fact[0]), el("dd", {}, fact[1]));
    row.classList.toggle("differs", !OWN.has(fact[0]) && differs(fact));
    return row;
  });
  $("details").replaceChildren(...rows);
  $("details-command").textContent = command;
  $("details-note").hidden = !rows.some((row) => row.classList.contains("differs"));
}
