// The picture of a tree: constituents in the colours of their probabilities, words below their tags.
import { fillOf, hex, inkOn, percent, spelled } from "./colours.js";
import { svg } from "./dom.js";
import { FONT, isRightToLeft, spread, toNodes, visible, walk, widthOf } from "./layout.js";

const SIZE = 14;
const TAG = 11;
const NUMBER = 9.5;
const PAD = 5;
const HALF = 10; // of the height of a row
const LEVEL = 42;
const WORD = 18; // from a tag to its word
const GAP = 11;
const MARGIN = 14;
const LEGEND = 46;

// A tree and its place on the plane.
export function arrange(tree, sentence) {
  const root = toNodes(tree, sentence);
  const nodes = walk(root);
  for (const node of nodes) measure(node);
  spread(root, (node) => (node.kind === "label" ? [node.width] : [widthOf(node.tag, TAG), node.width]), GAP);
  const right = Math.max(...nodes.map((node) => node.x + node.width / 2));
  const mirrored = isRightToLeft(sentence.words);
  for (const node of nodes) {
    node.x = MARGIN + (mirrored ? right - node.x : node.x);
    node.y = MARGIN + HALF + LEVEL * node.depth;
  }
  const below = (node) => node.y + (node.tag ? WORD : 0);
  const height = Math.max(...nodes.map(below)) + HALF + MARGIN;
  return { root, nodes, width: right + 2 * MARGIN, height };
}

function measure(node) {
  if (node.kind === "leaf") {
    node.width = Math.max(widthOf(node.word, SIZE), widthOf(node.tag, TAG));
    return;
  }
  node.number = spelled(node.probability);
  const extra = node.number && widthOf(node.number, NUMBER) + 3;
  node.width = widthOf(visible(node.label), SIZE, 600) + (extra || 0) + 2 * PAD;
}

// An svg element: for the screen with parts that people and screen readers reach, else a picture that stands alone.
export function drawTree({ root, nodes, width, height }, theme, { title, brackets, news, forScreen }) {
  const total = height + (forScreen ? 0 : LEGEND);
  const across = Math.max(width, forScreen ? 0 : 190);
  const picture = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${n(across)} ${n(total)}`,
    width: n(across),
    height: n(total),
    "font-family": FONT,
    "text-anchor": "middle",
    role: forScreen ? "tree" : "img",
    "aria-label": forScreen && `Tree of: ${title}`,
  });
  if (!forScreen) {
    picture.append(svg("title", {}, title), svg("desc", {}, `Constituency tree: ${brackets}`));
    picture.append(svg("rect", { width: "100%", height: "100%", fill: hex(theme.ground) }));
  }
  const lines = svg("g", { stroke: hex(theme.line), "stroke-width": 1.2, role: forScreen && "none" });
  picture.append(lines);
  for (const node of nodes) {
    for (const child of node.children) lines.append(line(node, child, forScreen));
    const parts = node.kind === "label" ? constituent(node, theme, news.includes(node.span)) : leaf(node, theme);
    picture.append(forScreen ? svg("g", reachable(node, root), ...parts) : svg("g", {}, ...parts));
  }
  if (!forScreen) picture.append(drawLegend(theme, (p) => p, MARGIN + 6, height + 2));
  return picture;
}

function line(parent, child, forScreen) {
  const ends = { x1: n(parent.x), y1: n(parent.y + HALF), x2: n(child.x), y2: n(child.y - HALF) };
  return svg("line", forScreen ? { ...ends, ...span(child) } : ends);
}

const span = ({ start, end }) => ({ "data-start": start, "data-end": end });

function reachable(node, root) {
  const text = node.kind === "label" ? `${node.label}, probability ${percent(node.probability)}` : node.word;
  return {
    class: node.kind,
    role: "treeitem",
    tabindex: node === root ? 0 : -1,
    "aria-level": node.depth + 1,
    "aria-selected": "false",
    "aria-label": node.kind === "leaf" && node.tag ? `${text}, ${node.tag}` : text,
    "aria-expanded": node.kind === "label" && "true",
    ...span(node),
  };
}

function constituent(node, theme, isNew) {
  const fill = fillOf(theme, node.probability);
  const ink = hex(inkOn(fill));
  const left = node.x - node.width / 2;
  const frame = isNew ? { stroke: hex(theme.accent), "stroke-width": 2 } : {};
  const size = { width: n(node.width), height: 2 * HALF - 2, rx: 4 };
  const box = svg("rect", { x: n(left), y: n(node.y - HALF + 1), ...size, fill: hex(fill), ...frame });
  const bold = { "font-size": SIZE, "font-weight": 600, fill: ink, y: n(node.y + 0.35 * SIZE) };
  const label = visible(node.label);
  if (!node.number) return [box, svg("text", { ...bold, x: n(node.x) }, label)];
  const small = { "font-size": NUMBER, fill: ink, y: bold.y, x: n(left + node.width - PAD), "text-anchor": "end" };
  return [box, svg("text", { ...bold, x: n(left + PAD), "text-anchor": "start" }, label), svg("text", small, node.number)];
}

function leaf(node, theme) {
  const x = n(node.x);
  const y = node.y + (node.tag ? WORD : 0);
  const word = svg("text", { x, y: n(y + 0.35 * SIZE), "font-size": SIZE, fill: hex(theme.ink) }, node.word);
  const tag = svg("text", { x, y: n(node.y + 0.35 * TAG), "font-size": TAG, fill: hex(theme.faint) }, node.tag);
  return node.tag ? [tag, word] : [word];
}

// A scale of colours with its ends and middle named; `turn` leads from a probability to its place on the scale.
export function drawLegend(theme, turn, x = 6, y = 2) {
  const cell = 15;
  const group = svg("g", { "font-size": 10, fill: hex(theme.faint), "text-anchor": "middle", "font-family": FONT });
  for (let step = 0; step < 10; step++) {
    const fill = hex(fillOf(theme, turn((step + 0.5) / 10)));
    group.append(svg("rect", { x: x + step * cell, y, width: cell, height: 10, fill }));
  }
  for (const [place, name] of [[0, "0"], [5, "probability"], [10, "1"]]) {
    group.append(svg("text", { x: x + place * cell, y: y + 22 }, name));
  }
  return group;
}

const n = (value) => String(Number(value.toFixed(1)));
