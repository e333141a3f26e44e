// QD score, coverage and best objective over what they cost: the run that is looked at, and the others of its task behind it.

import { runColor } from "./colors.js";
import { $, digitsFor, el, number, percent, svg } from "./dom.js";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format;
const CHARTS = [
  { name: "qd_score", title: "QD score", text: (value) => number(value, 0), end: compact },
  { name: "coverage", title: "Coverage", text: (value) => percent(value, 1), end: (value) => percent(value, digitsFor(100 * value)) },
  { name: "objective_max", title: "Best", text: (value) => number(value, 0), end: compact },
];
const whole = (value) => number(value, 0);
const AXES = {
  evaluations: { of: (metrics) => metrics.evaluations, text: whole },
  steps: { of: (metrics) => metrics.steps, text: whole },
  hours: {
    of: (metrics) => metrics.seconds?.map((one) => one && one / 3600),
    text: (value, last) => `${number(value, digitsFor(last / 10))} h`,
  },
};
const SIZE = { width: 300, height: 100, pad: 3 };

export class Curves {
  constructor() {
    Object.assign(this, { series: [], current: null, iteration: null });
    $("curves-over").addEventListener("change", () => this.redraw());
  }

  /** Draw `series`, a list of { run, metrics }, with the current run on top. */
  draw(series, current) {
    this.series = [...series].sort((a, b) => (a.run.id === current) - (b.run.id === current));
    this.current = current;
    for (const option of $("curves-over").options) option.disabled = !this.knows(AXES[option.value]);
    if ($("curves-over").selectedOptions[0].disabled) $("curves-over").value = "evaluations";
    this.redraw();
  }

  /** Whether all runs say what they had spent; older ones did not count their steps. */
  knows(axis) {
    return this.series.every(({ metrics }) => !metrics.evaluations.length || axis.of(metrics)?.every((one) => one !== null));
  }

  redraw() {
    const axis = AXES[$("curves-over").value];
    const series = this.series.map((one) => ({ ...one, spent: axis.of(one.metrics) ?? [] }));
    const last = Math.max(0, ...series.map(({ spent }) => spent.at(-1) ?? 0)) || 1;
    const along = { last, text: (value) => axis.text(value, last) };
    this.own = series.find(({ run }) => run.id === this.current);
    this.last = last;
    $("curves").replaceChildren(...CHARTS.map((chart) => drawChart(chart, series, this.own, along)));
    this.mark(this.iteration);
  }

  /** Mark how far the archive on the map had come: after an iteration, or at the end (null), which needs no mark. */
  mark(iteration) {
    this.iteration = iteration;
    const spent = iteration === null || !this.own ? 0 : spentBy(iteration, this.own.metrics, this.own.spent);
    const [x] = place(spent / this.last, 0);
    for (const line of document.querySelectorAll("#curves .moment")) {
      line.classList.toggle("off", iteration === null);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
  }
}

/** What had been spent by an iteration, also between those that the metrics tell of. */
export function spentBy(iteration, metrics, spent) {
  const next = metrics.iteration.findIndex((one) => one >= iteration);
  if (next < 0) return spent.at(-1) ?? 0;
  const [before, had] = next ? [metrics.iteration[next - 1], spent[next - 1]] : [0, 0];
  return had + ((spent[next] - had) * (iteration - before)) / (metrics.iteration[next] - before);
}

const place = (u, v) => [u * SIZE.width, SIZE.pad + (1 - v) * (SIZE.height - 2 * SIZE.pad)];

function drawChart(chart, series, own, along) {
  const values = series.flatMap(({ metrics }) => metrics[chart.name].filter((value) => value !== null));
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const height = (value) => (value - low) / (high - low || 1);
  const curve = ({ metrics, run, spent }) => {
    const values = metrics[chart.name];
    const known = spent.map((x, i) => [x / along.last, values[i]]).filter(([, value]) => value !== null);
    const points = known.map(([u, value]) => place(u, height(value)).map((c) => c.toFixed(1)).join(" "));
    const line = svg("path", { class: "curve", d: points.length ? `M${points.join("L")}h0` : "" }); // h0: one point is a dot
    line.classList.toggle("current", run.id === own?.run.id);
    line.classList.toggle("alone", points.length === 1);
    line.style.stroke = runColor(run.id);
    return line;
  };
  const base = place(0, height(0))[1];
  const moment = svg("line", { class: "moment off", y1: 0, y2: SIZE.height });
  const told = summary(chart, own);
  const viewBox = `0 0 ${SIZE.width} ${SIZE.height}`;
  const picture = svg(
    "svg",
    { viewBox, preserveAspectRatio: "none", role: "img", "aria-label": `${chart.title} ${told}` },
    svg("line", { class: "axis", x1: 0, x2: SIZE.width, y1: base, y2: base }),
    ...series.map(curve),
    moment,
  );
  const caption = el("figcaption", {}, el("strong", {}, chart.title), el("span", { className: "value" }, told));
  watch(picture, caption.lastChild, chart, series, along, told);
  const up = el("div", { className: "scale up" }, el("span", {}, chart.end(high)), el("span", {}, chart.end(low)));
  const ends = el("div", { className: "scale along" }, el("span", {}, "0"), el("span", {}, along.text(along.last)));
  return el("figure", {}, caption, el("div", { className: "plot" }, up, picture, ends));
}

/** What the run came to: first without luck, where that is known. Curves are of what was recorded. */
function summary(chart, own) {
  const recorded = chart.text(own?.metrics[chart.name].at(-1));
  const corrected = own?.run.corrected;
  return corrected ? `${chart.text(corrected[chart.name])} corrected, ${recorded} recorded` : recorded;
}

/** The numbers of all runs under the pointer, best first. */
function watch(picture, output, chart, series, along, otherwise) {
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const x = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * along.last;
    const known = series
      .map(({ run, metrics, spent }) => ({ run, value: before(spent, metrics[chart.name], x) }))
      .filter(({ value }) => value !== null);
    known.sort((a, b) => b.value - a.value);
    const named = ({ run, value }) => (series.length > 1 ? `${chart.text(value)} (${run.short})` : chart.text(value));
    output.textContent = `${known.slice(0, 2).map(named).join(", ")} at ${along.text(x)}`;
  });
  picture.addEventListener("pointerleave", () => (output.textContent = otherwise));
}

function before(spent, values, x) {
  let found = null;
  for (let i = 0; i < spent.length && spent[i] <= x; i++) found = values[i];
  return found;
}
