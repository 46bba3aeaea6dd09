// Curves by uPlot, and figures that are shown anew as they come. The page reads without this.
"use strict";
(() => {
  const text = (value) => {
    if (value === null || value === undefined) return "-";
    if (Number.isInteger(value)) return value.toLocaleString("en-US");
    return Math.abs(value) >= 1e-3 ? value.toFixed(4) : value.toPrecision(4);
  };
  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(name).trim();
  };

  class Curve {
    constructor(figure) {
      this.figure = figure;
      this.place = figure.querySelector(".plot");
      this.names = JSON.parse(figure.dataset.names);
      this.points = JSON.parse(figure.dataset.points);
      this.isTime = figure.id === "error";
      this.draw();
      new ResizeObserver(() => this.plot && this.plot.setSize(this.size())).observe(figure);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }
    size() {
      return { width: Math.max(200, this.place.clientWidth), height: 200 };
    }
    columns() {
      return [0, ...this.names.map((_, at) => at + 1)].map((at) => this.points.map((point) => point[at]));
    }
    draw() {
      if (this.points.length < 2) return;
      const colour = colours();
      const axis = { stroke: colour("--soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule") } };
      const strokes = [colour("--one"), colour("--two")];
      const series = [{ label: this.isTime ? "time" : "entry" }];
      this.names.forEach((label, at) => series.push({ label, stroke: strokes[at], width: 1.5, points: { show: false } }));
      this.place.replaceChildren();
      this.plot = new uPlot(
        { ...this.size(), series, axes: [axis, { ...axis, size: 60 }], scales: { x: { time: this.isTime } } },
        this.columns(), this.place);
    }
    add(point) {
      const last = this.points[this.points.length - 1];
      if (last && point[0] <= last[0]) return;
      this.points.push(point);
      if (this.points.length > 1200) this.points.splice(1, 1);
      if (this.plot) this.plot.setData(this.columns());
      else this.draw();
    }
  }

  const curves = {};
  document.querySelectorAll("figure.curve").forEach((figure) => { curves[figure.id] = new Curve(figure); });

  const address = document.currentScript.dataset.live;
  if (!address) return;
  const state = document.getElementById("state");
  const show = (message) => {
    const found = JSON.parse(message.data);
    document.querySelectorAll("[data-figure]").forEach((place) => {
      const value = found.figures[place.dataset.figure];
      place.textContent = found.shown[place.dataset.figure] || text(value);
    });
    if (found.sample) {
      document.querySelectorAll("[data-sample]").forEach((place) => {
        place.textContent = text(found.sample[Number(place.dataset.sample)]);
      });
      if (curves.error) curves.error.add([found.sample[0], found.sample[2], found.sample[3]]);
    }
  };
  // A browser gives an EventSource up for good when a service that is just starting answers with an error: a new one
  // is made after every failure, a second later.
  const listen = () => {
    const source = new EventSource(address);
    source.onopen = () => { state.textContent = "live"; };
    source.onerror = () => {
      state.textContent = "the service does not answer; trying again";
      source.close();
      setTimeout(listen, 1000);
    };
    source.onmessage = show;
  };
  listen();
})();
