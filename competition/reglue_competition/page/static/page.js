"use strict";
// The page can be read without this. With it, what changes on the server changes here.
(function () {
  document.addEventListener("submit", function (event) {
    const words = event.submitter && event.submitter.dataset.confirm;
    if (words && !window.confirm(words)) event.preventDefault();
  });

  function find() {
    const field = document.querySelector("[data-find]");
    if (!field) return;
    field.parentElement.hidden = false;
    field.addEventListener("input", function () {
      const wanted = field.value.trim().toLowerCase();
      document.querySelectorAll(field.dataset.find).forEach(function (row) {
        row.hidden = !row.querySelector("th").textContent.toLowerCase().includes(wanted);
      });
    });
  }
  find();

  if (!window.EventSource) return;
  const LEAST_MS = 2000; // between two times that the page is drawn anew
  let drawn = Date.now(), planned = 0;

  function show(id, now) {
    document.querySelectorAll('[data-submission="' + CSS.escape(id) + '"]').forEach(function (line) {
      const status = line.querySelector("[data-status] .status");
      const words = line.querySelector("[data-progress]"), bar = line.querySelector("progress");
      if (status) {
        status.textContent = now.status;
        status.className = "status " + now.status;
      }
      if (words) words.textContent = now.progress;
      if (bar) {
        bar.hidden = now.status !== "playing";
        bar.max = now.planned || 1;
        bar.value = now.done;
      }
    });
  }

  async function drawAnew() {
    planned = 0;
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = document.getElementById("main"), other = fresh.getElementById("main");
    const isUsed = main.contains(document.activeElement) ||
      Array.from(main.querySelectorAll("textarea, video, input[type=search]")).some(function (each) {
        return each.value || each.paused === false;
      });
    if (!other || isUsed) return;
    const opened = Array.from(main.querySelectorAll("details"), function (each) { return each.open; });
    main.replaceChildren(...other.childNodes);
    find();
    main.querySelectorAll("details").forEach(function (each, place) { each.open = Boolean(opened[place]); });
    document.body.dataset.version = fresh.body.dataset.version;
    drawn = Date.now();
  }

  const live = new EventSource("/live");
  live.addEventListener("progress", function (event) {
    Object.entries(JSON.parse(event.data)).forEach(function (each) { show(each[0], each[1]); });
  });
  live.addEventListener("changed", function (event) {
    if (event.data === document.body.dataset.version) return;
    if (planned || document.querySelector("form.login")) return;
    // Not all readers at once.
    const wait = Math.max(0, drawn + LEAST_MS - Date.now()) + Math.random() * 1000;
    planned = window.setTimeout(function () { drawAnew().catch(function () {}); }, wait);
  });
})();
