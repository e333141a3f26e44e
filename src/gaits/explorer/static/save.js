// Files to take along: the map as a PNG, the elites as CSV, the robots as a GIF.

import { $, el, sharpen, themed } from "./dom.js";
import { encodeGif } from "./gif.js";
import { positionOf } from "./layout.js";

const GIF = { width: 320, height: 240, rate: 20, seconds: 6 };
const LEGEND = 46; // pixels below the map

/** The buttons; `explorer` tells what is shown, and complains. */
export function wireFiles(explorer) {
  const name = () => `${explorer.run.task}-${explorer.run.algorithm}-seed${explorer.run.seed}`.toLowerCase().replace(/[^a-z0-9._-]+/g, "_");
  const onclick = (id, act) =>
    $(id).addEventListener("click", async () => {
      try {
        await act();
      } catch (error) {
        explorer.complain(error);
      }
    });
  onclick("save-png", () => explorer.archive && savePng(name(), titleOf(explorer)));
  onclick("save-csv", () => explorer.archive && saveCsv(name(), explorer.archive));
  onclick("save-gif", async () => {
    const button = $("save-gif");
    button.disabled = true;
    const tell = (share) => (button.textContent = `GIF ${Math.round(100 * share)} %`);
    await saveGif(name(), explorer.stage, tell).finally(() => Object.assign(button, { disabled: false, textContent: "Save GIF" }));
  });
  onclick("details-copy", async () => {
    try {
      await navigator.clipboard.writeText($("details-command").textContent);
    } catch {
      throw new Error("This browser does not let the page copy. Mark the text instead, and copy that.");
    }
  });
}

function titleOf({ run, beside }) {
  return `${$("map-title").textContent}, ${run.short}${beside.run ? ` | ${beside.run.short}` : ""}`;
}

function save(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The maps that are shown, with a title and what their colours mean. */
function savePng(name, title) {
  const maps = [$("map"), $("second-map")].filter((map) => map.clientWidth);
  const [width, height] = [maps.reduce((sum, map) => sum + map.clientWidth, 0), maps[0].clientHeight];
  const canvas = document.createElement("canvas");
  const context = sharpen(canvas, width, height + LEGEND + 30);
  context.fillStyle = themed("panel");
  context.fillRect(0, 0, width, height + LEGEND + 30);
  context.fillStyle = themed("ink");
  context.font = "600 14px system-ui, sans-serif";
  context.fillText(title, 12, 20, width - 24);
  let left = 0;
  for (const map of maps) {
    context.drawImage(map, left, 30, map.clientWidth, height);
    left += map.clientWidth;
  }
  context.drawImage($("legend"), 46, height + 36, width - 60, 10);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = themed("muted");
  context.fillText($("legend-low").textContent, 46, height + 62);
  context.textAlign = "center";
  context.fillText($("legend-name").textContent, width / 2, height + 62);
  context.textAlign = "right";
  context.fillText($("legend-high").textContent, width - 14, height + 62);
  canvas.toBlob((blob) => save(`${name}.png`, blob));
}

/** One line per elite: its cell, measures, objective and robustness. */
function saveCsv(name, archive) {
  const { cell, dims, measures, measure_names: names, objective, robustness } = archive;
  const header = ["cell", ...(dims ?? []).map((_, i) => `index ${i}`), ...names, "objective", ...(robustness ? ["robustness"] : [])];
  const rows = cell.map((one, i) => [
    one,
    ...(dims ? positionOf(one, dims) : []),
    ...measures[i],
    objective[i],
    ...(robustness ? [robustness[i] ?? ""] : []),
  ]);
  // A spreadsheet would compute what begins like a formula, and a stranger's task can call its measures anything.
  const quoted = (value) => (typeof value === "string" ? `"${value.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"` : value);
  const text = [header, ...rows].map((row) => row.map(quoted).join(",")).join("\n");
  save(`${name}.csv`, new Blob([`${text}\n`], { type: "text/csv" }));
}

/** The lanes, from now on, in real time. */
async function saveGif(name, stage, onprogress) {
  const { width, height, rate, seconds } = GIF;
  const columns = Math.ceil(Math.sqrt(stage.lanes.length));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns * width, Math.ceil(stage.lanes.length / columns) * height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const start = stage.seconds < stage.span ? stage.seconds : 0;
  const count = Math.max(1, Math.round(Math.min(stage.span - start, seconds) * rate));
  const frame = async (i) => {
    for (const [k, lane] of stage.lanes.entries()) {
      context.save();
      context.translate((k % columns) * width, Math.floor(k / columns) * height);
      context.beginPath();
      context.rect(0, 0, width, height);
      context.clip();
      await lane.drawAt(context, start + i / rate, width, height);
      context.restore();
    }
    onprogress((i + 1) / count);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  };
  save(`${name}.gif`, await encodeGif(canvas.width, canvas.height, count, 100 / rate, frame));
}
