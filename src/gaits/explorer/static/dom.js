// Small helpers: elements, numbers in words, sharp canvases, and the theme's colours for drawing.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties, `on...` listeners, `data-`/`aria-` attributes and children; text is never read as HTML. */
export function el(tag, properties = {}, ...children) {
  return dress(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function dress(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const $ = (id) => document.getElementById(id);

/** 1,234 or 12.3: as many digits as matter. */
export function number(value, digits) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const places = digits ?? (Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
  const text = value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  return /^-[0.]+$/.test(text) ? text.slice(1) : text; // no minus zero
}

/** Digits that tell numbers apart which are so far from each other. */
export const digitsFor = (width) => clamp(Math.ceil(1 - Math.log10(width || 10)), 0, 6);

export const percent = (value, digits = 0) => (Number.isFinite(value) ? `${number(100 * value, digits)} %` : "–");

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Give a canvas as many pixels as the screen has where it is shown, and return its context, to be used in CSS pixels. */
export function sharpen(canvas, width = canvas.clientWidth, height = canvas.clientHeight) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d");
  context.setTransform(w / Math.max(1, width), 0, 0, h / Math.max(1, height), 0, 0);
  return context;
}

let palette = {};
const probe = document.createElement("span");

/** A colour of the style sheet (`--name`) as `rgb(...)`, for canvases; read once per theme. */
export function themed(name) {
  if (!(name in palette)) {
    if (!probe.isConnected) document.head.append(probe);
    probe.style.color = `var(--${name})`;
    palette[name] = getComputedStyle(probe).color;
  }
  return palette[name];
}

/** Call back now and whenever the colours change. */
export function onTheme(callback) {
  themeListeners.push(callback);
}

const themeListeners = [];

function themeChanged() {
  palette = {};
  for (const callback of themeListeners) callback();
}

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
systemDark.addEventListener("change", themeChanged);

export const isDark = () => (document.documentElement.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";

/** The button that switches between light and dark; without a choice the system's is followed. */
export function initTheme(button) {
  const label = () => button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  const stored = remember("theme");
  if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remember("theme", document.documentElement.dataset.theme);
    themeChanged();
    label();
  });
  systemDark.addEventListener("change", label);
  label();
}

/** What this browser remembers; files opened from disk may not be allowed to. */
export function remember(key, value) {
  try {
    if (value === undefined) return window.localStorage.getItem(`gaits-${key}`);
    window.localStorage.setItem(`gaits-${key}`, value);
  } catch {
    // then not
  }
  return null;
}
