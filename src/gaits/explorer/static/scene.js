// What is around a robot: sky, a ground of one-metre tiles that shows motion, marks in metres, shadows.

import { NEAR } from "./camera.js";
import { themed } from "./dom.js";

const REACH = 15;
const FONT = "600 px system-ui, sans-serif";

export function drawGround(context, camera, target, width, height) {
  const horizon = Math.min(Math.max(camera.horizon, -height), height);
  const sky = context.createLinearGradient(0, 0, 0, Math.max(horizon, 1));
  sky.addColorStop(0, themed("sky-top"));
  sky.addColorStop(1, themed("sky"));
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = themed("ground");
  context.fillRect(0, horizon, width, height - horizon);
  drawTiles(context, camera, target);
  // Distance hides the tiles: without it they flicker at the horizon.
  const haze = context.createLinearGradient(0, horizon, 0, horizon + 0.42 * (height - Math.min(horizon, height)) + 30);
  haze.addColorStop(0, themed("sky"));
  haze.addColorStop(1, themed("haze-end"));
  context.fillStyle = haze;
  context.fillRect(0, horizon - 1, width, height - horizon + 1);
}

function drawTiles(context, camera, [tx, ty]) {
  const [x0, y0] = [Math.floor(tx), Math.floor(ty)];
  context.fillStyle = themed("tile");
  context.beginPath();
  for (let x = x0 - REACH; x <= x0 + REACH; x++) {
    for (let y = y0 - REACH; y <= y0 + REACH; y++) {
      if ((x + y) & 1) continue;
      quad(context, camera, x, y, x + 1, y + 1);
    }
  }
  context.fill();
}

function quad(context, camera, x0, y0, x1, y1) {
  const corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]].map(([x, y]) => camera.project(x, y, 0));
  if (corners.some((corner) => corner[2] < NEAR)) return;
  corners.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

/** The start line, and metres along a line in front of the robot. */
export function drawMarks(context, camera, [tx, ty], width) {
  context.fillStyle = themed("start");
  context.beginPath();
  quad(context, camera, -0.03, ty - 2.5, 0.03, ty + 2.5);
  context.fill();
  const side = Math.abs(camera.yaw) < 1.57 ? -0.75 : 0.75;
  const spacing = camera.project(tx, ty + side, 0)[3];
  const every = spacing > 70 ? 1 : spacing > 35 ? 2 : 5;
  context.textAlign = "center";
  for (let x = Math.ceil((tx - 8) / every) * every; x <= tx + 8; x += every) {
    const [sx, sy, depth, scale] = camera.project(x, ty + side, 0);
    if (depth < NEAR || sx < -40 || sx > width + 40) continue;
    context.globalAlpha = Math.max(0, 1 - Math.abs(x - tx) / 8);
    context.fillStyle = themed("mark");
    context.fillRect(sx - 0.75, sy - 5, 1.5, 5);
    context.font = FONT.replace("px", `${Math.min(Math.max(scale * 0.085, 10), 14).toFixed(1)}px`);
    context.fillText(`${x} m`, sx, sy + 13);
  }
  context.globalAlpha = 1;
}

/** The robot's shadow straight below it: one shape, so that parts that overlap are not darker. */
export function drawShadow(context, camera, capsules, points) {
  context.fillStyle = themed("shadow");
  context.beginPath();
  capsules.forEach(({ radius }, i) => {
    const [ax, ay, , bx, by] = points.subarray(6 * i, 6 * i + 6);
    const along = Math.atan2(by - ay, bx - ax);
    for (let k = 0; k < 16; k++) {
      const angle = along + Math.PI / 2 + ((k - (k > 7)) * Math.PI) / 7; // half a circle around each end
      const [x, y] = k < 8 ? [ax, ay] : [bx, by];
      const [sx, sy, depth] = camera.project(x + radius * Math.cos(angle), y + radius * Math.sin(angle), 0);
      if (depth < NEAR) return;
      if (k) context.lineTo(sx, sy);
      else context.moveTo(sx, sy);
    }
    context.closePath();
  });
  context.fill();
}

/** Light on the ground under a foot that stands. */
export function drawFootprint(context, camera, x, y, radius) {
  const [sx, sy, depth, scale] = camera.project(x, y, 0);
  if (depth < NEAR) return;
  const size = radius * scale * 2.6;
  context.save();
  context.translate(sx, sy);
  context.scale(1, Math.max(Math.sin(camera.pitch), 0.12));
  const glow = context.createRadialGradient(0, 0, 0, 0, 0, size);
  glow.addColorStop(0, themed("contact-glow"));
  glow.addColorStop(1, themed("contact-none"));
  context.fillStyle = glow;
  context.beginPath();
  context.arc(0, 0, size, 0, 2 * Math.PI);
  context.fill();
  context.restore();
}
