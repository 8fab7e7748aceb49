// The panels around the picture: the list of sentences, the constraints, the list of trees, the legend.
import { formatProbability, treeProbability } from "./colors.js";
import { describeTrees } from "./differences.js";
import { byId, html, svg } from "./dom.js";
import { drawLegend } from "./tree.js";

const MENU_CHARACTERS = 90; // longer sentences are cut in the menu
const LEGENDS = {
  tree:
    "Strong colors mark improbable constituents. A frame marks constituents that the first tree, or the tree beside, " +
    "does not have.",
  heat:
    "Each square is a span, from the word at the left of its row to the word at the bottom of its column. Spans of the " +
    "tree have a frame. Spans below 1 % are dots.",
};

// Fills the menu of sentences.
export function showSentences(texts) {
  const cut = (text) => (text.length > MENU_CHARACTERS ? `${text.slice(0, MENU_CHARACTERS)}…` : text);
  byId("sentences").hidden = texts.length < 2;
  byId("sentence").replaceChildren(...texts.map((text, i) => html("option", { value: i }, `${i + 1}. ${cut(text)}`)));
}

export function showCurrentSentence(current, count, fileName) {
  byId("count").textContent = `${fileName ? `${fileName}: sentence` : "Sentence"} ${current + 1} of ${count}`;
  byId("sentence").value = current;
  byId("previous-sentence").disabled = current === 0;
  byId("next-sentence").disabled = current === count - 1;
}

export function showConstraints(constraints, textOf, onChange) {
  const item = (constraint, i) => {
    const text = textOf(constraint);
    const condition = ` must ${constraint.kind === "forbid" ? "not " : ""}be ${constraint.label ?? "a constituent"}`;
    const remove = html("button", { class: "quiet", "aria-label": `Remove: ${text}${condition}` }, "×");
    remove.addEventListener("click", () => onChange(constraints.filter((_, other) => other !== i)));
    return html("li", { class: constraint.kind }, html("span", {}, html("b", { dir: "auto" }, text), condition), remove);
  };
  byId("constraints").replaceChildren(...constraints.map(item));
}

// Lists the trees with their probabilities, each with its differences from the most probable one.
export function showTreeList(analysis, textOf) {
  const { trees } = analysis;
  const maximum = Math.max(...trees.map((tree) => tree.log_prob));
  const descriptions = describeTrees(analysis, textOf);
  const row = (tree, i) => {
    const input = html("input", { type: "radio", name: "tree", value: i });
    const probability = html("span", { class: "probability" }, treeProbability(tree));
    const lines = descriptions[i].map((line) => html("span", {}, line));
    const label = html("label", {}, input, probability, html("span", { class: "differences" }, ...lines));
    label.style.setProperty("--part", Math.exp(tree.log_prob - maximum)); // the length of the bar in the style sheet
    return label;
  };
  byId("tree-list").replaceChildren(...trees.map(row));
}

export function showCurrentTree(analysis, current) {
  const { trees } = analysis;
  byId("tree-number").textContent = `Tree ${current + 1} of ${trees.length}: ${treeProbability(trees[current])}`;
  byId("previous-tree").disabled = current === 0;
  byId("next-tree").disabled = current === trees.length - 1;
  byId("tree-list").querySelectorAll("input")[current].checked = true;
  showNumbers(analysis, trees[current]);
}

// The log-probabilities of the tree, of the parser's choice and of the most probable tree, side by side.
function showNumbers({ trees, bestTree, entropy, kbest, kbest_exact: isExact }, tree) {
  const format = (value) => value.toFixed(3).replace("-", "−");
  const rows = [
    ["Log-probability of this tree", format(tree.log_prob)],
    ["of the parser’s choice", format(trees[0].log_prob)],
    ...(kbest ? [["of the most probable tree", format(bestTree.log_prob)]] : []),
    ["Calibrated probability of this tree", formatProbability(tree.calibrated)],
    ["Entropy of all bracketings", `${format(entropy)} nats`],
  ];
  byId("numbers").replaceChildren(...rows.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
  const remarks = [];
  if (kbest) {
    remarks.push(
      isExact
        ? "Exact search: no other tree is more probable than these."
        : "The search has reached its limit: other trees may be more probable than these.",
    );
  }
  if (trees[0] !== bestTree) {
    remarks.push(
      "The parser chooses by expected F1 and by the productions of its training trees, so its choice need not be the most " +
        "probable tree.",
    );
  }
  byId("remarks").textContent = remarks.join(" ");
}

export function showLegend(theme, view) {
  const scale = svg("svg", { width: 172, height: 28, "aria-hidden": "true" }, drawLegend(theme, 10));
  byId("legend").replaceChildren(scale, LEGENDS[view] ?? "");
  byId("legend").hidden = view === "outline";
}

// The text of a span, the constituents over it with their probabilities, and its marginal probability.
export function describeSpan(span, tree, marginals, textOf) {
  const constituents = tree.spans.filter(({ start, end }) => start === span.start && end === span.end);
  const marginal = marginals?.[span.start][span.end - span.start - 1];
  return [
    textOf(span),
    ...constituents.map(({ label, calibrated }) => `${label} ${formatProbability(calibrated)}`),
    ...(marginal === undefined ? [] : [`as a span ${formatProbability(marginal)}`]),
  ];
}
