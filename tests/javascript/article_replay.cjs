// Replays a recording of the Python reference in both of the article's implementations, bit by bit.
// Arguments: the world's name, a JSON Lines recording, a file of the float32 observations of all first states and steps
// in order. Prints what was compared; exits with 1 at the first difference.
"use strict";

const fs = require("node:fs");
const { load } = require("./load.cjs");
const Article = load();

/** The recording as streams, one a seed: its events, each with its observation. */
function streams(file, seen, width) {
  const found = [];
  let at = 0;
  for (const line of fs.readFileSync(file, "utf8").trim().split("\n")) {
    const event = JSON.parse(line);
    if (event.metadata || event.end) continue;
    const observation = seen.subarray(at, (at += width));
    if (event.first && event.first.episode === 0) found.push({ seed: BigInt(event.first.seed), events: [] });
    found.at(-1).events.push(event.first ? { ...event.first, first: true, observation } : { ...event, observation });
  }
  if (at !== seen.length) throw new Error(`${seen.length} elements of observations, ${at} of them used`);
  return found;
}

function same(what, expected, got) {
  const a = [expected].flat(),
    b = [got].flat();
  if (a.length !== b.length || a.some((value, i) => !Object.is(Number(value), Number(b[i])))) {
    console.error(`${what}: expected ${a}, got ${b}`);
    process.exit(1);
  }
}

function sameState(where, world, expected, state) {
  for (const field of Object.keys(world.fields)) same(`${where} ${field}`, expected[field], state[field]);
}

function replayScalar(world, { seed, events }) {
  const env = new Article.clock.Scalar(world.scalar);
  for (const event of events) {
    const where = `scalar, seed ${seed}, episode ${event.episode}, t ${event.t}`;
    const got = event.first
      ? { observation: env.reset(event.episode === 0 ? seed : undefined) }
      : env.step(event.action);
    same(`${where} episode`, event.episode, env.episode);
    sameState(where, world, event.state, env.state);
    same(`${where} observation`, [...event.observation], got.observation);
    if (!event.first)
      for (const name of ["reward", "terminated", "truncated"]) same(`${where} ${name}`, event[name], got[name]);
  }
}

/** All streams as the rows of one batch; `first` events are what the batch's own resets must give. */
function replayBatched(world, all) {
  const n = all.length,
    next = all.map(() => 1);
  const batch = new Article.clock.Batch(world.batched, n);
  const row = (column, items, i) => [...column.subarray(i * items, (i + 1) * items)];
  const state = (states, i) =>
    Object.fromEntries(Object.entries(world.fields).map(([f, k]) => [f, row(states[f], k, i)]));
  const check = (event, i, got, where) => {
    same(
      `${where} observation`,
      [...event.observation],
      row(event.first ? got.first : got.observation, world.seen, i),
    );
    sameState(where, world, event.state, state(event.first ? batch.state : got.state, i));
  };
  const first = batch.reset(all.map(({ seed }) => seed));
  all.forEach(({ seed, events }, i) => check(events[0], i, { first }, `batched, seed ${seed}, first`));
  for (;;) {
    const steps = all.map(({ events }, i) => events[next[i]]);
    if (steps.every((event) => event === undefined)) return;
    if (steps.some((event) => event === undefined || event.first)) throw new Error("streams of different lengths");
    const got = batch.step(Int32Array.from(steps, (event) => event.action));
    steps.forEach((event, i) => {
      const where = `batched, seed ${all[i].seed}, episode ${event.episode}, t ${event.t}`;
      check(event, i, got, where);
      for (const name of ["reward", "terminated", "truncated"]) same(`${where} ${name}`, event[name], got[name][i]);
      const after = all[i].events[++next[i]];
      if (!after || !after.first) return;
      same(`${where} next episode`, after.episode, batch.episode[i]);
      check(after, i, got, `${where} reset`);
      next[i]++;
    });
  }
}

const [name, recording, observations] = process.argv.slice(2);
const world = Article[name];
const bytes = fs.readFileSync(observations);
const seen = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const all = streams(recording, seen, world.seen);
for (const stream of all) replayScalar(world, stream);
replayBatched(world, all);
const events = all.flatMap((stream) => stream.events);
console.log(
  JSON.stringify({
    streams: all.length,
    steps: events.filter((event) => !event.first).length,
    episodes: events.filter((event) => event.first).length,
    terminated: events.filter((event) => event.terminated).length,
    truncated: events.filter((event) => event.truncated).length,
  }),
);
