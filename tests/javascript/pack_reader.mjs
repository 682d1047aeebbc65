// Reads an export pack with nothing but Node, checks it, and prints a summary as JSON: node pack_reader.mjs FOLDER
//
// The flat files are read as a consumer would that cannot nest; the canonical trajectories are read beside them, and
// every number that both hold must have the same bits.

import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";

const folder = realpathSync(process.argv[2]);
const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
need(manifest.kind === "simulacrum pack", "kind", manifest.kind);
need(manifest.format === 1, "format", manifest.format);
const schema = JSON.parse(bytesOf(manifest.schema));
need(Object.keys(schema.$defs.state.properties).length === manifest.fields.length, "fields", manifest.fields);

const entries = manifest.entries.map((entry) => {
  const flat = JSON.parse(bytesOf(entry.flat));
  checkColumns(flat, entry);
  checkTrajectory(flat, JSON.parse(bytesOf(entry.trajectory)));
  return { name: entry.name, columns: entry.columns && bytesOf(entry.columns).length, ...summary(flat) };
});
console.log(JSON.stringify({ ...pick(manifest, ["id", "configuration", "agents"]), entries }));

function need(holds, what, got) {
  if (!holds) throw new Error(`${what}: got ${JSON.stringify(got)}`);
}

function pick(object, names) {
  return Object.fromEntries(names.map((name) => [name, object[name]]));
}

/** The bytes of a file that the manifest describes: inside the pack, of that size and digest. */
function bytesOf({ file, size, sha256 }) {
  const place = realpathSync(join(folder, file));
  need(place.startsWith(folder + sep), "a path inside the pack", file);
  const bytes = readFileSync(place);
  need(bytes.length === size, `size of ${file}`, bytes.length);
  need(createHash("sha256").update(bytes).digest("hex") === sha256, `digest of ${file}`, sha256);
  return bytes;
}

/** Every column of the manifest is there, typed, and as long as what it is over. */
function checkColumns(flat, entry) {
  need(flat.format === 1, "format", flat.format);
  for (const name of ["id", "configuration", "agents"]) need(flat[name] === manifest[name], name, flat[name]);
  const said = ["source", "seed", "instance", "episodes", "steps", "cut_off"];
  for (const name of said) need(flat[name] === entry[name], name, flat[name]);
  need(flat.rows === flat.steps + flat.episodes, "rows", flat.rows);
  need(String(flat.skipped) === String(manifest.skipped.map(({ name }) => name)), "skipped", flat.skipped);
  manifest.columns.forEach(({ name, dtype, over, json }, index) => {
    need(flat.names[index] === name && flat.dtypes[index] === dtype && flat.over[index] === over, "column", name);
    need(flat[name].length === flat[over], `length of ${name}`, flat[name].length);
    for (const item of flat[name]) need(typeof item === json && fits(item, dtype), `${name} of ${dtype}`, item);
  });
  for (const { name } of manifest.skipped) need(!(name in flat), "skipped", name);
}

/** Whether a value is one of a dtype; texts are integers of up to 64 bits. */
function fits(item, dtype) {
  if (dtype === "bool") return typeof item === "boolean";
  if (dtype === "float64") return Number.isFinite(item);
  if (dtype === "float32") return Object.is(Math.fround(item), item);
  const [, unsigned, bits] = dtype.match(/^(u?)int(\d+)$/);
  if (typeof item === "number" && !Number.isSafeInteger(item) && Math.abs(item) !== 2 ** 53) return false;
  const whole = BigInt(item);
  return whole === (unsigned ? BigInt.asUintN(Number(bits), whole) : BigInt.asIntN(Number(bits), whole));
}

/** A flat file holds what the trajectory does: states, actions, rewards, returns and ends, bit by bit. */
function checkTrajectory(flat, { metadata, episodes }) {
  need(metadata.format === 1 && metadata.id === manifest.id, "metadata", metadata);
  need(String(metadata.seed) === flat.seed, "seed", metadata.seed);
  need(episodes.length === flat.episodes, "episodes", episodes.length);
  const ends = [];
  let row = 0;
  let index = 0;
  episodes.forEach((episode, number) => {
    need(flat.episode_first_row[number] === row, "episode_first_row", number);
    need(flat.episode_first_step[number] === index, "episode_first_step", number);
    need(flat.episode_steps[number] === episode.steps.length, "episode_steps", number);
    need(flat.episode_seed[number] === String(episode.seed), "episode_seed", number);
    need(flat.episode_number[number] === episode.episode, "episode_number", number);
    checkState(flat, row++, episode.state);
    let sumOfFlat = 0;
    let sumOfCanonical = 0;
    for (const step of episode.steps) {
      sumOfFlat += flat.reward[index];
      sumOfCanonical += joint(step.reward);
      for (const sum of [sumOfFlat, sumOfCanonical]) same(flat.cumulative_return[index], sum, "cumulative_return", index);
      same(flat.reward[index], joint(step.reward), "reward", index);
      for (const name of ["t", "terminated", "truncated"]) same(flat[name][index], step[name], name, index);
      for (const name of ["action", "reward", "died"]) checkParts(flat, name, step[name], index);
      if (step.terminated || step.truncated) ends.push(index);
      checkState(flat, row++, step.state);
      index++;
    }
  });
  need(String(ends) === String(flat.terminal_steps), "terminal_steps", ends);
}

function checkState(flat, row, state) {
  for (const { name, shape } of manifest.fields) {
    if (shape.length === 0) same(flat[`state_${name}`][row], state[name], `state_${name}`, row);
  }
}

/** What a step has one of, or one a component: where flat files have columns for it. */
function checkParts(flat, name, value, index) {
  if (!Array.isArray(value)) {
    if (name === "action") same(flat[name][index], value, name, index);
    return;
  }
  value.forEach((part, number) => {
    if (`${name}_${number}` in flat) same(flat[`${name}_${number}`][index], part, `${name}_${number}`, index);
  });
}

/** The reward of a step: the sum over agents, rounded after each addition as the environment does. */
function joint(reward) {
  const rounded = manifest.reward.dtype === "float32" ? Math.fround : (value) => value;
  return Array.isArray(reward) ? reward.reduce((sum, one) => rounded(sum + one)) : reward;
}

/** Equal, to the sign of a zero; a text in a flat file is an integer, which the trajectory may hold as a number. */
function same(inFlat, inTrajectory, name, index) {
  const equal = typeof inFlat === "string" ? BigInt(inFlat) === BigInt(inTrajectory) : Object.is(inFlat, inTrajectory);
  need(equal, `${name} ${index}: expected ${inTrajectory}`, inFlat);
}

/** What the Python side compares: counts, seeds, ends, and the bits of each episode's return. */
function summary(flat) {
  const returns = flat.episode_first_step.map((first, number) => {
    const steps = flat.episode_steps[number];
    return bitsOf(steps ? flat.cumulative_return[first + steps - 1] : 0);
  });
  return { ...pick(flat, ["rows", "steps", "episodes", "episode_seed", "terminal_steps", "skipped"]), returns };
}

function bitsOf(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  return view.getBigUint64(0).toString(16).padStart(16, "0");
}
