// The scale of an axis: from what it counts to pixels and back.
const FLOOR = 1e-3; // where a linear axis from 0 becomes logarithmic, so much of its end is the floor
const UNITS = [1, 60, 3600, 86400, 1e-6, 1e3, 1e6]; // of what is drawn, in what the labels count
const PREFIXES = { s: 1, ms: 1e-3, "µs": 1e-6, ns: 1e-9, k: 1e3, M: 1e6, G: 1e9 };

// What an axis counts, its ends, and the pixels between which it lies.
class Scale {
  constructor(told, from, to) {
    const [, kind, low, high, title] = told.match(/^(\S+) (\S+) (\S+) ?(.*)$/);
    Object.assign(this, { from, to, title, told });
    this.first = { kind, low: Number(low), high: Number(high) };
    this.reset();
  }

  // Counts in the unit of a label that says `text` at a pixel: a long time is drawn in seconds and
  // labelled in hours.
  countAs(text, pixel) {
    const [, digits, prefix] = text.match(/^([\d.,]+) ?(\D*)$/);
    const counted = Number(digits.replaceAll(",", "")) * (PREFIXES[prefix] || 1);
    const unit = UNITS.find((one) => Math.abs(this.value(pixel) / one / counted - 1) < 0.03);
    if (!unit) return;
    this.first.low /= unit;
    this.first.high /= unit;
    this.reset();
  }

  reset() {
    Object.assign(this, this.first);
  }

  get isChanged() {
    return ["kind", "low", "high"].some((key) => this[key] !== this.first[key]);
  }

  value(pixel, { kind, low, high } = this) {
    const part = (pixel - this.from) / (this.to - this.from);
    return kind === "log" ? low * (high / low) ** part : low + (high - low) * part;
  }

  pixel(value, { kind, low, high } = this) {
    const part =
      kind === "log"
        ? Math.log(Math.max(value, 1e-300) / low) / Math.log(high / low)
        : (value - low) / (high - low);
    // Far outside is as good as further outside, and has fewer digits.
    return this.from + Math.min(Math.max(part, -9), 9) * (this.to - this.from);
  }

  // Where a pixel of the picture as it was made is now.
  moved(pixel) {
    return this.isChanged ? this.pixel(this.value(pixel, this.first)) : pixel;
  }

  get canToggle() {
    return this.first.low >= 0 && !(this.isLength && this.first.kind === "linear");
  }

  // The lower end that there is at most.
  get floor() {
    return this.kind === "log" && this.first.low <= 0 ? this.first.high * FLOOR : this.first.low;
  }

  toggle() {
    const kind = this.kind === "log" ? "linear" : "log";
    this.reset();
    this.kind = kind;
    this.low = this.floor;
  }

  // Shows what lies between two pixels; the picture has no more than its own pixels.
  zoom(one, other) {
    const [low, high] = [this.value(one), this.value(other)].sort((a, b) => a - b);
    const shown = Math.abs(this.pixel(high, this.first) - this.pixel(low, this.first));
    if (shown >= 2) Object.assign(this, { low, high });
  }

  // Shows more, at most what the picture was made with.
  widen(one, other) {
    const [low, high] = [this.value(one), this.value(other)].sort((a, b) => a - b);
    this.low = Math.max(low, this.floor);
    this.high = Math.min(high, this.first.high);
  }

  ticks(most) {
    const { kind, low, high } = this;
    if (kind === "log") {
      for (const steps of [[1, 2, 5], [1]]) {
        const found = [];
        for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += 1)
          for (const step of steps) found.push(Number(`${step}e${e}`));
        const inside = found.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
        if (inside.length > 1 && inside.length <= most) return inside;
        if (inside.length > most && steps.length === 1)
          return inside.filter((_, i) => i % Math.ceil(inside.length / most) === 0);
        if (inside.length < 2) break;
      }
    }
    const raw = (high - low) / Math.max(most - 1, 1);
    const decade = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * decade).find((one) => one >= raw);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-6); i * step <= high * (1 + 1e-9); i += 1)
      found.push(Number((i * step).toPrecision(12)));
    return found;
  }
}

// How numbers of an axis are written: as in the labels that it was made with.
const writer = (texts) => {
  const withUnit = (units) => (value, digits = 3) => {
    const size = Math.abs(value);
    const [unit, factor] = units.find(([, one]) => size >= one * 0.9995) || units.at(-1);
    return size ? `${Number((value / factor).toPrecision(digits))}${unit && ` ${unit}`}` : "0";
  };
  if (texts.some((text) => /\d (ns|µs|ms|s)$/.test(text)))
    return withUnit([["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]]);
  if (texts.some((text) => /\d [kMG]$/.test(text)))
    return withUnit([["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]]);
  // Of two directions drawn to both sides of 0 neither is less than nothing.
  const isSigned = texts.some((text) => /^[-−]/.test(text));
  return (value, maximumSignificantDigits = 3) =>
    (isSigned ? value : Math.abs(value)).toLocaleString("en", { maximumSignificantDigits });
};
