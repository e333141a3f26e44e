// An episode that its environment drew itself: pictures, decoded as they are needed.

import { themed } from "./dom.js";

const AHEAD = 12; // pictures that are decoded before their turn
const KEPT = 40;

export class Film {
  /** `onready()` when a picture that was wanted has been decoded. */
  constructor(episode, onready) {
    Object.assign(this, { episode, onready, length: episode.length, decoded: new Map(), last: null });
  }

  /** Draw the picture of a moment, or the one before it while that is being decoded. */
  draw(context, step, width, height) {
    const [{ stops }, wanted] = [this.episode, this.number(step)];
    for (let i = wanted; i <= Math.min(wanted + AHEAD, stops.length - 1); i++) this.decode(i, i === wanted);
    this.last = this.decoded.get(wanted)?.bitmap ?? this.last;
    context.fillStyle = themed("empty");
    context.fillRect(0, 0, width, height);
    if (!this.last) return;
    const share = Math.min(width / this.last.width, height / this.last.height);
    const [w, h] = [share * this.last.width, share * this.last.height];
    context.drawImage(this.last, (width - w) / 2, (height - h) / 2, w, h);
  }

  async decode(i, wanted) {
    if (this.decoded.has(i)) {
      this.decoded.get(i).wanted ||= wanted;
      return;
    }
    const { images, stops } = this.episode;
    const entry = { bitmap: null, wanted };
    this.decoded.set(i, entry);
    if (this.decoded.size > KEPT) this.decoded.delete(this.decoded.keys().next().value);
    entry.decoding = createImageBitmap(new Blob([images.subarray(i ? stops[i - 1] : 0, stops[i])]));
    entry.bitmap = await entry.decoding;
    if (entry.wanted) this.onready();
  }

  /** Wait until the picture of a moment can be drawn. */
  async prepare(step) {
    const wanted = this.number(step);
    this.decode(wanted, false);
    this.decoded.get(wanted).bitmap = await this.decoded.get(wanted).decoding;
  }

  /** Which picture shows a moment. */
  number(step) {
    return Math.min(Math.floor(step / this.episode.every), this.episode.stops.length - 1);
  }
}
