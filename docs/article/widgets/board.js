// A state of forager on a canvas, with the palette of envs/forager/render.py in style.css. North is at the top.
"use strict";

(function (A) {
  const { GRID, N_BERRIES, START_ENERGY } = A.rules.forager.constants;
  const { color } = A.dom;

  function paint(context, left, top, side, state) {
    const cell = side / GRID;
    const gap = Math.max(cell * 0.05, 0.5);
    context.fillStyle = color("cell");
    for (let i = 0; i < GRID * GRID; i++) {
      const [x, y] = [i % GRID, Math.floor(i / GRID)];
      context.fillRect(left + x * cell + gap, top + y * cell + gap, cell - 2 * gap, cell - 2 * gap);
    }
    const at = (x, y) => [left + (x + 0.5) * cell, top + (GRID - 0.5 - y) * cell];
    square(context, ...at(state.x, state.y), cell * 0.78, color("agent"));
    for (let i = 0; i < N_BERRIES; i++) {
      if (state.berry_live[i]) berry(context, ...at(state.berry_x[i], state.berry_y[i]), cell, state.berry_kind[i]);
    }
  }

  function square(context, x, y, side, fill) {
    context.fillStyle = fill;
    context.beginPath();
    context.roundRect(x - side / 2, y - side / 2, side, side, side * 0.18);
    context.fill();
  }

  /** The better the kind, the larger the berry, so that it does not take colour to tell them apart. */
  function berry(context, x, y, cell, kind) {
    context.beginPath();
    context.arc(x, y, cell * (0.15 + 0.07 * kind), 0, 2 * Math.PI);
    context.fillStyle = color(`berry-${kind}`);
    context.fill();
    context.lineWidth = Math.max(cell * 0.03, 0.5);
    context.strokeStyle = color("paper");
    context.stroke();
  }

  /** A canvas of a size in CSS pixels, sharp on dense screens. */
  function prepare(canvas, width, height) {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  const share = (energy) => Math.min(Math.max(energy / START_ENERGY, 0), 1);

  A.board = { paint, prepare, share };
})((globalThis.Article = globalThis.Article || {}));
