// The picture of a tree: constituents colored by probability, words below their tags.
import { fillColor, formatProbability, textColor, toHex, twoDigits } from "./colors.js";
import { svg } from "./dom.js";
import { FONT, isRightToLeft, placeNodes, textWidth, toNodes, visible, walk } from "./layout.js";

const SIZE = 14;
const TAG = 11;
const NUMBER = 9.5;
const PAD = 5;
const HALF = 10; // half of a row's height
const LEVEL = 42;
const WORD = 18; // from a tag to its word
const GAP = 11;
const MARGIN = 14;
const LEGEND = 46;

// The nodes of a tree with their positions, and the size of the picture.
export function layoutTree(tree, sentence) {
  const root = toNodes(tree, sentence);
  const nodes = walk(root);
  for (const node of nodes) measure(node);
  placeNodes(root, (node) => (node.kind === "label" ? [node.width] : [textWidth(node.tag, TAG), node.width]), GAP);
  const right = Math.max(...nodes.map((node) => node.x + node.width / 2));
  const isMirrored = isRightToLeft(sentence.words);
  for (const node of nodes) {
    node.x = MARGIN + (isMirrored ? right - node.x : node.x);
    node.y = MARGIN + HALF + LEVEL * node.depth;
  }
  const bottom = (node) => node.y + (node.tag ? WORD : 0);
  const height = Math.max(...nodes.map(bottom)) + HALF + MARGIN;
  return { root, nodes, width: right + 2 * MARGIN, height };
}

function measure(node) {
  if (node.kind === "leaf") {
    node.width = Math.max(textWidth(node.word, SIZE), textWidth(node.tag, TAG));
    return;
  }
  node.number = twoDigits(node.probability);
  const numberWidth = node.number ? textWidth(node.number, NUMBER) + 3 : 0;
  node.width = textWidth(visible(node.label), SIZE, 600) + numberWidth + 2 * PAD;
}

// Draws the tree as SVG: interactive with `forScreen`, else a picture with a title, a background and a legend.
export function drawTree({ root, nodes, width, height }, theme, { title, brackets, framedSpans, forScreen }) {
  const totalHeight = height + (forScreen ? 0 : LEGEND);
  const totalWidth = Math.max(width, forScreen ? 0 : 190);
  const picture = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${number(totalWidth)} ${number(totalHeight)}`,
    width: number(totalWidth),
    height: number(totalHeight),
    "font-family": FONT,
    "text-anchor": "middle",
    role: forScreen ? "tree" : "img",
    "aria-label": forScreen && `Tree of: ${title}`,
  });
  if (!forScreen) {
    picture.append(svg("title", {}, title), svg("desc", {}, `Constituency tree: ${brackets}`));
    picture.append(svg("rect", { width: "100%", height: "100%", fill: toHex(theme.ground) }));
  }
  const lines = svg("g", { stroke: toHex(theme.line), "stroke-width": 1.2, role: forScreen && "none" });
  picture.append(lines);
  for (const node of nodes) {
    for (const child of node.children) lines.append(drawLine(node, child, forScreen));
    const isFramed = framedSpans.includes(node.span);
    const parts = node.kind === "label" ? drawConstituent(node, theme, isFramed) : drawLeaf(node, theme);
    picture.append(svg("g", forScreen ? interactiveAttributes(node, root) : {}, ...parts));
  }
  if (!forScreen) picture.append(drawLegend(theme, (p) => p, MARGIN + 6, height + 2));
  return picture;
}

function drawLine(parent, child, forScreen) {
  const ends = { x1: number(parent.x), y1: number(parent.y + HALF), x2: number(child.x), y2: number(child.y - HALF) };
  return svg("line", forScreen ? { ...ends, ...spanAttributes(child) } : ends);
}

const spanAttributes = ({ start, end }) => ({ "data-start": start, "data-end": end });

function interactiveAttributes(node, root) {
  const text = node.kind === "label" ? `${node.label}, probability ${formatProbability(node.probability)}` : node.word;
  return {
    class: node.kind,
    role: "treeitem",
    tabindex: node === root ? 0 : -1,
    "aria-level": node.depth + 1,
    "aria-selected": "false",
    "aria-label": node.kind === "leaf" && node.tag ? `${text}, ${node.tag}` : text,
    "aria-expanded": node.kind === "label" && "true",
    ...spanAttributes(node),
  };
}

function drawConstituent(node, theme, isFramed) {
  const fill = fillColor(theme, node.probability);
  const ink = toHex(textColor(fill));
  const left = node.x - node.width / 2;
  const frame = isFramed ? { stroke: toHex(theme.accent), "stroke-width": 2 } : {};
  const size = { width: number(node.width), height: 2 * HALF - 2, rx: 4 };
  const box = svg("rect", { x: number(left), y: number(node.y - HALF + 1), ...size, fill: toHex(fill), ...frame });
  const bold = { "font-size": SIZE, "font-weight": 600, fill: ink, y: number(node.y + 0.35 * SIZE) };
  const label = visible(node.label);
  if (!node.number) return [box, svg("text", { ...bold, x: number(node.x) }, label)];
  const small = { "font-size": NUMBER, fill: ink, y: bold.y, x: number(left + node.width - PAD), "text-anchor": "end" };
  const labelText = svg("text", { ...bold, x: number(left + PAD), "text-anchor": "start" }, label);
  return [box, labelText, svg("text", small, node.number)];
}

function drawLeaf(node, theme) {
  const x = number(node.x);
  const y = node.y + (node.tag ? WORD : 0);
  const word = svg("text", { x, y: number(y + 0.35 * SIZE), "font-size": SIZE, fill: toHex(theme.ink) }, node.word);
  const tag = svg("text", { x, y: number(node.y + 0.35 * TAG), "font-size": TAG, fill: toHex(theme.faint) }, node.tag);
  return node.tag ? [tag, word] : [word];
}

// The color scale of probabilities; `toScale` maps a probability to its position on the theme's scale.
export function drawLegend(theme, toScale, x = 6, y = 2) {
  const cell = 15;
  const group = svg("g", { "font-size": 10, fill: toHex(theme.faint), "text-anchor": "middle", "font-family": FONT });
  for (let step = 0; step < 10; step++) {
    const fill = toHex(fillColor(theme, toScale((step + 0.5) / 10)));
    group.append(svg("rect", { x: x + step * cell, y, width: cell, height: 10, fill }));
  }
  for (const [step, name] of [[0, "0"], [5, "probability"], [10, "1"]]) {
    group.append(svg("text", { x: x + step * cell, y: y + 22 }, name));
  }
  return group;
}

const number = (value) => String(Number(value.toFixed(1)));
