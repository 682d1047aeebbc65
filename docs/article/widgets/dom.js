// Small helpers for building pages: elements, labelled controls, time slices.
"use strict";

(function (A) {
  const SVG = "http://www.w3.org/2000/svg";
  let ids = 0;

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const button = (text, onclick, more) => el("button", { type: "button", onclick, ...more }, text);

  /** A label above a control. */
  function field(text, control) {
    control.id = control.id || `field-${++ids}`;
    return el("div", { class: "field" }, el("label", { for: control.id }, text), control);
  }

  function input(value, oninput, more) {
    const control = el("input", {
      type: "text",
      inputmode: "numeric",
      autocomplete: "off",
      spellcheck: "false",
      oninput,
      ...more,
    });
    control.value = value;
    return control;
  }

  function select(options, onchange) {
    return el(
      "select",
      { onchange },
      options.map(([value, text]) => el("option", { value }, text)),
    );
  }

  /** The place of a widget in the page, emptied of its note for readers without JavaScript. */
  function place(id) {
    const found = document.querySelector(`#${id} .live`);
    found.replaceChildren();
    return found;
  }

  const pause = () => new Promise((done) => setTimeout(done));

  /** Runs a generator in slices of some milliseconds, so that the page stays alive; `stopped()` ends it early. */
  async function slices(work, { onvalue = () => {}, stopped = () => false } = {}) {
    for (let began = performance.now(); ;) {
      const { value, done } = work.next();
      if (done) return value;
      onvalue(value);
      if (performance.now() - began > 24) {
        await pause();
        if (stopped()) return undefined;
        began = performance.now();
      }
    }
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  /** A line that says what is wrong with what was typed into controls. `judge(control, good, expected)` marks one as
   * good or not and tells it; `whole(control, low, high)` is a whole number of a range, or null where none was typed. */
  function judgement() {
    const line = el("p", { class: "error", role: "alert", id: `error-${++ids}` });
    const wrong = new Map();

    function judge(control, good, expected) {
      control.setAttribute("aria-invalid", String(!good));
      if (good) control.removeAttribute("aria-describedby");
      else control.setAttribute("aria-describedby", line.id);
      wrong.delete(control);
      if (!good) wrong.set(control, `${control.labels[0].textContent}: expected ${expected}, got ${typed(control)}.`);
      const told = [...wrong.values()].join(" ");
      if (line.textContent !== told) line.textContent = told;
      return good;
    }

    function whole(control, low, high) {
      const text = control.value.trim();
      const good = /^\d{1,20}$/.test(text) && BigInt(text) >= BigInt(low) && BigInt(text) <= BigInt(high);
      return judge(control, good, `a whole number from ${low} to ${high}`) ? BigInt(text) : null;
    }

    return { line, judge, whole };
  }

  const typed = (control) => (control.value.trim() ? `"${control.value.trim()}"` : "nothing");

  A.dom = { el, svg, button, field, input, select, place, slices, still, color, count, judgement };
  A.redraw = []; // what draws on a canvas, and draws again when the colours change
})((globalThis.Article = globalThis.Article || {}));
