// Every fault of the article against every check of its battery: JSON {fault: {check: step or null}} on stdout, the
// environment without a fault as "none".
"use strict";

const { load } = require("./load.cjs");
const { checks, faults, cost } = load();

const found = {};
for (const fault of [{ id: "none" }, ...faults.all]) {
  found[fault.id] = {};
  for (const check of checks) {
    const { finding, steps } = cost.drain(check.run(fault));
    if (!finding && !(steps > 0)) throw new Error(`${check.id} looked at nothing`);
    found[fault.id][check.id] = finding ? finding.step : null;
  }
}
console.log(JSON.stringify(found));
