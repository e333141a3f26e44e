// Where data come from: the server that shows this page, or the page itself when it was exported to one file.

const KEPT_EPISODES = 60;
const TYPES = { float32: Float32Array, int16: Int16Array, uint8: Uint8Array, uint32: Uint32Array };

/** The header and the arrays of a packed answer; the arrays are views into it. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, { type, shape, offset }] of Object.entries(header.arrays)) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = new TYPES[type](buffer, 4 + length + offset, count);
  }
  return { ...header, ...arrays };
}

/** Remember what was asked for, most recent last, and ask again for what failed. */
function remembering(limit, ask) {
  const known = new Map();
  return (key, ...rest) => {
    if (!known.has(key)) {
      known.set(key, ask(key, ...rest));
      known.get(key).catch(() => known.delete(key));
      if (known.size > limit) known.delete(known.keys().next().value);
    }
    return known.get(key);
  };
}

async function fetched(path, body) {
  const options = body && { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The explorer does not answer. Was it stopped? Start it again with: gaits explore RUN");
  }
  if (!response.ok) {
    const { error } = await response.json().catch(() => ({}));
    throw new Error(error ?? `The explorer answered with ${response.status}.`);
  }
  return response;
}

const json = async (path) => (await fetched(path)).json();
const binary = async (path, body) => unpack(await (await fetched(path, body)).arrayBuffer());

function liveSource() {
  const robots = remembering(100, (id) => json(`api/runs/${id}/robot`));
  const episodes = remembering(KEPT_EPISODES, (key, id, asked) => binary(`api/runs/${id}/episode`, asked));
  return {
    live: true,
    runs: () => json("api/runs"),
    metrics: (id) => json(`api/runs/${id}/metrics`),
    archive: (id) => json(`api/runs/${id}/archive`),
    history: (id) => binary(`api/runs/${id}/history`),
    robot: (id) => robots(id),
    episode: (run, asked) => episodes(JSON.stringify([run.id, run.version, asked]), run.id, asked),
    playable: () => null,
  };
}

function fileSource(data) {
  const decoded = (text) => unpack(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const of = (id) => data.runs.find((run) => run.about.id === id);
  const missing = (what) => Promise.reject(new Error(what));
  const episodes = remembering(KEPT_EPISODES, async (key, id, cell) => {
    const text = of(id).episodes[cell];
    return text ? decoded(text) : missing("This file does not have the policy of this cell; it has those with a frame.");
  });
  return {
    live: false,
    runs: async () => data.runs.map((run) => run.about),
    metrics: async (id) => of(id).metrics,
    archive: async (id) => of(id).archive,
    history: async (id) => (of(id).history ? decoded(of(id).history) : missing("This run has no history.")),
    robot: async (id) => of(id).robot,
    episode: (run, { cell }) => episodes(`${run.id}/${cell}`, run.id, cell),
    playable: (id) => new Set(Object.keys(of(id).episodes).map(Number)),
  };
}

export function makeSource() {
  const embedded = document.getElementById("data");
  return embedded ? fileSource(JSON.parse(embedded.textContent)) : liveSource();
}
