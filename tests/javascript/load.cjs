// Loads the article's scripts under Node, in the order of index.html, but for those that need a page.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const ARTICLE = path.join(__dirname, "..", "..", "docs", "article");

/** The article's namespace, after its rules, figures and core scripts have run. */
function load() {
  const page = fs.readFileSync(path.join(ARTICLE, "index.html"), "utf8");
  const scripts = [...page.matchAll(/<script src="([^"]+)"/g)].map((match) => match[1]);
  for (const script of scripts.filter((name) => !name.startsWith("widgets/"))) {
    const file = path.join(ARTICLE, script);
    vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file });
  }
  return globalThis.Article;
}

module.exports = { load, ARTICLE };
