// The picture of a tree: constituents colored by probability, words with their tags.
import { fillColor, formatProbability, textColor, toHex } from "./colors.js";
import { svg } from "./dom.js";
import { visible } from "./nodes.js";
import { FONT } from "./text_width.js";
import { HALF, LABEL_SIZE, MARGIN, NUMBER_SIZE, PAD, TAG_SIZE } from "./tree_layout.js";

const LEGEND = 46; // height

// Draws the tree as SVG: interactive with `forScreen`, else a picture with a title, a background and a legend.
// Constituents of `framedSpans` have a frame.
export function drawTree(picture, theme, { title, brackets, framedSpans = [], forScreen = false }) {
  const height = picture.height + (forScreen ? 0 : LEGEND);
  const width = Math.max(picture.width, forScreen ? 0 : 190);
  const element = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${number(width)} ${number(height)}`,
    width: number(width),
    height: number(height),
    "font-family": FONT,
    "text-anchor": "middle",
    role: forScreen ? "tree" : "img",
    "aria-label": forScreen && `Tree of: ${title}`,
    "aria-orientation": forScreen && (picture.kind === "down" ? "vertical" : "horizontal"),
  });
  if (!forScreen) {
    element.append(svg("title", {}, title), svg("desc", {}, `Constituency tree: ${brackets}`));
    element.append(svg("rect", { width: "100%", height: "100%", fill: toHex(theme.ground) }));
  }
  element.append(drawLines(picture.lines, theme, forScreen));
  for (const node of picture.nodes) {
    const isFramed = framedSpans.includes(node.span);
    const parts = node.kind === "label" ? drawConstituent(node, theme, isFramed) : drawWord(node, theme);
    element.append(svg("g", forScreen ? interactiveAttributes(node, picture.root, isFramed) : {}, ...parts));
  }
  if (!forScreen) element.append(drawLegend(theme, MARGIN + 6, picture.height + 2));
  return element;
}

function drawLines(lines, theme, forScreen) {
  const group = svg("g", { stroke: toHex(theme.line), "stroke-width": 1.2, fill: "none", role: forScreen && "none" });
  for (const { child, points } of lines) {
    const d = `M${points.map((point) => point.map(number).join(" ")).join("L")}`;
    group.append(svg("path", forScreen ? { d, ...spanAttributes(child) } : { d }));
  }
  return group;
}

const probabilityOf = ({ probability }) =>
  probability === undefined ? [] : [`probability ${formatProbability(probability)}`];
const spanAttributes = ({ start, end }) => ({ "data-start": start, "data-end": end });

function interactiveAttributes(node, root, isFramed) {
  const remarks = isFramed ? ["only in this tree"] : [];
  const facts = {
    label: () => [node.label, ...probabilityOf(node), ...remarks],
    leaf: () => [node.word, ...(node.tag ? [node.tag] : [])],
    triangle: () => [`collapsed: ${node.word}`],
  };
  return {
    class: node.kind,
    role: "treeitem",
    tabindex: node === root ? 0 : -1,
    "aria-level": node.depth + 1,
    "aria-selected": "false",
    "aria-label": facts[node.kind]().join(", "),
    "aria-expanded": node.kind === "label" && String(!node.isCollapsed),
    "data-label": node.label,
    "data-tag": node.tag || undefined,
    ...spanAttributes(node),
  };
}

function drawConstituent(node, theme, isFramed) {
  const fill = fillColor(theme, node.probability);
  const ink = toHex(textColor(fill));
  const left = node.x - node.width / 2;
  const frame = isFramed ? { stroke: toHex(theme.accent), "stroke-width": 2.5 } : {};
  const size = { width: number(node.width), height: 2 * HALF - 2, rx: 4 };
  const box = svg("rect", { x: number(left), y: number(node.y - HALF + 1), ...size, fill: toHex(fill), ...frame });
  const bold = { "font-size": LABEL_SIZE, "font-weight": 600, fill: ink, y: number(node.y + 0.35 * LABEL_SIZE) };
  const label = visible(node.label);
  if (!node.number) return [box, svg("text", { ...bold, x: number(node.x) }, label)];
  const right = number(left + node.width - PAD);
  const small = { "font-size": NUMBER_SIZE, fill: ink, y: bold.y, x: right, "text-anchor": "end" };
  const labelText = svg("text", { ...bold, x: number(left + PAD), "text-anchor": "start" }, label);
  return [box, labelText, svg("text", small, node.number)];
}

function drawWord(node, theme) {
  const text = (content, x, y, size, color) =>
    svg("text", { x: number(x), y: number(y + 0.35 * size), "font-size": size, fill: toHex(color) }, content);
  const word = text(node.word, node.wordX, node.wordY, LABEL_SIZE, theme.ink);
  return node.tag ? [text(node.tag, node.tagX, node.y, TAG_SIZE, theme.faint), word] : [word];
}

// The color scale of probabilities.
export function drawLegend(theme, x = 6, y = 2) {
  const cell = 15;
  const group = svg("g", { "font-size": 10, fill: toHex(theme.faint), "text-anchor": "middle", "font-family": FONT });
  for (let step = 0; step < 10; step++) {
    const fill = toHex(fillColor(theme, (step + 0.5) / 10));
    group.append(svg("rect", { x: x + step * cell, y, width: cell, height: 10, fill }));
  }
  for (const [step, name] of [[0, "0 %"], [5, "probability"], [10, "100 %"]]) {
    group.append(svg("text", { x: x + step * cell, y: y + 22 }, name));
  }
  return group;
}

const number = (value) => String(Number(value.toFixed(1)));
