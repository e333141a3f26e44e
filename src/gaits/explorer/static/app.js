// The explorer: puts map, stage, curves and panels together, and keeps them about the same run.

import { Beside } from "./beside.js";
import { makeScale } from "./colors.js";
import { Curves } from "./curves.js";
import { DamagePanel } from "./damage.js";
import { $, initTheme, number, onTheme } from "./dom.js";
import { positionOf } from "./layout.js";
import { drawLegend, showTip } from "./legend.js";
import { Limits } from "./limits.js";
import { MapView } from "./map.js";
import { Past } from "./past.js";
import { RunStrip, showDetails, valuesOf, withMeans } from "./runs.js";
import { wireFiles } from "./save.js";
import { makeSource } from "./source.js";
import { Stage } from "./stage.js";

const POLL = 5000; // milliseconds between looks at runs that are still going on

class Explorer {
  async start() {
    // The token is in a cookie by now; in the address it would be seen on every shared screen.
    if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname + location.hash);
    initTheme($("theme"));
    this.source = makeSource();
    this.archives = new Map();
    this.colour = "mean";
    this.limits = new Limits({ shown: () => this.range(this.id), onchange: () => this.repaint() });
    this.damage = new DamagePanel(() => this.stage.replay());
    this.map = new MapView($("map"), {
      onpick: (cell, add) => this.play(cell, add),
      onhover: (cell) => this.hover(cell),
      onview: (part) => this.seen(part),
    });
    this.beside = new Beside(this.map, {
      archiveOf: (id) => this.archiveOf(id),
      scaleOf: () => makeScale("objective", ...this.range(this.id)),
      onpick: (run, cell, add) => this.play(cell, add, true, run),
      ontell: (map, archive, cell) => this.tell(map, archive, cell),
      onproblem: (error) => this.complain(error),
    });
    this.stage = new Stage(this.source, {
      damageOf: (run) => this.damage.of(run),
      naming: (...lane) => this.nameLane(...lane),
      meanOf: (run, cell) => this.meanOf(run, cell),
      onlanes: () => this.mark(),
    });
    this.curves = new Curves();
    this.past = new Past(this.source, this.curves, {
      ended: () => this.run.done >= this.run.evaluations,
      onmove: () => this.moved(),
      onproblem: (error) => this.complain(error),
    });
    this.wire();
    this.runs = this.named(await this.source.runs());
    this.strip = new RunStrip(this.runs, {
      onchoose: (id) => this.choose(id),
      archiveOf: (id) => this.archiveOf(id),
      rangeOf: (id) => this.range(id),
    });
    window.addEventListener("hashchange", () => this.follow());
    await this.follow();
    if (!this.source.live) return;
    setInterval(() => this.look(), POLL);
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Show what the address names: #run=1&cell=23. */
  async follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const word = asked.get("run");
    const id = /^\d+$/.test(word) && this.runs[word] ? Number(word) : 0;
    const cell = asked.has("cell") ? Number(asked.get("cell")) : null;
    if (id !== this.id) await this.choose(id, cell);
    else if (this.archive?.cell.includes(cell)) await this.play(cell);
  }

  /** Runs with a short name each; where algorithm and seed do not tell them apart, the folder does. */
  named(runs) {
    const full = (run) => `${run.algorithm}, seed ${run.seed}, ${run.task_title}`;
    return runs.map((run) => {
      const alone = runs.filter((other) => full(other) === full(run)).length === 1;
      const folder = alone ? "" : `, ${run.name}`;
      return { ...run, folder, short: `${run.algorithm}, seed ${run.seed}${folder}` };
    });
  }

  get run() {
    return this.runs[this.id];
  }

  archiveOf(id) {
    if (!this.archives.has(id)) {
      this.archives.set(id, this.source.archive(id).then(withMeans));
      this.archives.get(id).catch(() => this.archives.delete(id));
    }
    return this.archives.get(id);
  }

  // --- one run ----------------------------------------------------------------------------------------------------

  /** Look at a run, and play one of its cells: the best, unless another is asked for. */
  async choose(id, cell = null) {
    Object.assign(this, { id, archive: null, stale: false });
    this.past.forget();
    this.map.clear();
    this.strip.choose(id);
    const run = this.run;
    $("first-title").textContent = run.short;
    document.title = `${run.algorithm} on ${run.task_title} · gaits`;
    $("heading").textContent = this.runs.length > 1 ? `${this.runs.length} runs` : `${run.algorithm} on ${run.task_title}`;
    showDetails(run, this.runs);
    $("damage").hidden = $("map-help").hidden = Boolean(run.unplayable);
    $("ask-label").hidden = Boolean(!this.source.live || run.unplayable || !run.conditioned);
    this.ask();
    $("stage-empty").textContent = run.unplayable || "Click a cell of the map, and its policy walks here.";
    await Promise.all([this.showArchive(cell), this.showCurves(), this.showRobot()]).catch((error) => this.complain(error));
  }

  async showArchive(cell) {
    const id = this.id;
    this.setTitle(null);
    $("note").textContent = "";
    const archive = await this.archiveOf(id).catch((error) => this.noArchive(id, error));
    if (id !== this.id) return;
    if (!archive) return this.stage.removeUnpinned();
    this.archive = archive;
    this.past.open(id);
    this.map.show(archive);
    await this.beside.offer(this.run, this.runs);
    if (id !== this.id) return;
    $("colour").hidden = !archive.robustness;
    if (!archive.robustness) this.colour = "mean";
    this.paint();
    const best = this.bestPlayable();
    const chosen = archive.cell.includes(cell) ? cell : best;
    if (chosen === null || this.run.unplayable) this.stage.removeUnpinned();
    else await this.play(chosen, false, false);
  }

  /** A run that has just begun has no archive yet. */
  noArchive(id, error) {
    if (id === this.id) $("note").textContent = error.message;
  }

  /** The best elite that can be played, without luck where that is known: all of them, but those that an exported file does not have. */
  bestPlayable() {
    const has = this.source.playable(this.id);
    const { cell, mean } = this.archive;
    let best = null;
    cell.forEach((one, i) => {
      if ((!has || has.has(one)) && (best === null || mean[i] > mean[best])) best = i;
    });
    return best === null ? null : cell[best];
  }

  async showCurves() {
    const id = this.id;
    const same = this.runs.filter((run) => run.task === this.run.task);
    const series = await Promise.all(same.map(async (run) => ({ run, metrics: await this.source.metrics(run.id) })));
    if (id !== this.id) return;
    this.curves.draw(series, id);
    this.past.open(id, series.find(({ run }) => run.id === id).metrics);
  }

  async showRobot() {
    const run = this.run;
    if (run.unplayable || !this.source.live) return;
    const robot = await this.source.robot(run.id);
    if (run.id !== this.id) return;
    this.damage.show(run, robot);
    $("damage").hidden = !robot.joints.length; // pictures cannot be damaged
  }

  range(id) {
    return this.limits.range(this.runs[id], this.runs);
  }

  /** Another moment was chosen. */
  moved() {
    if (this.archive) this.paint();
    this.freshen();
  }

  /** All maps have other colours. */
  repaint() {
    if (this.archive) this.paint();
    this.strip.refresh();
  }

  paint() {
    const { archive, colour } = this;
    const past = this.past.iteration !== null;
    this.values = past ? this.past.values(archive.cells) : valuesOf(archive, colour);
    const shown = past ? "objective" : colour;
    const ends = shown === "robustness" ? reach(archive.robustness) : this.range(this.id);
    this.scale = makeScale(shown, ...ends);
    $("limits").hidden = shown === "robustness";
    for (const button of $("colour").children) button.setAttribute("aria-pressed", button.dataset.colour === shown);
    this.map.paint(this.values, this.scale, past ? this.values : valuesOf(archive));
    this.beside.paint();
    this.mark();
    this.legend();
    this.setTitle(this.values.reduce((n, value) => n + !Number.isNaN(value), 0));
  }

  setTitle(filled) {
    const { task_title: title } = this.run;
    const share = filled === null ? "" : `: ${number(filled, 0)} of ${number(this.archive.cells, 0)} cells`;
    const corrected = filled !== null && this.past.iteration === null && this.run.corrected;
    const left = corrected ? `, ${number(corrected.coverage * this.archive.cells, 0)} without luck` : "";
    $("map-title").textContent = title + share + left;
    $("map").setAttribute("aria-label", `Archive of ${this.run.short} on ${title}. Arrows go to other elites, Enter plays.`);
  }

  legend() {
    const shown = this.past.iteration === null ? this.colour : "objective";
    const name = shown === "mean" ? (this.archive?.robustness ? "mean of new episodes" : "objective") : shown;
    if (this.scale) drawLegend(name, this.scale, this.values);
  }

  mark() {
    const lanes = this.stage?.lanes.filter((lane) => lane.run.id === this.id) ?? [];
    this.map.mark(lanes.map(({ cell, color }) => ({ cell, color })), this.source.playable(this.id));
    const other = this.beside?.run;
    if (!other) return;
    const theirs = this.stage.lanes.filter((lane) => lane.run.id === other.id);
    this.beside.map.mark(theirs.map(({ cell, color }) => ({ cell, color })), this.source.playable(other.id));
  }

  /** Another part of the map is looked at: the one beside it follows. */
  seen(part) {
    document.querySelector(".zoom").classList.toggle("in", part.w < 1);
    if (this.beside.archive) this.beside.map.view.look(part, true);
  }

  // --- cells ------------------------------------------------------------------------------------------------------

  async play(cell, add = false, byHand = true, run = this.run) {
    if (run.unplayable) return;
    if (run === this.run) this.map.cursor = cell;
    history.replaceState(null, "", `#run=${run.id}&cell=${cell}`);
    const below = $("stage").getBoundingClientRect().top > innerHeight - 200;
    if (byHand && below) $("stage").scrollIntoView({ behavior: "smooth" });
    const gone = run === this.run && this.past.iteration !== null && !this.stillThere(cell);
    $("note").textContent = gone ? "The policy that had this cell then is not kept; this is the one that has it now." : "";
    await this.stage.show(run, cell, add, byHand && run === this.run && this.map.any);
  }

  /** Whether cells are asked of the one policy that takes measures, which knows empty ones, too. */
  ask() {
    this.map.any = $("ask").checked && !$("ask-label").hidden;
  }

  nameLane(run, cell, asked) {
    const name = this.nameCell(cell);
    return [asked ? `Asked for cell ${name}` : `Cell ${name}`, this.runs.length > 1 ? `${run.short}, ${run.task_title}` : run.task_title];
  }

  /** What an elite returns on new episodes, null where that is not known. */
  async meanOf(run, cell) {
    const { cell: cells, robustness, mean } = await this.archiveOf(run.id);
    const row = cells.indexOf(cell);
    return robustness?.[row] == null ? null : mean[row];
  }

  nameCell(cell) {
    return this.archive.dims ? positionOf(cell, this.archive.dims).join(", ") : String(cell);
  }

  hover(cell) {
    this.tell(this.map, this.archive, cell);
    if (this.beside?.archive) this.beside.point(this.beside.map, cell);
  }

  /** Say what a cell holds: beside the pointer, and to people who listen. */
  tell(map, archive, cell) {
    $("tip").hidden = cell === null;
    if (cell === null) return;
    const onDot = map.layout.flat && !Number.isNaN(map.values[cell]);
    showTip(`Cell ${this.nameCell(cell)}`, this.facts(map, archive, cell), onDot ? map.dot(cell) : map.spot(cell), map.canvas);
  }

  facts(map, archive, cell) {
    if (!map.has(cell)) return [["empty"]];
    if (map === this.map && this.past.iteration !== null) {
      return [["objective", number(this.values[cell])], [this.stillThere(cell) ? "still the elite" : "replaced later"]];
    }
    const row = archive.cell.indexOf(cell);
    const { objective, robustness, mean, measures, measure_names: names } = archive;
    const measured = measures[row].map((m, i) => [names[i], number(m, 2)]);
    const recorded = number(objective[row]);
    if (robustness?.[row] == null) return [["objective", recorded], ...measured];
    return [["mean of new episodes", number(mean[row])], ["recorded", recorded], ...measured];
  }

  stillThere(cell) {
    const row = this.archive.cell.indexOf(cell);
    return row >= 0 && Math.fround(this.archive.objective[row]) === this.values[cell];
  }

  // --- the rest ---------------------------------------------------------------------------------------------------

  wire() {
    for (const button of $("colour").children) {
      button.addEventListener("click", () => {
        this.colour = button.dataset.colour;
        this.past.open(this.id);
        this.moved();
      });
    }
    $("ask").addEventListener("change", () => this.ask());
    $("pin-current").addEventListener("click", () => this.stage.pinCurrent());
    $("zoom-in").addEventListener("click", () => this.archive && this.map.view.zoom(true));
    $("zoom-out").addEventListener("click", () => this.archive && this.map.view.zoom(false));
    wireFiles(this);
    $("show-help").addEventListener("click", () => $("help").showModal());
    if (!this.source.live) {
      const needs = "Damage, other seeds and other cells need the live explorer: gaits explore RUN";
      $("damage-note").textContent = `This is a saved page. ${needs}`;
      $("damage-panel").hidden = true;
      $("map-help").textContent = "Click a cell with a frame to watch its policy; Shift-click to add it beside the others.";
    }
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.legend()).observe($("legend"));
    onTheme(() => this.archive && this.paint());
  }

  key(event) {
    const typing = event.target.closest("input:not([type=range]), select, dialog");
    const pressing = event.target.closest("button, summary, a");
    if (event.ctrlKey || event.metaKey || event.altKey || typing || (pressing && event.key === " ")) return;
    const { stage } = this;
    const keys = {
      " ": () => stage.setPlaying(!stage.playing),
      ",": () => stage.nudge(-1),
      ".": () => stage.nudge(1),
      "[": () => stage.faster(-1),
      "]": () => stage.faster(1),
      p: () => stage.pinCurrent(),
      n: () => stage.newSeed(),
      "?": () => $("help").showModal(),
    };
    const act = keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Runs that are still going on: show what is new. */
  async look() {
    if (document.hidden || this.settled) return;
    const before = this.runs;
    this.runs = this.named(await this.source.runs().catch(() => before));
    const changed = this.runs.filter((run, i) => run.version !== before[i].version);
    this.settled = !changed.length && this.runs.every((run) => run.done >= run.evaluations); // the archive comes last
    for (const run of changed) {
      this.archives.delete(run.id);
      this.strip.update(run);
      this.strip.refresh(run.id);
    }
    this.stale ||= changed.some((run) => run.task === this.run.task);
    await this.freshen();
  }

  /** Show what is new; who looks at the past is left in peace until they come back. */
  async freshen() {
    if (!this.stale || this.past.iteration !== null) return;
    this.stale = false;
    const id = this.id;
    await this.showCurves().catch(() => null);
    if (!this.archive) return this.showArchive(null);
    const archive = await this.archiveOf(id).catch(() => null);
    if (!archive || id !== this.id) return;
    this.archive = archive;
    this.past.forget();
    this.paint();
  }

  complain(error) {
    $("problem").textContent = error.message;
    $("problem").hidden = false;
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => ($("problem").hidden = true), 8000);
  }
}

/** How far from zero all but a few of the numbers are, so that one outlier does not make the rest pale. */
function reach(values) {
  const sizes = values.filter((value) => value !== null).map(Math.abs);
  sizes.sort((a, b) => a - b);
  const most = sizes[Math.floor(0.95 * (sizes.length - 1))];
  return [-most, most];
}

const explorer = new Explorer();
explorer.start().catch((error) => explorer.complain(error));
