
"use strict";
(function () {
  const root = document.documentElement;
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  root.classList.add("js");
  all(".tools, .copy, #scheme").forEach((one) => { one.hidden = false; });

  // Light, dark, or as the system says. Kept where the browser lets a file keep something.
  const schemes = ["system", "light", "dark"];
  const button = document.getElementById("scheme");
  const keep = (value) => { try { localStorage.setItem("simulacrum-scheme", value); } catch (error) { /* not here */ } };
  const kept = () => { try { return localStorage.getItem("simulacrum-scheme"); } catch (error) { return null; } };
  const show = (scheme) => {
    if (scheme === "system") { delete root.dataset.scheme; } else { root.dataset.scheme = scheme; }
    button.textContent = "Scheme: " + scheme;
  };
  let scheme = schemes.includes(kept()) ? kept() : "system";
  show(scheme);
  button.addEventListener("click", () => {
    scheme = schemes[(schemes.indexOf(scheme) + 1) % schemes.length];
    show(scheme);
    keep(scheme);
  });

  // Checks by outcome, and all of them opened or closed.
  const checks = all(".check");
  const status = document.getElementById("filter-status");
  all(".filter").forEach((filter) => filter.addEventListener("click", () => {
    const outcome = filter.dataset.outcome;
    all(".filter").forEach((one) => one.setAttribute("aria-pressed", String(one === filter)));
    checks.forEach((check) => { check.hidden = outcome !== "all" && check.dataset.outcome !== outcome; });
    status.textContent = checks.filter((check) => !check.hidden).length + " checks shown";
  }));
  all(".open-all").forEach((one) => one.addEventListener("click", () => {
    const open = one.getAttribute("aria-pressed") !== "true";
    checks.forEach((check) => { check.open = open; });
    one.setAttribute("aria-pressed", String(open));
  }));

  // A command to the clipboard; by a selection where there is no clipboard to write to.
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch (error) { /* the old way */ }
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  all(".copy").forEach((one) => {
    const label = one.firstChild;
    one.addEventListener("click", async () => {
      label.textContent = (await copy(one.parentElement.querySelector("code").textContent)) ? "Copied" : "Select it by hand";
      one.focus();
      setTimeout(() => { label.textContent = "Copy"; }, 2000);
    });
  });

  // The moments of a finding, one at a time.
  all(".stepper").forEach((stepper) => {
    const moments = all(".moment", stepper);
    const buttons = all("[data-step]", stepper);
    let now = Number(stepper.dataset.first);
    const go = (place) => {
      now = Math.max(0, Math.min(moments.length - 1, place));
      moments.forEach((moment, number) => moment.classList.toggle("now", number === now));
      buttons.forEach((one) => one.setAttribute("aria-disabled", String(now === (one.dataset.step < 0 ? 0 : moments.length - 1))));
      stepper.querySelector(".place").textContent = (now + 1) + " of " + moments.length;
    };
    buttons.forEach((one) => one.addEventListener("click", () => go(now + Number(one.dataset.step))));
    stepper.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: moments.length - 1 }[event.key];
      if (to === undefined || event.altKey || event.ctrlKey || event.metaKey || event.target.closest(".scrolls")) { return; }
      event.preventDefault();
      go(to);
    });
    go(now);
  });
}());
