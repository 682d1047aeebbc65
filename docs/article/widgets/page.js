// Starts the widgets and the switch between light and dark.
"use strict";

(function (A) {
  /** Calls back once an element comes near the screen, so that the page opens at once. */
  A.whenSeen = (element, then) => {
    const watcher = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        watcher.disconnect();
        then();
      },
      { rootMargin: "600px" },
    );
    watcher.observe(element);
  };

  function scheme() {
    const root = document.documentElement,
      toggle = document.querySelector("#scheme");
    const dark = () =>
      root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const show = () => {
      toggle.textContent = dark() ? "Light" : "Dark";
      toggle.setAttribute("aria-label", `Use ${dark() ? "light" : "dark"} colours`);
      for (const draw of A.redraw) draw();
    };
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      show();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    show();
  }

  for (const mount of A.mounts) mount();
  for (const element of document.querySelectorAll("[data-count]"))
    element.textContent = A.counts()[element.dataset.count];
  scheme();
})((globalThis.Article = globalThis.Article || {}));
