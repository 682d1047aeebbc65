// Bars for the measured speeds. The figures are in the page's table, which docs/article/figures.py writes.
"use strict";

(function (A) {
  const { el } = A.dom;
  const FLOOR = 1000; // steps per second; the bars' scale is logarithmic

  function mount() {
    for (const cell of document.querySelectorAll("#speed td[data-rate]")) {
      const most = Math.max(
        ...[...document.querySelectorAll("#speed td[data-rate]")].map((one) => Number(one.dataset.rate)),
      );
      const share = Math.log(Number(cell.dataset.rate) / FLOOR) / Math.log(most / FLOOR);
      const bar = el("i", { class: "rate", "aria-hidden": "true" });
      bar.style.width = `${Math.max(100 * share, 1)}%`;
      cell.append(bar);
    }
  }

  A.mounts.push(mount);
})((globalThis.Article = globalThis.Article || {}));
