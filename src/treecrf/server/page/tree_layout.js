// The positions of nodes and lines in the picture of a tree: from top to bottom, or sideways for long sentences.
import { placeNodes } from "./layout.js";
import { shortProbability } from "./colors.js";
import { visible, walk } from "./nodes.js";
import { isRightToLeft, textWidth } from "./text_width.js";

export const LABEL_SIZE = 14; // font sizes
export const TAG_SIZE = 11;
export const NUMBER_SIZE = 9.5;
export const PAD = 5;
export const HALF = 10; // half of a row's height
export const MARGIN = 14;
const LEVEL = 42;
const WORD = 18; // from a tag to its word below
const GAP = 11;
const ROW = 21; // sideways: from a row to the next
const COLUMN_GAP = 18; // sideways: from a node to its children
const INDENT = 15; // sideways in a narrow view: children below their parent
const TRIANGLE = 16; // sideways: the width of a triangle
const MIN_SCALE = 0.8; // a layout fits the view if its pictures do at this scale
const LAYOUTS = [
  ["down", layoutDown],
  ["sideways", (root) => layoutSideways(root, { isIndented: false })],
  ["sideways", (root) => layoutSideways(root, { isIndented: true })],
];

// Places the nodes of trees in the same layout, and returns a picture for each: the nodes, the lines between them, and
// the size. Of the layouts of a kind, or of all with "auto", it is the first that fits the width of the view.
export function layoutTrees(roots, { words, layout, viewWidth }) {
  const candidates = LAYOUTS.filter(([kind]) => layout === "auto" || kind === layout);
  let pictures;
  for (const [, place] of candidates) {
    pictures = roots.map(place);
    if (pictures.every(({ width }) => width * MIN_SCALE <= viewWidth)) break;
  }
  if (isRightToLeft(words)) pictures.forEach(mirror);
  return pictures;
}

function layoutDown(root) {
  const nodes = walk(root);
  for (const node of nodes) measure(node);
  placeNodes(root, levelWidths, GAP);
  for (const node of nodes) {
    node.x += MARGIN;
    node.y = MARGIN + HALF + LEVEL * node.depth;
    node.tagX = node.wordX = node.x;
    node.wordY = node.y + (node.tag || node.kind === "triangle" ? WORD : 0);
  }
  const lines = linesBetween(nodes, (parent, child) => {
    const apex = [parent.x, parent.y + HALF];
    if (child.kind !== "triangle") return [apex, [child.x, child.y - HALF]];
    const [half, base] = [child.width / 2, child.wordY - HALF];
    return [apex, [child.x - half, base], [child.x + half, base], apex];
  });
  return { kind: "down", root, nodes, lines, ...sizeOf(nodes) };
}

// One word a row, the root at the left. A node is in the row of its first child; with `isIndented`, the children of a
// node are in the rows below it.
function layoutSideways(root, { isIndented }) {
  const nodes = walk(root);
  let row = 0;
  const place = (node, left) => {
    measure(node);
    const tagWidth = node.tag ? textWidth(node.tag, TAG_SIZE) : 0;
    const tagSpace = node.kind === "triangle" ? TRIANGLE + 4 : node.tag ? tagWidth + 6 : 0;
    const wordWidth = node.kind === "label" ? 0 : textWidth(node.word, LABEL_SIZE);
    if (node.kind !== "label") node.width = tagSpace + wordWidth;
    node.x = left + node.width / 2;
    node.y = node.wordY = MARGIN + HALF + ROW * row;
    node.tagX = left + tagWidth / 2;
    node.wordX = left + tagSpace + wordWidth / 2;
    node.isAbove = isIndented && node.children.length > 1;
    if (node.isAbove || !node.children.length) row += 1;
    const gap = node.isCollapsed ? 3 : COLUMN_GAP;
    const childrenLeft = node.isAbove ? left + INDENT : left + node.width + gap;
    for (const child of node.children) place(child, childrenLeft);
  };
  place(root, MARGIN);
  const left = (node) => node.x - node.width / 2;
  const lines = linesBetween(nodes, (parent, child) => {
    const end = [left(child) - 3, child.y];
    if (child.kind === "triangle") {
      const [apex, base] = [[left(child), child.y], left(child) + TRIANGLE];
      return [apex, [base, child.y - HALF + 3], [base, child.y + HALF - 3], apex];
    }
    if (parent.isAbove) {
      const bar = left(parent) + INDENT / 2;
      return [[bar, parent.y + HALF], [bar, child.y], end];
    }
    const [start, bar] = [parent.x + parent.width / 2 + 3, parent.x + parent.width / 2 + COLUMN_GAP / 2];
    return [[start, parent.y], [bar, parent.y], [bar, child.y], end];
  });
  return { kind: "sideways", root, nodes, lines, ...sizeOf(nodes) };
}

// The widths of a node on the levels that it covers: a word is below its tag, and on the level of its tag's children.
function levelWidths(node) {
  if (node.kind === "triangle") return [node.width, node.width];
  return node.tag ? [textWidth(node.tag, TAG_SIZE), node.width] : [node.width];
}

function linesBetween(nodes, pointsOf) {
  return nodes.flatMap((parent) => parent.children.map((child) => ({ child, points: pointsOf(parent, child) })));
}

function sizeOf(nodes) {
  const width = Math.max(...nodes.map((node) => node.x + node.width / 2)) + MARGIN;
  const height = Math.max(...nodes.map((node) => node.wordY)) + HALF + MARGIN;
  return { width, height };
}

function mirror({ nodes, lines, width }) {
  for (const node of nodes) [node.x, node.tagX, node.wordX] = [width - node.x, width - node.tagX, width - node.wordX];
  for (const { points } of lines) for (const point of points) point[0] = width - point[0];
}

function measure(node) {
  if (node.kind !== "label") {
    node.width = Math.max(textWidth(node.word, LABEL_SIZE), textWidth(node.tag, TAG_SIZE));
    return;
  }
  node.number = shortProbability(node.probability);
  const numberWidth = node.number ? textWidth(node.number, NUMBER_SIZE) + 3 : 0;
  node.width = textWidth(visible(node.label), LABEL_SIZE, 600) + numberWidth + 2 * PAD;
}
