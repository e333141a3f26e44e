// Where policies are played: one or several side by side, on one clock.

import { laneColor, LANES } from "./colors.js";
import { $, clamp, number, onTheme } from "./dom.js";
import { Lane } from "./lane.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const SECONDS_PER_STEP = 1 / 60; // before any episode is there
const PAUSE_AT_END = 0.8;

export class Stage {
  /** `damageOf(run)` tells what is wrong with the robot, `naming(run, cell, asked)` how a lane is called, `meanOf(run, cell)` its mean. */
  constructor(source, { damageOf, naming, meanOf, onlanes }) {
    Object.assign(this, { source, damageOf, naming, meanOf, onlanes, lanes: [], seconds: 0, speed: 1, seed: null, waited: 0 });
    this.playing = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.frame = null;
    this.wire();
    onTheme(() => this.lanes.forEach((lane) => lane.redraw()));
  }

  // --- lanes ------------------------------------------------------------------------------------------------------

  /** Play a cell: in the place of the lane that is not pinned, or beside the others. It may be asked of the one policy that takes measures. */
  async show(run, cell, add = false, asked = false) {
    performance.mark("gaits-asked");
    let lane = this.unpinned;
    if (lane && add) lane.setPinned(true);
    if (lane && !add && !lane.pinned) this.remove(lane, true);
    if (this.lanes.length >= LANES) this.remove(this.lanes[0], true);
    lane = this.add(run, cell, asked);
    this.restart();
    await this.play(lane);
    return lane;
  }

  add(run, cell, asked) {
    const taken = new Set(this.lanes.map((lane) => lane.color));
    const color = [...Array(LANES).keys()].map(laneColor).find((one) => !taken.has(one));
    const lane = new Lane({ run, cell, asked, color }, {
      onclose: (one) => this.remove(one),
      onpin: (one) => this.pin(one),
      onscrub: (seconds) => this.scrub(seconds),
      onchange: () => this.request(),
    });
    lane.name(...this.naming(run, cell, asked));
    this.lanes.push(lane);
    $("lanes").append(lane.element);
    this.lanesChanged();
    return lane;
  }

  remove(lane, quietly = false) {
    this.lanes = this.lanes.filter((one) => one !== lane);
    lane.element.remove();
    if (!quietly) this.lanesChanged();
  }

  /** There is nothing to show in the place that is not pinned. */
  removeUnpinned() {
    if (this.unpinned) this.remove(this.unpinned);
  }

  get unpinned() {
    return this.lanes.find((one) => !one.pinned);
  }

  pin(lane) {
    lane.setPinned(!lane.pinned);
    this.lanesChanged();
  }

  pinCurrent() {
    const lane = this.unpinned ?? this.lanes.at(-1);
    if (lane) this.pin(lane);
  }

  lanesChanged() {
    $("lanes").dataset.count = this.lanes.length;
    $("stage-empty").hidden = this.lanes.length > 0;
    $("transport").hidden = this.lanes.length === 0;
    for (const lane of this.lanes) lane.close.hidden = this.lanes.length === 1;
    this.onlanes(this.lanes);
    this.lanes.forEach((lane) => lane.redraw());
  }

  /** Ask for the lane's episode and show it; an answer that was overtaken by a newer question is dropped. */
  async play(lane) {
    const turn = (lane.turn = (lane.turn ?? 0) + 1);
    const waiting = setTimeout(() => lane.say("Playing the episode …"), 150);
    try {
      const { run, cell, asked } = lane;
      const wanted = { cell, asked, seed: this.seed, damage: this.damageOf(run) };
      const mean = asked ? null : this.meanOf(run, cell);
      const answers = await Promise.all([this.source.episode(run, wanted), this.source.robot(run.id), mean]);
      if (turn !== lane.turn) return;
      lane.load(...answers);
      this.request();
    } catch (error) {
      if (turn === lane.turn) lane.say(error.message);
    } finally {
      clearTimeout(waiting);
    }
  }

  /** Play all lanes again, after the seed or the damage changed. */
  async replay() {
    this.restart();
    await Promise.all(this.lanes.map((lane) => this.play(lane)));
  }

  // --- the clock --------------------------------------------------------------------------------------------------

  /** Seconds that the longest episode takes. */
  get span() {
    return Math.max(this.rate, ...this.lanes.map((lane) => lane.seconds));
  }

  /** Seconds of the shortest step: what the slider and the keys move by. */
  get rate() {
    const rates = this.lanes.filter((lane) => lane.motion).map((lane) => lane.episode.seconds_per_step);
    return rates.length ? Math.min(...rates) : SECONDS_PER_STEP;
  }

  restart() {
    [this.seconds, this.waited] = [0, 0];
    this.request();
  }

  scrub(seconds) {
    this.seconds = clamp(seconds, 0, this.span);
    this.waited = 0;
    this.request();
  }

  /** Pause, and go some steps on or back. */
  nudge(steps) {
    this.setPlaying(false);
    this.scrub((Math.round(this.seconds / this.rate) + steps) * this.rate);
  }

  setPlaying(playing) {
    this.playing = playing;
    if (playing && this.seconds >= this.span) this.restart();
    $("play").setAttribute("aria-label", playing ? "Pause" : "Play");
    $("play").classList.toggle("on", playing);
    this.request();
  }

  setSpeed(speed) {
    this.speed = speed;
    $("speed").value = speed;
  }

  faster(by) {
    this.setSpeed(SPEEDS[clamp(SPEEDS.indexOf(this.speed) + by, 0, SPEEDS.length - 1)]);
  }

  /** Draw before the screen is next refreshed. */
  request() {
    this.frame ??= requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.frame = null;
    const elapsed = Math.min((now - (this.last ?? now)) / 1000, 0.1);
    this.last = now;
    const loaded = this.lanes.some((lane) => lane.motion);
    if (this.playing && loaded) this.advance(elapsed * this.speed);
    for (const lane of this.lanes) {
      if (!lane.draw(this.seconds, this.span) || lane.seen) continue;
      lane.seen = true;
      performance.measure("gaits-first-frame", "gaits-asked"); // for benchmarks/explorer.py
    }
    this.showTime();
    if (this.playing && loaded) this.request();
    else this.last = undefined;
  }

  advance(seconds) {
    if (this.seconds >= this.span) {
      this.waited += seconds;
      if (this.waited > PAUSE_AT_END) this.restart();
    } else {
      this.seconds = Math.min(this.seconds + seconds, this.span);
    }
  }

  showTime() {
    const { rate, span, seconds } = this;
    const [scrub, steps] = [$("scrub"), Math.round(span / rate)];
    const told = `${number(seconds, 1)} s of ${number(span, 1)} s`;
    if (scrub.max !== String(steps)) scrub.max = steps;
    scrub.value = seconds / rate;
    scrub.setAttribute("aria-valuetext", told);
    $("time").textContent = told.replace(" s of ", " / ");
  }

  // --- controls ---------------------------------------------------------------------------------------------------

  wire() {
    for (const speed of SPEEDS) $("speed").append(new Option(`${speed}×`, speed));
    this.setSpeed(1);
    this.setPlaying(this.playing);
    $("play").addEventListener("click", () => this.setPlaying(!this.playing));
    $("restart").addEventListener("click", () => this.restart());
    $("scrub").addEventListener("input", (event) => this.scrub(Number(event.target.value) * this.rate));
    $("speed").addEventListener("change", (event) => this.setSpeed(Number(event.target.value)));
    $("seed").disabled = $("new-seed").disabled = !this.source.live;
    $("seed").addEventListener("change", ({ target: { value } }) => {
      this.setSeed(value === "" ? null : Math.round(Number(value)));
    });
    $("new-seed").addEventListener("click", () => this.newSeed());
    $("recorded-seed").addEventListener("click", () => this.setSeed(null));
  }

  newSeed() {
    if (this.source.live) this.setSeed(Math.floor(Math.random() * 1e6));
  }

  /** Where episodes start; null for each as the archive recorded it. */
  setSeed(seed) {
    this.seed = seed === null ? null : clamp(Number.isFinite(seed) ? seed : 1, 0, Number.MAX_SAFE_INTEGER);
    $("seed").value = this.seed ?? "";
    $("recorded-seed").hidden = this.seed === null;
    this.replay();
  }
}
