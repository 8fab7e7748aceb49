// Where the nodes of a tree stand: close together, parents over the middle of their children, nothing overlapping.
export const FONT =
  "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'PingFang SC', 'Hiragino Sans', " +
  "'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', 'WenQuanYi Micro Hei', sans-serif";

const canvas = document.createElement("canvas").getContext("2d");

export function widthOf(text, size, weight = 400) {
  canvas.font = `${weight} ${size}px ${FONT}`;
  return canvas.measureText(text).width;
}

// Text as it is drawn: characters without a shape by their numbers.
export function visible(text) {
  const spell = (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`;
  return text.replace(/[\0-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\ufeff]|[^\S ]/gu, spell);
}

export function isRightToLeft(words) {
  const text = words.join("");
  const count = (pattern) => (text.match(pattern) ?? []).length;
  return count(/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu) > count(/\p{L}/gu) / 2;
}

// A tree of nodes from constituents in the order of brackets, and the words' own leaves.
export function toNodes({ spans }, { words, tags }) {
  let next = 0;
  const leaf = (start, depth) => {
    const tag = tags[start] === "_" ? "" : visible(tags[start]);
    return { kind: "leaf", start, end: start + 1, depth, tag, word: visible(words[start]), children: [] };
  };
  const constituent = (depth) => {
    const span = spans[next++];
    const node = { kind: "label", span, ...span, depth, children: [] };
    for (let place = node.start; place < node.end; place = node.children.at(-1).end) {
      const isNext = spans[next]?.start === place && spans[next].end <= node.end;
      node.children.push(isNext ? constituent(depth + 1) : leaf(place, depth + 1));
    }
    return node;
  };
  return spans.length ? constituent(0) : leaf(0, 0);
}

// All nodes below a node and itself, parents first.
export const walk = (node) => [node, ...node.children.flatMap(walk)];

// Gives each node its `x`, the middle; `extents(node)` are its widths, level by level.
export function spread(root, extents, gap) {
  place(root, extents, gap);
  root.offset = 0;
  const nodes = walk(root);
  for (const node of nodes) {
    node.x = node === root ? 0 : node.x + node.offset;
    for (const child of node.children) child.x = node.x;
  }
  const least = Math.min(...nodes.map((node) => node.x - Math.max(...extents(node)) / 2));
  for (const node of nodes) node.x -= least;
}

// An outline holds how far a subtree reaches to the left and to the right of its middle, level by level.
function place(node, extents, gap) {
  const own = extents(node).map((extent) => extent / 2);
  const outline = { left: own.map((half) => -half), right: own };
  if (!node.children.length) return outline;
  const below = node.children.map((child) => place(child, extents, gap));
  const places = middling(below, gap);
  const middle = places.at(-1) / 2;
  node.children.forEach((child, i) => (child.offset = places[i] - middle));
  const row = { left: [], right: [] };
  below.forEach((part, i) => join(row, part, places[i] - middle));
  return { left: [...outline.left, ...row.left], right: [...outline.right, ...row.right] };
}

// The mean of packing to the left and to the right: small subtrees stand in the middle of their room.
function middling(outlines, gap) {
  const leftmost = packed(outlines, gap);
  const mirrored = outlines.map(({ left, right }) => ({ left: right.map((v) => -v), right: left.map((v) => -v) }));
  const rightmost = packed(mirrored.reverse(), gap).reverse();
  return leftmost.map((value, i) => (value + leftmost.at(-1) - rightmost[i]) / 2);
}

function packed(outlines, gap) {
  const row = { left: [], right: [] };
  return outlines.map((outline, i) => {
    const apart = outline.left.map((left, level) => (row.right[level] ?? -Infinity) - left + gap);
    const at = i ? Math.max(...apart) : 0;
    join(row, outline, at);
    return at;
  });
}

function join(row, { left, right }, at) {
  left.forEach((value, level) => (row.left[level] ??= value + at));
  right.forEach((value, level) => (row.right[level] = value + at));
}
