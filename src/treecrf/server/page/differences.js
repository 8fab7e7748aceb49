// Differences between trees, in words.
import { formatProbability } from "./colors.js";
import { withoutFunctions } from "./nodes.js";

const spanKey = ({ start, end, label }) => `${withoutFunctions(label)} ${start}-${end}`;

// The constituents of a tree that another tree does not have, or does not have as often; functions do not count.
export function addedSpans(tree, other) {
  const otherKeys = other.spans.map(spanKey);
  return tree.spans.filter((span) => {
    const index = otherKeys.indexOf(spanKey(span));
    if (index >= 0) otherKeys.splice(index, 1);
    return index < 0;
  });
}

// For each tree, what it is or what it changes against the most probable tree. No two trees have the same lines.
export function describeTrees({ trees, choice, bestTree = trees[0] }, textOf) {
  const descriptions = [];
  const seen = new Set();
  for (const tree of trees) {
    const roles = [
      ...(tree.isOpened ? ["The tree of the file"] : []),
      ...(tree === choice ? ["The parser’s choice"] : []),
      ...(tree === bestTree && choice ? ["The most probable tree"] : []),
    ];
    let changes = tree === bestTree ? [] : (tree.differences ?? []);
    const isUnclear = !changes.length || seen.has(changes.join());
    if (tree !== bestTree && isUnclear) changes = [...changes, ...listSpans(tree, bestTree, textOf)];
    seen.add(changes.join());
    if (tree.isOpened && choice && !addedSpans(tree, bestTree).length && !addedSpans(bestTree, tree).length) {
      roles.push("The same constituents as the most probable tree");
    }
    descriptions.push([...roles, ...changes]);
  }
  return descriptions;
}

function listSpans(tree, bestTree, textOf) {
  const name = (span) => `${span.label} “${textOf(span)}”`;
  return [
    ...addedSpans(tree, bestTree).map((span) => `with ${name(span)}`),
    ...addedSpans(bestTree, tree).map((span) => `without ${name(span)}`),
  ];
}

// What a tree has and the other tree has not, as a line of text.
export function describeComparison(tree, other, textOf) {
  const spans = addedSpans(tree, other);
  if (!spans.length) return "Every constituent is in the other tree too.";
  const probability = ({ calibrated }) => (calibrated === undefined ? "" : ` (${formatProbability(calibrated)})`);
  const name = (span) => `${span.label} “${textOf(span)}”${probability(span)}`;
  const count = spans.length === 1 ? "1 constituent" : `${spans.length} constituents`;
  return `${count} only here: ${spans.map(name).join("; ")}`;
}
