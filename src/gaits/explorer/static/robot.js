// A robot as shaded capsules, from where its parts were after each step of an episode.

import { shade } from "./colors.js";
import { themed } from "./dom.js";
import { NEAR } from "./camera.js";
import { drawFootprint, drawGround, drawMarks, drawShadow } from "./scene.js";

const LIGHT = [-0.45, -0.89];
const FAR_SIDE = { depth: 0.12, shade: -0.3 };
const FOLLOW = 0.4; // seconds

/** An episode's ends of capsules, in metres in the world, at any moment between two steps. */
export class Motion {
  constructor(episode, robot) {
    this.episode = episode;
    this.n = 6 * robot.capsules.length;
    this.points = new Float32Array(this.n);
    this.length = episode.length;
    this.path = smooth(episode.root, Math.round(FOLLOW / episode.seconds_per_step));
    this.hidden = [];
    this.hidden = hiddenEnds(robot.capsules, this.at(0));
    this.extent = this.measure(robot);
  }

  /** Fill `points` with both ends of each capsule after `step` steps, which may be a fraction. */
  at(step) {
    const { root, ends, units_per_metre: units } = this.episode;
    const i = Math.min(Math.floor(step), this.length);
    const [j, t] = [Math.min(i + 1, this.length), step - i];
    for (let k = 0; k < this.n; k++) {
      const before = root[3 * i + (k % 3)] + ends[i * this.n + k] / units;
      const after = root[3 * j + (k % 3)] + ends[j * this.n + k] / units;
      this.points[k] = before + (after - before) * t;
    }
    for (const { end, other, share } of this.hidden) {
      for (const axis of [0, 1, 2]) this.points[end + axis] += share * (this.points[other + axis] - this.points[end + axis]);
    }
    return this.points;
  }

  /** Where the camera looks: along with the torso, without its shaking. */
  target(step) {
    const i = Math.min(Math.floor(step), this.length);
    const [j, t] = [Math.min(i + 1, this.length), step - i];
    return [0, 1].map((axis) => this.path[2 * i + axis] + (this.path[2 * j + axis] - this.path[2 * i + axis]) * t);
  }

  measure(robot) {
    const points = this.at(0);
    let [top, left, right] = [0, Infinity, -Infinity];
    robot.capsules.forEach(({ radius }, i) => {
      for (const k of [6 * i, 6 * i + 3]) {
        top = Math.max(top, points[k + 2] + radius);
        left = Math.min(left, points[k] - radius);
        right = Math.max(right, points[k] + radius);
      }
    });
    return { size: Math.max(top, right - left), top };
  }
}

/** Ends of capsules that are deep inside a ball, with the share to leave out: it would be drawn over the ball. */
function hiddenEnds(capsules, points) {
  const point = (k) => points.subarray(k, k + 3);
  const distance = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
  const found = [];
  capsules.forEach((ball, j) => {
    if (distance(point(6 * j), point(6 * j + 3)) > 1e-4) return;
    capsules.forEach(({ radius }, i) => {
      for (const [end, other] of [[6 * i, 6 * i + 3], [6 * i + 3, 6 * i]]) {
        const length = distance(point(end), point(other));
        const inside = ball.radius - distance(point(end), point(6 * j));
        if (i === j || radius >= ball.radius || inside <= radius || length === 0) continue;
        found.push({ end, other, share: Math.min(inside / length, 0.9) });
      }
    });
  });
  return found;
}

/** x and y of a path, averaged over the steps around each. */
function smooth(root, reach) {
  const n = root.length / 3;
  const sums = new Float64Array(2 * (n + 1));
  for (let i = 0; i < n; i++) for (const axis of [0, 1]) sums[2 * (i + 1) + axis] = sums[2 * i + axis] + root[3 * i + axis];
  const path = new Float32Array(2 * n);
  for (let i = 0; i < n; i++) {
    const around = Math.min(reach, i, n - 1 - i); // as much before as after, so that the ends are not pulled in
    for (const axis of [0, 1]) {
      path[2 * i + axis] = (sums[2 * (i + around + 1) + axis] - sums[2 * (i - around) + axis]) / (2 * around + 1);
    }
  }
  return path;
}

/** Draw one moment of an episode: the ground, the robot on it, and its feet lit where they touch. */
export function drawMoment(context, camera, motion, robot, step, color, width, height) {
  const points = motion.at(step);
  const [tx, ty] = motion.target(step);
  const target = [tx, ty, 0.5 * motion.extent.top];
  camera.aim(target, motion.extent.size, width, height);
  drawGround(context, camera, target, width, height);
  drawMarks(context, camera, target, width);
  drawShadow(context, camera, robot.capsules, points);
  const touching = contactsAt(motion.episode, robot, step);
  const parts = robot.capsules.map((capsule, i) => project(camera, capsule, points, i, robot.flat));
  for (const part of parts) {
    if (touching[part.foot]) drawFootprint(context, camera, part.x, part.y, part.radius);
  }
  parts.sort((a, b) => b.depth - a.depth || a.order - b.order);
  for (const part of parts) {
    if (part.near > NEAR) drawCapsule(context, part, touching[part.foot] ? themed("contact") : color, part.shade);
  }
}

/** Which feet stand at a moment: the flags of the step that led there. */
export function contactsAt(episode, robot, step) {
  const feet = robot.feet.length;
  const i = Math.min(Math.max(Math.ceil(step) - 1, 0), episode.length - 1);
  return episode.length ? episode.contacts.subarray(i * feet, (i + 1) * feet) : new Uint8Array(feet);
}

function project(camera, { radius, foot, name }, points, i, flat) {
  const [ax, ay, az, bx, by, bz] = points.subarray(6 * i, 6 * i + 6);
  const [a, b] = [camera.project(ax, ay, az), camera.project(bx, by, bz)];
  const aside = flat && name.includes("left") ? FAR_SIDE : { depth: 0, shade: 0 }; // flat robots have both legs in one plane
  const low = az < bz ? [ax, ay] : bz < az ? [bx, by] : [(ax + bx) / 2, (ay + by) / 2];
  return {
    a: [a[0], a[1], radius * a[3]],
    b: [b[0], b[1], radius * b[3]],
    depth: (a[2] + b[2]) / 2 + aside.depth,
    near: Math.min(a[2], b[2]),
    shade: aside.shade,
    order: i,
    foot,
    radius,
    x: low[0],
    y: low[1],
  };
}

/** A capsule in perspective: two circles and what is between, lit from the upper left. */
function drawCapsule(context, { a, b }, color, aside) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const length = Math.hypot(dx, dy);
  const [big, small] = a[2] >= b[2] ? [a, b] : [b, a];
  context.beginPath();
  if (length <= big[2] - small[2] + 0.01) {
    context.arc(big[0], big[1], big[2], 0, 2 * Math.PI);
  } else {
    const along = Math.atan2(dy, dx);
    const open = Math.acos((a[2] - b[2]) / length);
    context.arc(a[0], a[1], a[2], along + open, along - open + 2 * Math.PI);
    context.arc(b[0], b[1], b[2], along - open, along + open);
    context.closePath();
  }
  context.fillStyle = lit(context, a, b, length, big, color, aside);
  context.fill();
  context.strokeStyle = shade(color, -0.55 + aside / 2, 0.55);
  context.lineWidth = Math.max(1, big[2] * 0.05);
  context.stroke();
}

function lit(context, a, b, length, big, color, aside) {
  const [mx, my] = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  let gradient;
  if (length < big[2]) {
    const [x, y, r] = [big[0], big[1], big[2]];
    gradient = context.createRadialGradient(x + 0.4 * r * LIGHT[0], y + 0.45 * r * LIGHT[1], r * 0.08, x, y, r * 1.05);
  } else {
    let [nx, ny] = [-(b[1] - a[1]) / length, (b[0] - a[0]) / length];
    if (nx * LIGHT[0] + ny * LIGHT[1] < 0) [nx, ny] = [-nx, -ny];
    const r = (a[2] + b[2]) / 2;
    gradient = context.createLinearGradient(mx + nx * r, my + ny * r, mx - nx * r, my - ny * r);
  }
  const tone = (amount, alpha = 1) => shade(color, clampTone(amount + aside), alpha);
  gradient.addColorStop(0, tone(0.42));
  gradient.addColorStop(0.3, tone(0.16));
  gradient.addColorStop(0.62, tone(-0.06));
  gradient.addColorStop(1, tone(-0.36));
  return gradient;
}

const clampTone = (amount) => Math.max(-0.9, Math.min(0.9, amount));
