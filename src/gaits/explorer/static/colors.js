// Colours of values, of runs and of robots.

import { isDark } from "./dom.js";

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** By day viridis, as in the figures. By night its low end would be as dark as what is empty, so it begins brighter. */
const SEQUENTIAL = {
  day: [
    "#440154", "#481f70", "#443983", "#3b528b", "#31688e", "#287c8e", "#21918c",
    "#20a486", "#35b779", "#5ec962", "#90d743", "#c8e020", "#fde725",
  ].map(rgb),
  night: [
    "#8e5bc9", "#7f6fd0", "#6e82d0", "#5f94cb", "#52a5c3", "#48b4b7", "#46c2a6",
    "#55ce90", "#72d97a", "#97e266", "#bfe95a", "#e4ee58", "#fdf36a",
  ].map(rgb),
};
const DIVERGING = [
  "#9c1f2e", "#d4553f", "#f0924f", "#f9cf7a", "#faf0a8", "#c3e3c4", "#7dbbcf", "#4584b8", "#2b4a94",
].map(rgb);

/** Runs, as bars on cards and as curves, and lanes, as dots and robots, share no colour; none is the contact's. */
const RUN_COLORS = [
  "#2f7fc1", "#c23b3b", "#3f9b57", "#7c8794", "#6b3f3f", "#1f4e79", "#e08d7f", "#4f6b2c", "#6bb3e0", "#4a4f57",
];
const LANE_COLORS = ["#e89b1f", "#7484f0", "#e05f88", "#9aa838", "#ab70da", "#c0835a"];

export const runColor = (id) => RUN_COLORS[id % RUN_COLORS.length];
export const laneColor = (slot) => LANE_COLORS[slot % LANE_COLORS.length];
export const LANES = LANE_COLORS.length;

function between(colors, share) {
  const place = Math.min(Math.max(share, 0), 1) * (colors.length - 1);
  const i = Math.min(Math.floor(place), colors.length - 2);
  return colors[i].map((c, k) => Math.round(c + (colors[i + 1][k] - c) * (place - i)));
}

/** From values to [r, g, b]: `objective` grows from dark to bright, `robustness` leaves zero pale. */
export function makeScale(kind, low, high) {
  if (kind === "robustness") {
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return { low: -reach, high: reach, color: (value) => between(DIVERGING, (value / reach + 1) / 2) };
  }
  const width = high - low || 1;
  const colors = SEQUENTIAL[isDark() ? "night" : "day"];
  return { low, high, color: (value) => between(colors, (value - low) / width) };
}

/** A colour (#rrggbb or rgb(r, g, b)) made lighter (amount > 0) or darker (amount < 0). */
export function shade(color, amount, alpha = 1) {
  const target = amount > 0 ? 255 : 0;
  const channels = color.startsWith("#") ? rgb(color) : color.match(/[\d.]+/g).slice(0, 3).map(Number);
  const [r, g, b] = channels.map((c) => Math.round(c + (target - c) * Math.abs(amount)));
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}
