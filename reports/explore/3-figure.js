// What a reader does with a figure: reads values, zooms, changes scales, chooses panels.
const NEAR = 14; // so many pixels around a point belong to it
const DRAG = 8; // less is no drag
const LARGER = 1.6; // chosen panels are drawn so much larger at most

const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);

let reading = null; // the figure of which a value is shown
document.addEventListener("pointerdown", () => reading?.forget(), { capture: true });

const say = (lines, box) => {
  tip.replaceChildren(...lines.filter(Boolean).map((line, number) => {
    const part = document.createElement(number ? "div" : "b");
    part.textContent = line;
    return part;
  }));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = box.x + 16 + width > innerWidth ? box.x - 16 - width : box.x + 16;
  tip.style.left = `${Math.max(4, left) + scrollX}px`;
  tip.style.top = `${Math.max(4, Math.min(box.y - height / 2, innerHeight - height - 4)) + scrollY}px`;
};

class Explored {
  constructor(figure) {
    this.figure = figure;
    this.picture = figure.querySelector(".picture");
    this.svg = this.picture.querySelector("svg");
    this.name = figure.id;
    this.viewBox = ["viewBox", "width", "height"].map((key) => [key, this.svg.getAttribute(key)]);
    this.listen();
  }

  // Read when it is first needed: a page has many figures.
  get panels() {
    this.read ??= this.readPanels();
    return this.read;
  }

  readPanels() {
    const found = [...this.svg.querySelectorAll(".panel")]
      .map((node, number) => new Panel(node, `${this.name}-${number}`))
      .filter((panel) => panel.width > 0 && panel.height > 0);
    // Of small multiples that share an axis some have its labels.
    for (const axis of ["x", "y"])
      for (const panel of found) {
        const alike = (other) =>
          other.labels[axis].length && other.scales[axis]?.told === panel.scales[axis]?.told;
        const example = panel.labels[axis].length ? panel : found.find(alike);
        panel.learn(axis, example ? example.labels[axis] : []);
      }
    return found;
  }

  listen() {
    const { picture } = this;
    picture.tabIndex = 0;
    picture.setAttribute("role", "group");
    picture.setAttribute("aria-label", "Figure: arrow keys read its values, + and - zoom, 0 resets");
    picture.addEventListener("pointermove", (event) => this.pointed(event));
    // A finger leaves at once; what it read stays until the next tap.
    picture.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.forget());
    picture.addEventListener("pointerdown", (event) => this.pressed(event));
    picture.addEventListener("pointerup", (event) => this.released(event));
    picture.addEventListener("dblclick", () => this.reset());
    picture.addEventListener("keydown", (event) => this.typed(event));
    picture.addEventListener("blur", () => this.forget());
  }

  // The panel under the pointer, and the place in it.
  at(event, margin = 0) {
    for (const panel of this.panels) {
      if (panel.node.getAttribute("visibility") === "hidden") continue;
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        panel.inner.getScreenCTM().inverse(),
      );
      const isIn = (value, most) => value >= -margin && value <= most + margin;
      if (isIn(place.x, panel.width) && isIn(place.y, panel.height))
        return { panel, x: place.x, y: place.y };
    }
    return null;
  }

  pointed(event) {
    if (this.from) return this.brush(event);
    const place = this.at(event, 6);
    const found = place && nearest(place.panel, place.x, place.y);
    return found ? this.show(place.panel, found) : this.forget();
  }

  show(panel, { x, y, lines, band }) {
    reading?.forget();
    reading = this;
    // The band of a family's curve is drawn while the curve is read.
    if (band?.node.getAttribute("opacity") === "0") this.lit = band.node;
    this.lit?.setAttribute("opacity", 0.2);
    this.ring ??= drawn("circle", { class: "probe", r: 5 });
    const [cx, cy] = panel.moved(x, y);
    restore(this.ring, { cx, cy });
    panel.inner.append(this.ring);
    const box = new DOMPoint(cx, cy).matrixTransform(panel.inner.getScreenCTM());
    say([Object.values(panel.of).join(" · "), ...lines], box);
  }

  forget() {
    this.ring?.remove();
    this.lit?.setAttribute("opacity", 0);
    this.lit = null;
    tip.hidden = true;
  }

  pressed(event) {
    if (event.pointerType === "touch") return this.pointed(event);
    const place = event.button === 0 && this.at(event);
    if (!place) return;
    event.preventDefault(); // marks no words
    this.picture.setPointerCapture(event.pointerId);
    this.from = place;
  }

  // What a drag covers so far; an axis along which it is short stays as it is.
  covered(event) {
    const { panel, x, y } = this.from;
    const to = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      panel.inner.getScreenCTM().inverse(),
    );
    const within = (value, most) => Math.min(Math.max(value, 0), most);
    const pair = { x: [x, within(to.x, panel.width)], y: [y, within(to.y, panel.height)] };
    const long = Object.keys(pair).filter(
      (axis) => panel.scales[axis] && Math.abs(pair[axis][1] - pair[axis][0]) >= DRAG,
    );
    return Object.fromEntries(long.map((axis) => [axis, pair[axis]]));
  }

  brush(event) {
    this.forget();
    const { panel } = this.from;
    const { x = [0, panel.width], y = [0, panel.height] } = this.covered(event);
    this.cover ??= drawn("rect", { class: "brush" });
    const [left, top] = [Math.min(...x), Math.min(...y)];
    const [width, height] = [Math.abs(x[1] - x[0]), Math.abs(y[1] - y[0])];
    restore(this.cover, { x: left, y: top, width, height });
    panel.inner.append(this.cover);
  }

  released(event) {
    if (!this.from) return;
    const { panel } = this.from;
    const covered = this.covered(event);
    this.from = null;
    this.cover?.remove();
    for (const [axis, ends] of Object.entries(covered))
      this.change(axis, (scale) => scale.zoom(...ends), panel.scales[axis].told);
    this.draw();
  }

  // Panels that share a scale change together.
  change(axis, how, told) {
    for (const { scales } of this.panels)
      if (scales[axis] && (!told || scales[axis].told === told)) how(scales[axis]);
  }

  draw() {
    this.forget();
    for (const panel of this.panels) panel.draw();
  }

  reset() {
    for (const axis of ["x", "y"]) this.change(axis, (scale) => scale.reset());
    this.draw();
  }

  zoom(factor) {
    for (const axis of ["x", "y"])
      this.change(axis, (scale) => {
        const middle = (scale.from + scale.to) / 2;
        const half = (scale.to - scale.from) / 2 / factor;
        if (factor > 1) scale.zoom(middle - half, middle + half);
        else scale.widen(middle - half, middle + half);
      });
    this.draw();
  }

  toggle(axis) {
    this.change(axis, (scale) => scale.canToggle && scale.toggle());
    this.draw();
  }

  typed(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+") this.zoom(2);
    else if (event.key === "-") this.zoom(1 / 2);
    else if (event.key === "0" || event.key === "Escape") this.reset();
    else if (steps[event.key]) this.step(...steps[event.key]);
    else return;
    event.preventDefault();
  }

  // Left and right along a track, up and down from track to track.
  step(down, along) {
    const every = this.panels
      .filter((panel) => panel.node.getAttribute("visibility") !== "hidden")
      .flatMap((panel) => tracks(panel).map((stops) => ({ panel, stops })));
    if (!every.length) return;
    const count = every.length;
    this.place ??= { track: 0, stop: -1 };
    this.place.track = (Math.min(this.place.track, count - 1) + down + count) % count;
    const { panel, stops } = every[this.place.track];
    this.place.stop = Math.min(Math.max(this.place.stop + along, 0), stops.length - 1);
    this.show(panel, stops[this.place.stop]());
  }

  // By what panels may be chosen, with the values that there are.
  get choices() {
    const found = new Map();
    for (const { of } of this.panels)
      for (const [key, value] of Object.entries(of))
        found.set(key, (found.get(key) || new Set()).add(value));
    return [...found].filter(([, values]) => values.size > 1);
  }

  // Shows the panels that have all of these values, as large as there is room.
  choose(wanted) {
    this.forget();
    for (const [key, value] of this.viewBox) this.svg.setAttribute(key, value);
    const fits = ({ of }) => Object.entries(wanted).every(([key, value]) => !value || of[key] === value);
    const chosen = this.panels.filter(fits);
    for (const panel of this.panels)
      restore(panel.node, { visibility: chosen.includes(panel) ? null : "hidden" });
    const isPart = chosen.length > 0 && chosen.length < this.panels.length;
    this.picture.classList.toggle("part", isPart);
    const differ = this.choices.map(([key]) => key);
    for (const panel of this.panels) {
      const words = differ.map((key) => panel.of[key]).filter(Boolean);
      panel.borrow(isPart && chosen.includes(panel), words);
    }
    if (!isPart) return;
    const root = this.svg.getScreenCTM().inverse();
    const ends = chosen.flatMap(({ node }) => {
      const box = node.getBBox();
      const matrix = root.multiply(node.getScreenCTM());
      return [[box.x, box.y], [box.x + box.width, box.y + box.height]].map(([x, y]) =>
        new DOMPoint(x, y).matrixTransform(matrix),
      );
    });
    const [left, top] = [Math.min(...ends.map(({ x }) => x)), Math.min(...ends.map(({ y }) => y))];
    const width = Math.max(...ends.map(({ x }) => x)) - left;
    const height = Math.max(...ends.map(({ y }) => y)) - top;
    const whole = Number(this.viewBox[1][1]);
    const scale = Math.min(whole / (width + 60), LARGER);
    this.svg.setAttribute("viewBox", `${left - 44} ${top - 8} ${width + 60} ${height + 16}`);
    this.svg.setAttribute("width", (width + 60) * scale);
    this.svg.setAttribute("height", (height + 16) * scale);
  }
}
