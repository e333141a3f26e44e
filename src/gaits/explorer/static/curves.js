// QD score, coverage and best objective over evaluations: the run that is looked at, and the others of its task behind it.

import { runColor } from "./colors.js";
import { $, digitsFor, el, number, percent, svg } from "./dom.js";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format;
const CHARTS = [
  { name: "qd_score", title: "QD score", text: (value) => number(value, 0), end: compact },
  { name: "coverage", title: "Coverage", text: (value) => percent(value, 1), end: (value) => percent(value, digitsFor(100 * value)) },
  { name: "objective_max", title: "Best", text: (value) => number(value, 0), end: compact },
];
const SIZE = { width: 300, height: 100, pad: 3 };

/** Draw `series`, a list of { run, metrics }, with the current run on top. */
export function drawCurves(series, current) {
  const ordered = [...series].sort((a, b) => (a.run.id === current) - (b.run.id === current));
  const last = Math.max(1, ...series.map(({ metrics }) => metrics.evaluations.at(-1) ?? 0));
  $("curves").replaceChildren(...CHARTS.map((chart) => drawChart(chart, ordered, current, last)));
}

/** Mark how far the archive on the map had come. */
export function markEvaluations(evaluations) {
  for (const line of document.querySelectorAll("#curves .moment")) {
    line.classList.toggle("off", evaluations === null);
    const [x] = place((evaluations ?? 0) / Number(line.dataset.last), 0);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
  }
}

const place = (u, v) => [u * SIZE.width, SIZE.pad + (1 - v) * (SIZE.height - 2 * SIZE.pad)];

function drawChart(chart, series, current, last) {
  const values = series.flatMap(({ metrics }) => metrics[chart.name].filter((value) => value !== null));
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const height = (value) => (value - low) / (high - low || 1);
  const curve = ({ metrics, run }) => {
    const values = metrics[chart.name];
    const known = metrics.evaluations.map((x, i) => [x / last, values[i]]).filter(([, value]) => value !== null);
    const points = known.map(([u, value]) => place(u, height(value)).map((c) => c.toFixed(1)).join(" "));
    const line = svg("path", { class: "curve", d: points.length ? `M${points.join("L")}h0` : "" }); // h0: one point is a dot
    line.classList.toggle("current", run.id === current);
    line.classList.toggle("alone", points.length === 1);
    line.style.stroke = runColor(run.id);
    return line;
  };
  const base = place(0, height(0))[1];
  const moment = svg("line", { class: "moment off", y1: 0, y2: SIZE.height, "data-last": last });
  const told = summary(chart, series, current);
  const viewBox = `0 0 ${SIZE.width} ${SIZE.height}`;
  const picture = svg(
    "svg",
    { viewBox, preserveAspectRatio: "none", role: "img", "aria-label": `${chart.title} ${told}` },
    svg("line", { class: "axis", x1: 0, x2: SIZE.width, y1: base, y2: base }),
    ...series.map(curve),
    moment,
  );
  const caption = el("figcaption", {}, el("strong", {}, chart.title), el("span", { className: "value" }, told));
  watch(picture, caption.lastChild, chart, series, last, told);
  const up = el("div", { className: "scale up" }, el("span", {}, chart.end(high)), el("span", {}, chart.end(low)));
  const along = el("div", { className: "scale along" }, el("span", {}, "0"), el("span", {}, number(last, 0)));
  return el("figure", {}, caption, el("div", { className: "plot" }, up, picture, along));
}

function summary(chart, series, current) {
  const own = series.find(({ run }) => run.id === current);
  return chart.text(own?.metrics[chart.name].at(-1));
}

/** The numbers of all runs under the pointer, best first. */
function watch(picture, output, chart, series, last, otherwise) {
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const evaluations = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * last;
    const known = series
      .map(({ run, metrics }) => ({ run, value: before(metrics, chart.name, evaluations) }))
      .filter(({ value }) => value !== null);
    known.sort((a, b) => b.value - a.value);
    const named = ({ run, value }) => (series.length > 1 ? `${chart.text(value)} (${run.short})` : chart.text(value));
    output.textContent = `${known.slice(0, 2).map(named).join(", ")} at ${number(evaluations, 0)}`;
  });
  picture.addEventListener("pointerleave", () => (output.textContent = otherwise));
}

function before(metrics, name, evaluations) {
  let found = null;
  for (let i = 0; i < metrics.evaluations.length && metrics.evaluations[i] <= evaluations; i++) found = metrics[name][i];
  return found;
}
