// Layout from top to bottom: compact, without overlaps, with each parent centered above its children.
import { walk } from "./nodes.js";

// Sets the center `x` of each node; `widths(node)` has the node's width on each level that it covers.
export function placeNodes(root, widths, gap) {
  placeChildren(root, widths, gap);
  root.offset = 0;
  const nodes = walk(root);
  for (const node of nodes) {
    node.x = node === root ? 0 : node.x + node.offset;
    for (const child of node.children) child.x = node.x;
  }
  const left = Math.min(...nodes.map((node) => node.x - Math.max(...widths(node)) / 2));
  for (const node of nodes) node.x -= left;
}
// Sets each node's `offset` from its parent, and returns the contour of the subtree: its extent to the left and to the
// right of the root's center, level by level.
function placeChildren(node, widths, gap) {
  const halves = widths(node).map((width) => width / 2);
  const contour = { left: halves.map((half) => -half), right: halves };
  if (!node.children.length) return contour;
  const childContours = node.children.map((child) => placeChildren(child, widths, gap));
  const positions = centeredPositions(childContours, gap);
  const center = positions.at(-1) / 2;
  node.children.forEach((child, i) => (child.offset = positions[i] - center));
  const row = { left: [], right: [] };
  childContours.forEach((childContour, i) => addContour(row, childContour, positions[i] - center));
  return { left: [...contour.left, ...row.left], right: [...contour.right, ...row.right] };
}

// The mean of packing to the left and packing to the right, which centers small subtrees between large ones.
function centeredPositions(contours, gap) {
  const leftmost = packedPositions(contours, gap);
  const mirrored = contours.map(({ left, right }) => ({ left: right.map((v) => -v), right: left.map((v) => -v) }));
  const rightmost = packedPositions(mirrored.reverse(), gap).reverse();
  return leftmost.map((value, i) => (value + leftmost.at(-1) - rightmost[i]) / 2);
}

function packedPositions(contours, gap) {
  const row = { left: [], right: [] };
  return contours.map((contour, i) => {
    const distances = contour.left.map((left, level) => (row.right[level] ?? -Infinity) - left + gap);
    const position = i ? Math.max(...distances) : 0;
    addContour(row, contour, position);
    return position;
  });
}

function addContour(row, { left, right }, position) {
  left.forEach((value, level) => (row.left[level] ??= value + position));
  right.forEach((value, level) => (row.right[level] = value + position));
}
