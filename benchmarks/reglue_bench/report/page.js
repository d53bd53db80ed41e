"use strict";
// Figures are JSON in the page; each is drawn when it is first seen. Where it cannot be drawn,
// the sentence in its place stays.
(async function () {
  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  const phone = window.matchMedia("(max-width: 600px)");

  async function loadPlotly() {
    const packed = atob(document.getElementById("plotly-gzip").textContent);
    const bytes = Uint8Array.from(packed, function (letter) { return letter.charCodeAt(0); });
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text(); // the page's policy checks its hash
    document.head.append(script);
  }

  // Labels beside the rows would take half of a phone: there they stand above the rows.
  function fitToPhone(figure) {
    const layout = figure.layout, x = layout.xaxis, y = layout.yaxis;
    x.nticks = 5;
    if (x.dtick) x.dtick = 0.5;
    layout.margin.r = 24;
    if (!y.ticktext) return;
    const rows = y.ticktext.length, room = 20; // pixels for a label
    const row = (layout.height - layout.margin.t - layout.margin.b) / rows + room;
    const shift = room / 2 / row;
    const squares = figure.data.some(function (trace) { return trace.type === "heatmap"; });
    layout.height += rows * room;
    y.showticklabels = false;
    layout.annotations = y.ticktext.map(function (label, place) {
      return { text: label, x: 0, xref: "paper", xanchor: "left", y: place - 0.5, yanchor: "top", showarrow: false, borderpad: 0 };
    });
    figure.data.forEach(function (trace) {
      trace.y = trace.y.map(function (at) { return at === null ? null : at + shift; });
      if (trace.ygap) trace.ygap += room;
    });
    if (!squares) return;
    layout.shapes = y.ticktext.map(function (_, place) {
      return { type: "rect", layer: "below", xref: "paper", x0: 0, x1: 1, y0: place - 0.5 + 2 * shift, y1: place + 0.5, fillcolor: layout.plot_bgcolor, line: { width: 0 } };
    });
    layout.plot_bgcolor = "rgba(0,0,0,0)";
  }

  function draw(plot) {
    const figure = JSON.parse(document.getElementById(plot.id + "-figure").textContent);
    const box = document.querySelector('input[data-plot="' + plot.id + '"]');
    if (phone.matches) fitToPhone(figure);
    figure.data.forEach(function (trace) { if (box && trace.meta === "optional") trace.visible = box.checked; });
    plot.style.height = figure.layout.height + "px";
    plot.replaceChildren();
    plot.dataset.drawn = phone.matches;
    Plotly.newPlot(plot, figure.data, figure.layout, config);
  }

  function drawIn(part) {
    part.querySelectorAll(".plot").forEach(function (plot) {
      const seen = !plot.closest("details.run:not([open])");
      if (seen && plot.dataset.drawn !== String(phone.matches)) draw(plot);
    });
  }

  await loadPlotly();
  document.querySelectorAll("input[data-plot]").forEach(function (box) {
    box.addEventListener("change", function () {
      const plot = document.getElementById(box.dataset.plot);
      const traces = plot.data.flatMap(function (trace, place) { return trace.meta === "optional" ? [place] : []; });
      Plotly.restyle(plot, { visible: box.checked }, traces);
    });
  });
  document.querySelectorAll("details.run").forEach(function (run) {
    run.addEventListener("toggle", function () { if (run.open) drawIn(run); });
  });
  phone.addEventListener("change", function () { drawIn(document); });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.run").forEach(function (run) { run.open = true; drawIn(run); });
  });
  drawIn(document);
})();
