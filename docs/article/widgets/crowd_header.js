// The picture under the title: one batch of forager, every row on its own, walked by the scripted policy.
"use strict";

(function (A) {
  const { still, button } = A.dom;
  const { paint, prepare } = A.board;
  const ROWS = 24;
  const FRAME = 420; // milliseconds

  function mount() {
    const holder = document.querySelector("#hero");
    const canvas = holder.querySelector("canvas");
    const batch = new A.clock.Batch(A.forager.batched, ROWS);
    batch.reset(Array.from({ length: ROWS }, (_, row) => BigInt(row)));
    let timer = null;

    function draw() {
      const width = canvas.clientWidth;
      const across = width < 520 ? 6 : width < 800 ? 8 : 12;
      const down = ROWS / across;
      const gap = Math.round(width * (across === 12 ? 0.014 : 0.022));
      const side = (width - gap * (across - 1)) / across;
      canvas.style.height = `${down * side + (down - 1) * gap}px`;
      const context = prepare(canvas, width, down * side + (down - 1) * gap);
      for (let row = 0; row < ROWS; row++) {
        const state = A.policies.rowOf(A.forager, batch.state, row);
        paint(context, (row % across) * (side + gap), Math.floor(row / across) * (side + gap), side, state);
      }
    }

    function run(on) {
      clearInterval(timer);
      timer = on ? setInterval(() => (batch.step(A.cost.greedy(batch)), draw()), FRAME) : null;
      toggle.textContent = on ? "Pause" : "Let them walk";
    }

    const toggle = button("", () => run(timer === null), { class: "quiet" });
    holder.querySelector("figcaption").append(" ", toggle);
    for (let step = 0; step < 9; step++) batch.step(A.cost.greedy(batch));
    A.redraw.push(draw);
    window.addEventListener("resize", draw);
    draw();
    run(!still());
  }

  A.mounts = [mount];
})((globalThis.Article = globalThis.Article || {}));
