"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);
  const checks = [...document.querySelectorAll("#checks .check")];
  const q = $("#q"), area = $("#area"), level = $("#level");
  const outcomes = [...document.querySelectorAll("input[name=outcome]")];

  // filter shows the matching checks and their number.
  const filter = () => {
    const words = q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(outcomes.filter((o) => o.checked).map((o) => o.value));
    let shown = 0;
    for (const c of checks) {
      const d = c.dataset;
      const fits = wanted.has(d.outcome) && (!area.value || d.area === area.value) &&
        (!level.value || d.level === level.value) && words.every((w) => d.text.includes(w));
      c.hidden = !fits;
      if (fits) shown++;
    }
    $("#shown").textContent = shown + " of " + checks.length;
    $("#none").hidden = shown > 0 || checks.length === 0;
  };

  // reveal opens the check that a link points to, even if the filter hides it.
  const reveal = () => {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (target && target.classList.contains("check")) {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
    }
  };

  for (const control of [q, area, level, ...outcomes]) control.addEventListener("input", filter);
  $(".filter").addEventListener("submit", (e) => e.preventDefault());
  $("#open").addEventListener("click", () => checks.forEach((c) => { if (!c.hidden) c.open = true; }));
  $("#close").addEventListener("click", () => checks.forEach((c) => { c.open = false; }));
  for (const b of document.querySelectorAll("[data-pick-area]")) b.addEventListener("click", () => {
    area.value = b.dataset.pickArea;
    filter();
    $("#checks").scrollIntoView();
  });
  addEventListener("hashchange", reveal);
  // Printed pages cannot be expanded, so the details of clients and causes, and checks with findings, are opened first.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("#clients details, #causes details").forEach((d) => { d.open = true; });
    document.querySelectorAll(".check").forEach((c) => { if (c.querySelector(".finding")) c.open = true; });
  });
  filter();
  reveal();
})();
