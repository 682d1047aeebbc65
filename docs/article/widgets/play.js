// forager, played by hand.
"use strict";

(function (A) {
  const { el, button, field, input, place, judgement, count } = A.dom;
  const { constants, slots } = A.rules.forager;
  const NAMES = ["north", "east", "south", "west"];
  const ARROWS = ["↑", "→", "↓", "←"];
  const KEYS = {
    ArrowUp: 0,
    ArrowRight: 1,
    ArrowDown: 2,
    ArrowLeft: 3,
    w: 0,
    d: 1,
    s: 2,
    a: 3,
    W: 0,
    D: 1,
    S: 2,
    A: 3,
  };
  const SEEN = ["x", "y", "energy", "berries", "time"];

  function mount() {
    const env = new A.clock.Scalar(A.forager.scalar);
    let total = 0,
      over = "",
      last = "";
    const canvas = el("canvas", { class: "board", role: "img" });
    const stage = el(
      "div",
      {
        class: "stage",
        tabindex: "0",
        role: "group",
        "aria-label": "The field. Arrow keys or W, A, S, D move.",
        onkeydown: key,
      },
      canvas,
    );
    const says = el("p", { class: "says", role: "status" });
    const bars = ["energy", "steps"].map((name) =>
      el("div", { class: `bar ${name}` }, el("span", {}), el("i", {}, el("b", {}))),
    );
    const { line, whole } = judgement();
    const seed = input("7", () => begin(true), { size: "20" });
    const seen = el("output", { class: "vector" });
    const numbers = el("dl", { class: "numbers" });
    const pad = el(
      "div",
      { class: "pad" },
      NAMES.map((name, action) =>
        button(ARROWS[action], () => act(action), { class: name, "aria-label": `Go ${name}` }),
      ),
    );

    function begin(anew) {
      const given = whole(seed, 0, 2n ** 64n - 1n);
      if (anew && given === null) return; // the game goes on, and the line below the seed says why
      env.reset(anew ? given : undefined);
      [total, over, last] = [0, "", `Episode ${env.episode} of seed ${env.seed} begins.`];
      show();
    }

    function key(event) {
      if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act(KEYS[event.key]);
    }

    function act(action) {
      if (over) return begin(false);
      const before = env.state;
      const slipped = new A.rng.Draw(env.key, before.t).bernoulli(slots.SLIP, constants.SLIP_P);
      const got = env.step(action);
      total += got.reward;
      over = ending(got);
      last = told(action, slipped, before, env.state);
      show();
    }

    function ending({ state, terminated, truncated }) {
      if (terminated)
        return state.berry_live.includes(1)
          ? "Your energy is spent: terminated."
          : "All berries collected: terminated.";
      return truncated ? "The step cap: truncated." : "";
    }

    function told(action, slipped, before, after) {
      const found = before.berry_live.filter((live, i) => live && !after.berry_live[i]).length;
      const turn = slipped
        ? `You go ${NAMES[action]}, and slip to the ${NAMES[(action + 1) % 4]}.`
        : `You go ${NAMES[action]}.`;
      const stay = before.x === after.x && before.y === after.y ? " The edge holds you." : "";
      return turn + stay + (found ? ` You find ${count(found, "berry").replace("berrys", "berries")}.` : "");
    }

    function show() {
      const { state } = env;
      const left = state.berry_live.filter((one) => one).length;
      const where = `You stand in column ${state.x}, row ${state.y}.`;
      canvas.setAttribute("aria-label", `${where} ${berries(state)}`);
      says.replaceChildren(
        last,
        " ",
        over && el("strong", {}, over),
        over ? " Any move begins the next episode." : "",
      );
      bar(bars[0], "Energy", A.board.share(state.energy), state.energy.toFixed(3));
      bar(bars[1], "Step", state.t / constants.MAX_STEPS, `${state.t} of ${constants.MAX_STEPS}`);
      numbers.replaceChildren(
        ...[
          ["episode", env.episode],
          ["berries left", left],
          ["return", total.toFixed(2)],
        ].map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))),
      );
      seen.replaceChildren(
        ...env.world.observation(state).map((value, i) => el("span", {}, el("small", {}, SEEN[i]), value.toFixed(3))),
      );
      draw();
    }

    function bar(element, name, share, text) {
      element.querySelector("span").textContent = `${name} ${text}`;
      element.querySelector("b").style.width = `${100 * share}%`;
    }

    function draw() {
      const side = canvas.clientWidth;
      A.board.paint(A.board.prepare(canvas, side, side), 0, 0, side, env.state);
    }

    place("play").append(
      el(
        "div",
        { class: "split" },
        stage,
        el(
          "div",
          { class: "side" },
          el("div", { class: "hand" }, pad, el("div", {}, ...bars, numbers)),
          says,
          el(
            "div",
            { class: "row" },
            button("Let the scripted policy move", () => act(A.policies.greedyNearest(env.state))),
            button("Next episode", () => begin(false)),
            button("Start over", () => begin(true)),
          ),
          field("Seed", seed),
          line,
          el("div", {}, el("h3", {}, "What an agent sees of it"), seen),
        ),
      ),
    );
    A.redraw.push(draw);
    window.addEventListener("resize", draw);
    begin(true);
  }

  function berries(state) {
    const kinds = ["small", "middling", "large"];
    const left = state.berry_x.map(
      (x, i) => state.berry_live[i] && `a ${kinds[state.berry_kind[i]]} one in column ${x}, row ${state.berry_y[i]}`,
    );
    return left.some(Boolean) ? `Berries: ${left.filter(Boolean).join("; ")}.` : "No berries are left.";
  }

  A.mounts.push(mount);
})((globalThis.Article = globalThis.Article || {}));
