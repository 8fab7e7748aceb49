// Reads trees from text: brackets, or lines of `treecrf parse --format json`.
const TREE_START = /^\s*(?:<[^>\n]*>\s*)*\(\s*[^\s()]*\s*\(\s*[^\s()]*[\s(]/; // two brackets, each with a label at most
const EMPTY_TAG = "-NONE-"; // elements without a word, which the page leaves out

// The trees of a text, each with its brackets, words, tags and constituents; null if the text does not begin like trees.
export function readTrees(text) {
  if (/^\s*\{.*"tree"/.test(text)) return readJsonLines(text);
  return TREE_START.test(text) ? readBrackets(text) : null;
}

function readJsonLines(text) {
  return text.split("\n").flatMap((line, i) => {
    if (!line.trim()) return [];
    try {
      const value = JSON.parse(line);
      const records = (value.sentences ?? [value]).filter(({ tree }) => tree !== null);
      return records.map((record) => {
        const [tree] = readBrackets(record.tree);
        const hasProbabilities = record.spans?.length === tree.spans.length && "calibrated" in record.spans[0];
        return hasProbabilities ? { ...tree, spans: record.spans, calibrated: record.calibrated } : tree;
      });
    } catch {
      throw new Error(`line ${i + 1} is no line of treecrf parse --format json`);
    }
  });
}

function readBrackets(text) {
  const trees = [];
  const open = []; // the brackets that are not closed, outermost first
  let tree = null;
  for (const { 0: token, index } of text.matchAll(/[()]|[^\s()]+/g)) {
    const fail = (reason) => {
      throw new Error(`line ${text.slice(0, index).split("\n").length} ${reason}`);
    };
    const node = open.at(-1);
    if (token === "(") {
      if (node?.word !== undefined) fail(`has a bracket after the word ${node.word}`);
      if (!node) tree = { words: [], tags: [], spans: [], start: index };
      if (node) node.children += 1;
      open.push({ label: "", start: tree.words.length, place: tree.spans.length, children: 0 });
      tree.spans.push(null);
    } else if (token === ")") {
      if (!node) fail("closes a bracket that is not open");
      open.pop();
      close(node, tree, fail);
      if (!open.length && tree.words.length) trees.push(finish(tree, text.slice(tree.start, index + 1)));
    } else if (!node) {
      const line = text.slice(text.lastIndexOf("\n", index) + 1, index + 1);
      if (!line.trimStart().startsWith("<")) fail(`has “${token}” between trees`);
    } else if (node.label === "" && !node.children) node.label = unescape(token);
    else if (node.word !== undefined || node.children) fail(`has “${token}”, which has no tag of its own`);
    else node.word = unescape(token);
  }
  if (open.length) throw new Error(`the tree in line ${text.slice(0, tree.start).split("\n").length} is not closed`);
  return trees;
}

function close({ label, word, start, place, children }, tree, fail) {
  if (word !== undefined && label !== EMPTY_TAG) {
    tree.words.push(word);
    tree.tags.push(label);
  } else if (word === undefined && !children) fail("has a bracket without words");
  else if (tree.words.length > start) tree.spans[place] = { label: label || "TOP", start, end: tree.words.length };
}

function finish({ words, tags, spans }, source) {
  return { isOpened: true, tree: source.replace(/\s+/g, " "), words, tags, spans: spans.filter(Boolean) };
}

const unescape = (text) => text.replace(/\\u\{([0-9a-f]{1,6})\}/g, (_, code) => String.fromCodePoint(parseInt(code, 16)));
