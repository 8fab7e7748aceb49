// The panels around the picture: the list of sentences, the constraints, the list of trees, the legend.
import { formatProbability, treeProbability } from "./colors.js";
import { describeTrees } from "./differences.js";
import { byId, html, svg } from "./dom.js";
import { withoutFunctions } from "./nodes.js";
import { drawLegend } from "./tree.js";

const MENU_CHARACTERS = 90; // longer sentences are cut in the menu
const LEGENDS = {
  tree:
    "Strong colors mark improbable constituents. A frame marks constituents that the first tree, or the tree beside, " +
    "does not have, and a dashed frame what a search has found.",
  heat:
    "Each square is a span, from the word at the left of its row to the word at the bottom of its column. Spans of the " +
    "tree have a frame, their label and its probability; other spans have the model's own. Spans below 1 % are dots.",
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
  const descriptions = describeTrees(analysis, textOf);
  const row = (tree, i) => {
    const input = html("input", { type: "radio", name: "tree", value: i });
    const probability = html("span", { class: "probability" }, treeProbability(tree));
    const lines = descriptions[i].map((line) => html("span", {}, line));
    const label = html("label", {}, input, probability, html("span", { class: "differences" }, ...lines));
    label.style.setProperty("--part", tree.calibrated ?? 0); // the length of the bar in the style sheet
    return label;
  };
  byId("tree-list").replaceChildren(...trees.map(row));
}

export function showCurrentTree(analysis, current) {
  const { trees } = analysis;
  const probability = treeProbability(trees[current]);
  byId("tree-number").textContent = `Tree ${current + 1} of ${trees.length}${probability && `: ${probability}`}`;
  byId("previous-tree").disabled = current === 0;
  byId("next-tree").disabled = current === trees.length - 1;
  byId("tree-list").querySelectorAll("input")[current].checked = true;
  byId("trees").querySelector("details").hidden = trees[current].log_prob === undefined;
  if (trees[current].log_prob !== undefined) showNumbers(analysis, trees[current]);
}

// All numbers of a tree, and the log-probabilities of the parser's choice and of the most probable tree.
function showNumbers({ choice, bestTree, entropy, kbest, kbest_exact: isExact }, tree) {
  const format = (value) => value.toFixed(3).replace("-", "−");
  const percentage = (probability) => `${(100 * probability).toPrecision(3).replace("-", "−")} %`;
  const rows = [
    ["That this tree is correct (calibrated)", percentage(tree.calibrated)],
    ["Of this tree in the model", percentage(Math.exp(tree.log_prob))],
    ...(tree.probability === undefined ? [] : [["Of its reading, all its trees together", percentage(tree.probability)]]),
    ["Log-probability of this tree", format(tree.log_prob)],
    ["of the parser’s choice", format(choice.log_prob)],
    ...(kbest ? [["of the most probable tree", format(bestTree.log_prob)]] : []),
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
  if (choice !== bestTree) {
    remarks.push(
      "The parser chooses by expected F1 and by the productions of its training trees, so its choice need not be the most " +
        "probable tree.",
    );
  }
  byId("remarks").textContent = remarks.join(" ");
}

export function showLegend(theme, view) {
  const scale = svg("svg", { width: 188, height: 28, "aria-hidden": "true" }, drawLegend(theme, 16));
  byId("legend").replaceChildren(scale, LEGENDS[view] ?? "");
  byId("legend").hidden = view === "outline";
}

// The text of a span, the constituents over it with their probabilities, and its marginal probability.
export function describeSpan(span, tree, marginals, textOf) {
  const constituents = tree.spans.filter(({ start, end }) => start === span.start && end === span.end);
  const marginal = marginals?.[span.start][span.end - span.start - 1];
  const number = (probability) => (probability === undefined ? "" : ` ${formatProbability(probability)}`);
  return [
    textOf(span),
    ...constituents.map(({ label, calibrated }) => `${label}${number(calibrated)}`),
    ...(marginal === undefined ? [] : [`as a span${number(marginal)}`]),
  ];
}

// A label or a tag with its meaning. Functions, as in NP-SBJ, are left out if the whole has none.
export function explain(symbol, meanings = {}) {
  const meaning = meanings[symbol] ?? meanings[withoutFunctions(symbol)];
  return meaning ? `${symbol}: ${meaning}` : symbol;
}
