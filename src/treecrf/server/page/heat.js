// The heat map: how probable each span is, starts from top to bottom, ends from left to right.
import { fillOf, hex, inkOn } from "./colours.js";
import { svg } from "./dom.js";
import { FONT, visible, widthOf } from "./layout.js";

const CELL = 27;
const GAP = 2;
const SIZE = 13;
const MARGIN = 12;

// Words stand on the diagonal, each before the row of spans that start with it; the tree's own spans have a frame.
export function drawHeat({ words, marginals }, tree, theme) {
  const left = MARGIN + Math.max(...words.map((word, i) => widthOf(visible(word), SIZE) + 6 - i * CELL));
  const width = left + words.length * CELL + MARGIN;
  const height = words.length * CELL + 2 * MARGIN;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT, role: "img" });
  picture.setAttribute("aria-label", `Heat map of ${words.length} words; select words above to hear a span's probability`);
  const labels = new Map();
  for (const { start, end, label } of tree.spans) {
    const name = `${start}-${end}`;
    if (!labels.has(name)) labels.set(name, visible(label));
  }
  words.forEach((word, start) => {
    const y = MARGIN + start * CELL;
    const place = { x: left + start * CELL - 6, y: y + CELL / 2 + 0.35 * SIZE, "text-anchor": "end" };
    const text = svg("text", { ...place, "font-size": SIZE, fill: hex(theme.ink) }, visible(word));
    picture.append(svg("g", { class: "leaf", "data-start": start, "data-end": start + 1 }, text));
    marginals[start].forEach((probability, i) => {
      const end = start + i + 1;
      const x = left + (end - 1) * CELL;
      picture.append(cell({ x, y, start, end, probability, label: labels.get(`${start}-${end}`) }, theme));
    });
  });
  return [picture, { width, height }];
}

function cell({ x, y, start, end, probability, label }, theme) {
  const fill = fillOf(theme, 1 - probability);
  const size = CELL - GAP;
  const box = svg("rect", { x, y, width: size, height: size, rx: 4, fill: hex(fill) });
  const group = svg("g", { class: "cell", "data-start": start, "data-end": end }, box);
  if (label === undefined) return group;
  box.setAttribute("stroke", hex(theme.accent));
  box.setAttribute("stroke-width", 2);
  const middle = { x: x + size / 2, y: y + size / 2 + 3, "text-anchor": "middle", fill: hex(inkOn(fill)) };
  const fit = Math.min(9, (9 * (size - 3)) / widthOf(label, 9, 600));
  group.append(svg("text", { ...middle, "font-size": fit, "font-weight": 600 }, label));
  return group;
}
