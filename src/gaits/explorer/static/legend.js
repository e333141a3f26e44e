// What the colours of the map mean, and what a cell holds.

import { $, clamp, digitsFor, el, number, sharpen } from "./dom.js";

/** `values` are those on the map: what lies beyond the scale has the colour of its end, and the end says so. */
export function drawLegend(name, { low, high, color }, values) {
  const context = sharpen($("legend"));
  const { clientWidth: width, clientHeight: height } = $("legend");
  for (let x = 0; x < width; x++) {
    context.fillStyle = `rgb(${color(low + ((high - low) * (x + 0.5)) / width)})`;
    context.fillRect(x, 0, 1, height);
  }
  $("legend-name").textContent = name;
  const [lowest, highest] = [Math.fround(low), Math.fround(high)]; // as the values are
  const [under, over] = [values.some((value) => value < lowest), values.some((value) => value > highest)];
  $("legend-low").textContent = `${under ? "≤ " : ""}${number(low, digitsFor(high - low))}`;
  $("legend-high").textContent = `${over ? "≥ " : ""}${number(high, digitsFor(high - low))}`;
}

/** Facts about a cell, as [name, value], beside its place on a map; and said to people who listen while they walk it. */
export function showTip(title, facts, [x, y], map) {
  const tip = $("tip");
  const lines = facts.map((fact) => fact.join(" "));
  map.parentElement.append(tip);
  tip.hidden = false;
  tip.replaceChildren(el("strong", {}, title), ...lines.map((line) => el("span", {}, line)));
  const half = tip.offsetWidth / 2;
  tip.style.left = `${clamp(x, half, map.clientWidth - half)}px`;
  tip.style.top = `${y}px`;
  tip.classList.toggle("below", y < tip.offsetHeight + 20);
  if (document.activeElement === map) $("told").textContent = `${title}: ${lines.join(", ")}`;
}
