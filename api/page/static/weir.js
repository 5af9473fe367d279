// Loads the page again every two seconds, and replaces only what changed: scroll position, focus and
// open details stay. While text is selected nothing is replaced.
"use strict";
(() => {
  const every = 2000, limit = 10000;
  const live = document.getElementById("live"), pause = document.getElementById("pause");
  if (!live) return;
  let paused = false, timer = 0, loading = false;

  const selecting = () => {
    const s = document.getSelection();
    return s && !s.isCollapsed && document.getElementById("main").contains(s.anchorNode);
  };

  // morph makes the node is equal to the node want, in place.
  const morph = (is, want) => {
    if (is.nodeType !== want.nodeType || is.nodeName !== want.nodeName || is.id !== want.id) {
      is.replaceWith(want);
      return;
    }
    if (is.nodeType !== Node.ELEMENT_NODE) {
      if (is.nodeValue !== want.nodeValue) is.nodeValue = want.nodeValue;
      return;
    }
    if (is.hasAttribute("data-live") || is.nodeName === "INPUT") return;
    for (const a of [...is.attributes]) {
      if (!want.hasAttribute(a.name) && a.name !== "open") is.removeAttribute(a.name);
    }
    for (const a of want.attributes) {
      if (is.getAttribute(a.name) !== a.value) is.setAttribute(a.name, a.value);
    }
    const wanted = [...want.childNodes];
    while (is.childNodes.length > wanted.length) is.lastChild.remove();
    wanted.forEach((w, i) => (i < is.childNodes.length ? morph(is.childNodes[i], w) : is.append(w)));
  };

  const update = async () => {
    const res = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(limit) });
    if (!res.ok) throw new Error(`the answer is ${res.status}`);
    const next = new DOMParser().parseFromString(await res.text(), "text/html");
    if (paused || selecting()) return;
    for (const id of ["header", "main"]) morph(document.getElementById(id), next.getElementById(id));
    document.title = next.title;
  };

  const show = (text, bad) => {
    if (live.textContent !== text) live.textContent = text;
    live.className = bad ? "bad" : "";
  };

  const tick = async () => {
    clearTimeout(timer);
    if (loading || paused) return;
    loading = true;
    try {
      if (selecting()) show("held while text is selected");
      else if (!document.hidden) {
        await update();
        show("every 2 s");
      }
    } catch {
      show("no answer, trying again", true);
    }
    loading = false;
    if (!paused) timer = setTimeout(tick, every);
  };

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Resume" : "Pause";
    clearTimeout(timer);
    if (paused) show("paused");
    else tick();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) tick();
  });
  document.getElementById("reload").hidden = true;
  pause.hidden = false;
  show("every 2 s");
  timer = setTimeout(tick, every);
})();
