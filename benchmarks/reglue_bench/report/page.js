"use strict";
// Figures are JSON in the page; each is drawn when it is first seen.
(function () {
  const config = { responsive: true, displaylogo: false, displayModeBar: false };

  function draw(plot) {
    if (plot.dataset.drawn) return;
    plot.dataset.drawn = "yes";
    const figure = JSON.parse(document.getElementById(plot.id + "-figure").textContent);
    Plotly.newPlot(plot, figure.data, figure.layout, config);
  }

  function drawIn(part) {
    part.querySelectorAll(".plot").forEach(function (plot) {
      if (!plot.closest("details.run:not([open])")) draw(plot);
    });
  }

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
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.run").forEach(function (run) { run.open = true; drawIn(run); });
  });
  drawIn(document);
})();
