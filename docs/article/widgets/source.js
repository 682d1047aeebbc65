// Source text, as it runs, with quiet colours.
"use strict";

(function (A) {
  const { el } = A.dom;
  const TOKEN = /(\/\/[^\n]*)|\b(const|let|for|if|return|while|of|in|else)\b|(\b\d[\w.]*)/g;

  /** A function's text with its indentation taken away. */
  function dedent(text) {
    const lines = text.split("\n");
    const last = /^ */.exec(lines.at(-1))[0].length;
    return lines.map((line, i) => (i ? line.slice(Math.min(last, /^ */.exec(line)[0].length)) : line)).join("\n");
  }

  function tokens(text) {
    const parts = [];
    let at = 0;
    for (const match of text.matchAll(TOKEN)) {
      parts.push(text.slice(at, match.index));
      parts.push(el("span", { class: match[1] ? "comment" : match[2] ? "word" : "number" }, match[0]));
      at = match.index + match[0].length;
    }
    parts.push(text.slice(at));
    return parts;
  }

  /** A scrollable block of source that the keyboard reaches. */
  function block(label, text) {
    return el("pre", { tabindex: "0", role: "region", "aria-label": label }, el("code", {}, ...tokens(dedent(text))));
  }

  A.source = { block, dedent };
})((globalThis.Article = globalThis.Article || {}));
