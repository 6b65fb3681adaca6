"use strict";
// The pages work without this script, except for what changes without a reload: it replaces the parts of a page that have data-live, shows
// new requests, and handles keys.
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const net = $(".net");
  const say = text => { net.textContent = text; net.hidden = !text; };
  for (const e of document.querySelectorAll(".js")) e.hidden = false;
  for (const here of document.querySelectorAll("nav [aria-current]")) // a navigation scrolls on narrow screens
    here.parentElement.scrollLeft = here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;

  // Keys.
  let prefix = "", prefixAt = 0;
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, dialog[open]")) return;
    const after = prefix === "g" && Date.now() - prefixAt < 1500;
    prefix = "";
    const link = after && $(`nav.main a[data-key="${CSS.escape(e.key)}"]`);
    if (link) location.href = link.href;
    else if (e.key === "g") { prefix = "g"; prefixAt = Date.now(); return; }
    else if (e.key === "/") { const field = $("input[type=search]"); if (!field) return; field.focus(); field.select(); }
    else if (e.key === "?") $("#keys").showModal();
    else if (e.key === "p" && $("#follow")) $("#follow").click();
    else return;
    e.preventDefault();
  });
  $("#keys").addEventListener("click", e => { if (e.target === e.currentTarget) e.currentTarget.close(); });
  document.addEventListener("click", async e => {
    const id = e.target.dataset && e.target.dataset.copy;
    if (!id) return;
    try { await navigator.clipboard.writeText(document.getElementById(id).textContent); e.target.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(document.getElementById(id)); e.target.textContent = "Selected: press Ctrl-C"; }
  });
  // Fields that depend on the value of a selection: data-for has the name of the selection and the value.
  for (const choice of document.querySelectorAll("select[data-switch]")) {
    const show = () => { for (const e of document.querySelectorAll(`[data-for^="${choice.name} "]`)) e.hidden = e.dataset.for !== `${choice.name} ${choice.value}`; };
    choice.addEventListener("change", show);
    show();
  }
  // A form is sent once, also after a double click.
  document.addEventListener("submit", e => {
    if (e.defaultPrevented || e.target.method !== "post") return;
    if (e.target.dataset.sent) { e.preventDefault(); return; }
    e.target.dataset.sent = "1";
    setTimeout(() => { const b = e.submitter || $("button:not([type=button])", e.target); if (b) b.setAttribute("aria-busy", "true"); });
  });
  addEventListener("pageshow", () => { for (const f of document.forms) delete f.dataset.sent; });

  // Parts that change. The interval grows while the server does not respond, and while nothing changes.
  const parts = document.querySelectorAll("[data-live]");
  const fastest = 2000, slowest = 60000;
  let wait = fastest, failures = 0, timer = 0, loading = false;
  const schedule = () => { clearTimeout(timer); if (!document.hidden) timer = setTimeout(refresh, wait); };
  async function refresh() {
    if (loading) return;
    loading = true;
    try {
      const response = await fetch(location.href, { headers: { "X-Fragment": "content" }, redirect: "error", signal: AbortSignal.timeout(20000) });
      if (response.status === 401) { say("The login has ended. Load the page again to log in."); return; }
      if (!response.ok) throw new Error(response.status);
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      let changed = false;
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.getElementById(part.id);
        if (other && $("[data-reload]", other) && !$("[data-reload]", part)) { location.reload(); return; }
        if (other && replace(part, other)) changed = true;
      }
      failures = 0; say("");
      wait = changed ? fastest : Math.min(wait * 1.25, 15000);
    } catch {
      failures++;
      wait = Math.min(fastest * 2 ** failures, slowest);
      say(`The server does not respond. The page shows the last known state; next attempt in ${Math.round(wait / 1000)} s.`);
    } finally { loading = false; }
    schedule();
  }
  // Times are relative, and not a change.
  const essence = e => e.innerHTML.replace(/(<time[^>]*>)[^<]*/g, "$1");
  function replace(part, other) {
    const focus = document.activeElement;
    if (part.contains(focus) && focus.matches("input, select, textarea, button") || $("details[open]", part) || part.contains(getSelection().anchorNode) && String(getSelection())) return false;
    const same = essence(part) === essence(other);
    const known = new Map([...part.querySelectorAll("tr[id], li[id]")].map(e => [e.id, essence(e)]));
    const link = part.contains(focus) && focus.href, scrolled = part.querySelectorAll(".scroll");
    const at = [...scrolled].map(e => e.scrollLeft);
    part.innerHTML = other.innerHTML;
    part.querySelectorAll(".scroll").forEach((e, i) => { e.scrollLeft = at[i] || 0; });
    if (link) { const again = [...part.querySelectorAll("a")].find(a => a.href === link); if (again) again.focus({ preventScroll: true }); }
    if (!same) for (const e of part.querySelectorAll("tr[id], li[id]")) if (known.get(e.id) !== essence(e)) e.classList.add("changed");
    return !same;
  }
  if (parts.length) {
    schedule();
    document.addEventListener("visibilitychange", () => { wait = fastest; schedule(); });
  }

  // Requests as they are sent.
  const live = $("#live");
  if (!live || new URLSearchParams(location.search).has("before")) { if ($("#follow")) $("#follow").hidden = true; return; }
  const most = 200, button = $("#follow"), state = $("#live-state"), body = $("tbody", live);
  let source = null, following = true, held = [], last = live.dataset.last, attempt = 0, retry = 0;
  const show = html => {
    const holder = document.createElement("tbody");
    holder.innerHTML = html;
    const row = holder.firstElementChild;
    if (!row || document.getElementById(row.id)) return;
    row.classList.add("new");
    body.prepend(row);
    while (body.rows.length > most) body.lastElementChild.remove();
    const empty = $("#no-rows");
    if (empty) empty.remove();
  };
  const tell = text => { state.textContent = text; };
  const close = () => { if (source) source.close(); source = null; clearTimeout(retry); };
  function open() {
    close();
    source = new EventSource(live.dataset.stream + (live.dataset.stream.endsWith("?") ? "" : "&") + "after=" + encodeURIComponent(last));
    source.onopen = () => { attempt = 0; say(""); tell(following ? "live" : `paused, ${held.length} new`); };
    source.addEventListener("row", e => {
      last = e.lastEventId;
      const html = JSON.parse(e.data);
      if (following) show(html);
      else { if (held.length < most) held.push(html); tell(`paused, ${held.length}${held.length === most ? " or more" : ""} new`); }
    });
    source.addEventListener("missed", () => tell("live; there were too many requests to show all"));
    source.onerror = () => { // the browser would reconnect every few seconds indefinitely
      close();
      attempt++;
      const delay = attempt === 1 ? 500 : Math.min(1000 * 2 ** attempt, slowest);
      if (attempt > 1) { say(`The connection to the server is lost; next attempt in ${Math.round(delay / 1000)} s.`); tell("not connected"); }
      retry = setTimeout(open, delay);
    };
  }
  button.addEventListener("click", () => {
    following = !following;
    button.textContent = following ? "Pause" : "Follow";
    if (following) { held.forEach(show); held = []; tell("live"); } else tell("paused");
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  open();
})();
