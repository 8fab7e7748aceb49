// The heat map of span marginals: a row per start, a column per end.
import { fillColor, formatProbability, textColor, toHex } from "./colors.js";
import { svg } from "./dom.js";
import { visible } from "./nodes.js";
import { FONT, textWidth } from "./text_width.js";

const CELL = 36;
const GAP = 2;
const FONT_SIZE = 13;
const MARGIN = 12;
export const MIN_PROBABILITY = 0.01; // less probable spans are dots

// Each word is on the diagonal, at the beginning of its row. Spans of the tree have a frame.
export function drawHeatmap({ words, marginals }, tree, theme) {
  const left = MARGIN + Math.max(...words.map((word, i) => textWidth(visible(word), FONT_SIZE) + 6 - i * CELL));
  const width = left + words.length * CELL + MARGIN;
  const height = words.length * CELL + 2 * MARGIN;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT, role: "img" });
  picture.setAttribute("aria-label", `Heat map of ${words.length} words; select words above for the probability of a span`);
  const constituents = new Map(); // the outermost of each span
  for (const span of tree.spans) {
    const key = `${span.start}-${span.end}`;
    if (!constituents.has(key)) constituents.set(key, span);
  }
  words.forEach((word, start) => {
    const y = MARGIN + start * CELL;
    const position = { x: left + start * CELL - 6, y: y + CELL / 2 + 0.35 * FONT_SIZE, "text-anchor": "end" };
    const text = svg("text", { ...position, "font-size": FONT_SIZE, fill: toHex(theme.ink) }, visible(word));
    picture.append(svg("g", { class: "leaf", "data-start": start, "data-end": start + 1 }, text));
    marginals[start].forEach((probability, i) => {
      const end = start + i + 1;
      const x = left + (end - 1) * CELL;
      const { label, calibrated = probability } = constituents.get(`${start}-${end}`) ?? {};
      const cell = { x, y, start, end, probability: calibrated, label: label && visible(label) };
      picture.append(drawCell(cell, theme));
    });
  });
  return [picture, { width, height }];
}

// A cell has its probability, and above it the label if it is a constituent of the tree.
function drawCell({ x, y, start, end, probability, label }, theme) {
  const size = CELL - GAP;
  const isDot = probability < MIN_PROBABILITY && label === undefined;
  const fill = isDot ? theme.ground : fillColor(theme, probability);
  const frame = label === undefined ? { stroke: toHex(theme.line) } : { stroke: toHex(theme.accent), "stroke-width": 2.5 };
  const box = svg("rect", { x, y, width: size, height: size, rx: 4, fill: toHex(fill), ...(isDot ? {} : frame) });
  const group = svg("g", { class: "cell", "data-start": start, "data-end": end }, box);
  const [centerX, centerY] = [x + size / 2, y + size / 2];
  if (isDot) {
    group.append(svg("circle", { cx: centerX, cy: centerY, r: 1.6, fill: toHex(theme.faint) }));
    return group;
  }
  const write = (text, line, weight) => {
    const fontSize = Math.min(10, (10 * (size - 3)) / textWidth(text, 10, weight));
    const place = { x: centerX, y: line, "text-anchor": "middle", fill: toHex(textColor(fill)) };
    group.append(svg("text", { ...place, "font-size": fontSize, "font-weight": weight }, text));
  };
  write(probability > 0.995 ? "100 %" : formatProbability(probability), centerY + (label ? 13 : 3.5), 400);
  if (label) write(label, centerY, 700);
  return group;
}
