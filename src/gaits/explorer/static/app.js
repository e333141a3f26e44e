// The explorer: puts map, stage, curves and panels together, and keeps them about the same run.

import { makeScale } from "./colors.js";
import { drawCurves, markEvaluations } from "./curves.js";
import { DamagePanel } from "./damage.js";
import { $, el, initTheme, number, onTheme, percent, sharpen } from "./dom.js";
import { positionOf } from "./layout.js";
import { MapView } from "./map.js";
import { RunStrip, showDetails, valuesOf } from "./runs.js";
import { makeSource } from "./source.js";
import { Stage } from "./stage.js";

const POLL = 5000; // milliseconds between looks at runs that are still going on
const GROWTH = 5; // seconds in which an archive grows before one's eyes

class Explorer {
  async start() {
    initTheme($("theme"));
    this.source = makeSource();
    this.archives = new Map();
    this.colour = "objective";
    this.damage = new DamagePanel(() => this.stage.replay());
    this.map = new MapView($("map"), { onpick: (cell, add) => this.play(cell, add), onhover: (cell) => this.tell(cell) });
    this.stage = new Stage(this.source, {
      damageOf: (run) => this.damage.of(run),
      naming: (run, cell) => this.nameLane(run, cell),
      onlanes: () => this.mark(),
    });
    this.wire();
    this.runs = this.named(await this.source.runs());
    this.strip = new RunStrip(this.runs, { onchoose: (id) => this.choose(id), archiveOf: (id) => this.archiveOf(id), rangeOf: (id) => this.range(id) });
    window.addEventListener("hashchange", () => this.follow());
    await this.follow();
    if (this.source.live) setInterval(() => this.look(), POLL);
  }

  /** Show what the address names: #run=1&cell=23. */
  async follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const id = this.runs[asked.get("run")] ? Number(asked.get("run")) : 0;
    const cell = asked.has("cell") ? Number(asked.get("cell")) : null;
    if (id !== this.id) await this.choose(id, cell);
    else if (this.archive?.cell.includes(cell)) await this.play(cell);
  }

  named(runs) {
    return runs.map((run) => ({ ...run, short: `${run.algorithm}, seed ${run.seed}` }));
  }

  get run() {
    return this.runs[this.id];
  }

  archiveOf(id) {
    if (!this.archives.has(id)) this.archives.set(id, this.source.archive(id).catch((error) => (this.archives.delete(id), Promise.reject(error))));
    return this.archives.get(id);
  }

  // --- one run ----------------------------------------------------------------------------------------------------

  /** Look at a run, and play one of its cells: the best, unless another is asked for. */
  async choose(id, cell = null) {
    this.id = id;
    this.strip.choose(id);
    const run = this.run;
    document.title = `${run.algorithm} on ${run.task_title} · gaits`;
    $("heading").textContent = this.runs.length > 1 ? `${this.runs.length} runs` : `${run.algorithm} on ${run.task_title}`;
    showDetails(run);
    $("damage").hidden = $("map-help").hidden = Boolean(run.unplayable);
    $("stage-empty").textContent = run.unplayable || "Click a cell of the map, and its policy walks here.";
    await Promise.all([this.showArchive(cell), this.showCurves(), this.showRobot()]).catch((error) => this.complain(error));
  }

  async showArchive(cell) {
    const id = this.id;
    this.setTitle(null);
    $("note").textContent = "";
    const archive = await this.archiveOf(id).catch((error) => this.noArchive(id, error));
    if (id !== this.id || !archive) return;
    Object.assign(this, { archive, log: null, iteration: null });
    this.map.show(archive);
    $("colour").hidden = !archive.robustness;
    if (!archive.robustness) this.colour = "objective";
    this.resetSlider();
    this.paint();
    const best = this.bestPlayable();
    const chosen = archive.cell.includes(cell) ? cell : best;
    if (chosen !== null && !this.run.unplayable) await this.play(chosen, false, false);
  }

  /** A run that has just begun has no archive yet. */
  noArchive(id, error) {
    if (id !== this.id) return;
    this.archive = null;
    this.map.clear();
    $("note").textContent = error.message;
  }

  /** The best elite that can be played: all of them, but those that an exported file does not have. */
  bestPlayable() {
    const has = this.source.playable(this.id);
    const { cell, objective } = this.archive;
    let best = null;
    cell.forEach((one, i) => {
      if ((!has || has.has(one)) && (best === null || objective[i] > objective[best])) best = i;
    });
    return best === null ? null : cell[best];
  }

  async showCurves() {
    const id = this.id;
    const same = this.runs.filter((run) => run.task === this.run.task);
    const series = await Promise.all(same.map(async (run) => ({ run, metrics: await this.source.metrics(run.id) })));
    if (id !== this.id) return;
    this.metrics = series.find(({ run }) => run.id === id).metrics;
    drawCurves(series, id);
    this.resetSlider();
  }

  async showRobot() {
    const run = this.run;
    if (run.unplayable || !this.source.live) return;
    const robot = await this.source.robot(run.id);
    if (run === this.run) this.damage.show(run, robot);
  }

  /** Objectives of all runs of this task have the same colours. */
  range(id) {
    const task = this.runs[id].task;
    const ends = this.runs.filter((run) => run.task === task && run.numbers.objective_max !== null).map((run) => run.numbers);
    return [Math.min(...ends.map((one) => one.objective_min)), Math.max(...ends.map((one) => one.objective_max))];
  }

  paint() {
    const { archive, colour } = this;
    const past = this.iteration !== null;
    this.values = past ? this.valuesAt(this.iteration) : valuesOf(archive, colour);
    const shown = past ? "objective" : colour;
    const ends = shown === "robustness" ? reach(archive.robustness) : this.range(this.id);
    this.scale = makeScale(shown, ...(ends.every(Number.isFinite) ? ends : [0, 1]));
    for (const button of $("colour").children) button.setAttribute("aria-pressed", button.dataset.colour === shown);
    this.map.paint(this.values, this.scale);
    this.mark();
    this.drawLegend();
    this.setTitle(this.values.reduce((n, value) => n + !Number.isNaN(value), 0));
  }

  setTitle(filled) {
    const { task_title: title } = this.run;
    $("map-title").textContent = filled === null ? title : `${title}: ${number(filled, 0)} of ${number(this.archive.cells, 0)} cells`;
    $("map").setAttribute("aria-label", `The archive of ${this.run.short} on ${title}. Arrows go from elite to elite, Enter plays.`);
  }

  mark() {
    const lanes = this.stage?.lanes.filter((lane) => lane.run.id === this.id) ?? [];
    this.map.mark(lanes.map(({ cell, color }) => ({ cell, color })), this.source.playable(this.id));
  }

  drawLegend() {
    const context = sharpen($("legend"));
    const { clientWidth: width, clientHeight: height } = $("legend");
    for (let x = 0; x < width; x++) {
      context.fillStyle = `rgb(${this.scale.color(this.scale.low + ((this.scale.high - this.scale.low) * (x + 0.5)) / width)})`;
      context.fillRect(x, 0, 1, height);
    }
    $("legend-name").textContent = this.iteration === null ? this.colour : "objective";
    $("legend-low").textContent = number(this.scale.low, 0);
    $("legend-high").textContent = number(this.scale.high, 0);
  }

  // --- cells ------------------------------------------------------------------------------------------------------

  async play(cell, add = false, byHand = true) {
    const run = this.run;
    if (run.unplayable) return;
    this.map.cursor = cell;
    history.replaceState(null, "", `#run=${run.id}&cell=${cell}`);
    if (byHand && $("stage").getBoundingClientRect().top > innerHeight - 200) $("stage").scrollIntoView({ behavior: "smooth" });
    const gone = this.iteration !== null && !this.stillThere(cell);
    $("note").textContent = gone ? "The policy that had this cell then is not kept; this is the one that has it now." : "";
    await this.stage.show(run, cell, add);
  }

  nameLane(run, cell) {
    const name = this.nameCell(cell);
    return [`Cell ${name}`, this.runs.length > 1 ? `${run.short}, ${run.task_title}` : run.task_title];
  }

  nameCell(cell) {
    return this.archive.dims ? positionOf(cell, this.archive.dims).join(", ") : String(cell);
  }

  /** Say what a cell holds: beside the pointer, and to people who listen. */
  tell(cell) {
    const tip = $("tip");
    tip.hidden = cell === null;
    if (cell === null) return;
    const facts = this.facts(cell);
    tip.replaceChildren(el("strong", {}, `Cell ${this.nameCell(cell)}`), ...facts.map(([k, v]) => el("span", {}, `${k} ${v}`)));
    const [x, y] = this.map.layout.flat && !Number.isNaN(this.values[cell]) ? this.map.dot(cell) : this.map.spot(cell);
    const frame = $("map").clientWidth;
    tip.style.left = `${Math.min(Math.max(x, tip.offsetWidth / 2), frame - tip.offsetWidth / 2)}px`;
    tip.style.top = `${y}px`;
    tip.classList.toggle("below", y < tip.offsetHeight + 20);
    if (document.activeElement === $("map")) $("told").textContent = `Cell ${this.nameCell(cell)}: ${facts.map((fact) => fact.join(" ")).join(", ")}`;
  }

  facts(cell) {
    const value = this.values[cell];
    if (Number.isNaN(value)) return [["", "empty"]];
    if (this.iteration !== null) return [["objective", number(value)], ["", this.stillThere(cell) ? "still the elite" : "replaced later"]];
    const row = this.archive.cell.indexOf(cell);
    const { objective, robustness, measures, measure_names: names } = this.archive;
    const measured = measures[row].map((m, i) => [names[i], number(m, 2)]);
    return [["objective", number(objective[row])], ...(robustness ? [["robustness", number(robustness[row])]] : []), ...measured];
  }

  stillThere(cell) {
    const row = this.archive.cell.indexOf(cell);
    return row >= 0 && Math.fround(this.archive.objective[row]) === this.values[cell];
  }

  // --- history ----------------------------------------------------------------------------------------------------

  resetSlider() {
    const last = this.metrics?.iteration.at(-1) ?? 0;
    $("history").hidden = last < 1;
    Object.assign($("iteration"), { max: last, value: last });
    this.iteration = null;
    this.sayMoment();
  }

  async goTo(iteration) {
    if (!this.archive) return;
    const last = Number($("iteration").max);
    $("iteration").value = iteration;
    try {
      this.log ??= await this.source.history(this.id);
    } catch (error) {
      return this.complain(error);
    }
    this.iteration = iteration >= last ? null : iteration;
    this.paint();
    this.sayMoment();
  }

  sayMoment() {
    const { iteration, metrics } = this;
    if (iteration === null || !metrics) {
      $("moment").textContent = "now";
      return markEvaluations(null);
    }
    const i = metrics.iteration.findLastIndex((one) => one <= iteration);
    const evaluations = i < 0 ? 0 : metrics.evaluations[i] * (iteration / metrics.iteration[i]);
    $("moment").textContent = `${number(evaluations, 0)} evaluations`;
    markEvaluations(evaluations);
  }

  /** The archive as it was: every accepted insertion so far, the last one of a cell on top. */
  valuesAt(iteration) {
    const values = new Float32Array(this.archive.cells).fill(NaN);
    const { iteration: when, cell, objective } = this.log;
    for (let i = 0; i < when.length && when[i] <= iteration; i++) values[cell[i]] = objective[i];
    return values;
  }

  async grow() {
    const last = Number($("iteration").max);
    const turn = (this.growing = {});
    const began = performance.now();
    await this.goTo(0);
    const next = async () => {
      const share = (performance.now() - began) / 1000 / GROWTH;
      if (this.growing !== turn) return;
      await this.goTo(Math.min(Math.round(share * last), last));
      if (share < 1) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  }

  // --- the rest ---------------------------------------------------------------------------------------------------

  wire() {
    for (const button of $("colour").children) {
      button.addEventListener("click", () => {
        this.colour = button.dataset.colour;
        this.resetSlider();
        if (this.archive) this.paint();
      });
    }
    $("iteration").addEventListener("input", (event) => {
      this.growing = null;
      this.goTo(Number(event.target.value));
    });
    $("grow").addEventListener("click", () => this.grow());
    $("pin-current").addEventListener("click", () => this.stage.pinCurrent());
    $("show-help").addEventListener("click", () => $("help").showModal());
    if (!this.source.live) {
      $("damage-note").textContent = "This is a saved page. Damage, other seeds and other cells need the live explorer: gaits explore RUN";
      $("damage-panel").hidden = true;
      $("map-help").textContent = "Click a cell with a frame to watch its policy; Shift-click to add it beside the others.";
    }
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.scale && this.drawLegend()).observe($("legend"));
    onTheme(() => this.scale && this.drawLegend());
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
    if (document.hidden || !this.runs.some((run) => run.done < run.evaluations)) return;
    const before = this.runs;
    this.runs = this.named(await this.source.runs().catch(() => before));
    const changed = this.runs.filter((run, i) => run.version !== before[i].version);
    for (const run of changed) {
      this.archives.delete(run.id);
      this.strip.update(run);
      this.strip.refresh(run.id);
    }
    if (!changed.some((run) => run.task === this.run.task) || this.iteration !== null) return;
    await this.showCurves().catch(() => null);
    if (changed.some((run) => run.id === this.id)) await this.freshen();
  }

  async freshen() {
    const id = this.id;
    if (!this.archive) return this.showArchive(null);
    const archive = await this.archiveOf(id).catch(() => null);
    if (!archive || id !== this.id) return;
    Object.assign(this, { archive, log: null });
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
