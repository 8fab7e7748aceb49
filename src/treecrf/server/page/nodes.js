// The nodes of a tree that the page shows: constituents, words with tags, and triangles for collapsed constituents.
const PUNCTUATION_TAGS = new Set([".", ",", ":", "``", "''", "-LRB-", "-RRB-", "-LSB-", "-RSB-", "HYPH", "NFP", "PU"]);
const TRIANGLE_WORDS = 6; // longer constituents are cut in a triangle
const END_WORDS = 3; // at the start of a constituent that is cut

// Replaces characters without a glyph by their code points.
export function visible(text) {
  const escape = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;
  return text.replace(/[\0-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\ufeff]|[^\S ]/gu, escape);
}

// A label without functions and index: NP of NP-SBJ-1.
export const withoutFunctions = (label) => label.split(/(?<=.)[-=|]/)[0];

// A node and its descendants in preorder.
export const walk = (node) => [node, ...node.children.flatMap(walk)];

export const nodeKey = ({ start, end, label }) => `${start}-${end}:${label}`;

// Builds the nodes of a tree from its constituents, which are in preorder, and the words. The tree of a file has tags of
// its own.
export function toNodes({ spans, tags: ownTags }, { words, tags: parserTags }) {
  const tags = ownTags ?? parserTags;
  let next = 0;
  const leaf = (start) => {
    const tag = tags[start] === "_" ? "" : visible(tags[start]);
    return { kind: "leaf", start, end: start + 1, tag, word: visible(words[start]), children: [] };
  };
  const constituent = () => {
    const span = spans[next++];
    const node = { kind: "label", span, ...span, probability: span.calibrated, children: [] };
    for (let start = node.start; start < node.end; start = node.children.at(-1).end) {
      const isConstituent = spans[next]?.start === start && spans[next].end <= node.end;
      node.children.push(isConstituent ? constituent() : leaf(start));
    }
    return node;
  };
  return setDepths(spans.length ? constituent() : leaf(0));
}

// The nodes without the hidden parts, and with a triangle below each collapsed constituent.
export function toShownNodes(tree, analysis, { hiddenParts, collapsed, rootLabel, joinWords }) {
  let root = toNodes(tree, analysis);
  if (hiddenParts.includes("punctuation")) root = withoutPunctuation(root) ?? root;
  const isHiddenRoot = (node) => node.label === rootLabel && node.children.length === 1;
  if (hiddenParts.includes("root") && isHiddenRoot(root)) [root] = root.children;
  for (const node of walk(root)) {
    if (node.kind === "leaf" && hiddenParts.includes("tags")) node.tag = "";
    if (node.kind === "label" && collapsed.includes(nodeKey(node))) collapse(node, analysis.words, joinWords);
  }
  return setDepths(root);
}

function setDepths(root, depth = 0) {
  root.depth = depth;
  for (const child of root.children) setDepths(child, depth + 1);
  return root;
}

// The node without punctuation; null if nothing is left.
function withoutPunctuation(node) {
  if (node.kind === "leaf") return isPunctuation(node) ? null : node;
  const children = node.children.map(withoutPunctuation).filter(Boolean);
  return children.length ? { ...node, children } : null;
}

function isPunctuation({ tag, word }) {
  if (!tag) return /^\p{P}+$/u.test(word);
  return PUNCTUATION_TAGS.has(tag) || tag.endsWith("CATEGORY"); // PERIODCATEGORY and others of the Sinica Treebank
}

function collapse(node, words, joinWords) {
  const shown = words.slice(node.start, node.end).map(visible);
  const isLong = shown.length > TRIANGLE_WORDS;
  const word = isLong ? joinWords([...shown.slice(0, END_WORDS), "…", shown.at(-1)]) : joinWords(shown);
  node.isCollapsed = true;
  node.children = [{ kind: "triangle", start: node.start, end: node.end, tag: "", word, children: [] }];
}
