// A camera that looks at a point: from world coordinates (x forward, y left, z up, metres) to the canvas.

import { clamp } from "./dom.js";

const FIELD_OF_VIEW = (32 * Math.PI) / 180;
export const NEAR = 0.25;

const VIEWS = {
  side: { yaw: 0, pitch: 0.11 },
  free: { yaw: 0.42, pitch: 0.33 },
};

export class Camera {
  constructor(flat) {
    this.home = flat ? VIEWS.side : VIEWS.free;
    this.reset();
  }

  reset() {
    Object.assign(this, this.home);
  }

  turn(dx, dy) {
    this.yaw -= dx;
    this.pitch = clamp(this.pitch + dy, 0.03, 1.4);
  }

  /** Look at `target` so that `extent` metres fill about half of a canvas of this size. */
  aim(target, extent, width, height) {
    const tangent = Math.tan(FIELD_OF_VIEW / 2);
    const distance = ((extent * 1.65) / (2 * tangent)) * Math.max(1, (0.8 * height) / width);
    const [cy, sy, cp, sp] = [Math.cos(this.yaw), Math.sin(this.yaw), Math.cos(this.pitch), Math.sin(this.pitch)];
    this.forward = [-sy * cp, cy * cp, -sp];
    this.right = [cy, sy, 0];
    this.up = [-sy * sp, cy * sp, cp];
    this.eye = target.map((value, i) => value - distance * this.forward[i]);
    this.focal = height / 2 / tangent;
    [this.cx, this.cy, this.distance] = [width / 2, height * 0.54, distance];
    this.horizon = this.cy - this.focal * Math.tan(this.pitch);
  }

  /** [x, y, depth, pixels per metre there]; depth below NEAR is behind the camera. */
  project(x, y, z) {
    const [dx, dy, dz] = [x - this.eye[0], y - this.eye[1], z - this.eye[2]];
    const depth = dx * this.forward[0] + dy * this.forward[1] + dz * this.forward[2];
    const scale = this.focal / Math.max(depth, 1e-3);
    const right = dx * this.right[0] + dy * this.right[1];
    const up = dx * this.up[0] + dy * this.up[1] + dz * this.up[2];
    return [this.cx + right * scale, this.cy - up * scale, depth, scale];
  }
}
