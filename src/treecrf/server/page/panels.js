// The panels around the picture: the list of sentences, the constraints, the list of trees, the legend.
import { formatProbability, treeProbability } from "./colors.js";
import { byId, html, svg } from "./dom.js";
import { drawLegend } from "./tree.js";

const MENU_CHARACTERS = 90; // longer sentences are cut in the menu
const spanKey = ({ start, end, label }) => `${label} ${start}-${end}`;

// The constituents of a tree that another tree does not have, or does not have as often.
export function addedSpans(tree, other) {
  const otherKeys = other.spans.map(spanKey);
  return tree.spans.filter((span) => {
    const index = otherKeys.indexOf(spanKey(span));
    if (index >= 0) otherKeys.splice(index, 1);
    return index < 0;
  });
}

export function showSentences(texts, current) {
  const cut = (text) => (text.length > MENU_CHARACTERS ? `${text.slice(0, MENU_CHARACTERS)}…` : text);
  const option = (text, i) => html("option", { value: i, selected: i === current }, `${i + 1}. ${cut(text)}`);
  byId("sentences").hidden = texts.length < 2;
  byId("count").textContent = `Sentence ${current + 1} of ${texts.length}`;
  byId("sentence").replaceChildren(...texts.map(option));
  byId("previous-sentence").disabled = current === 0;
  byId("next-sentence").disabled = current === texts.length - 1;
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

// Lists the trees, each with its differences from the first one.
export function showTreeList(trees, current, textOf) {
  const [first] = trees;
  const maximum = Math.max(...trees.map((tree) => tree.log_prob));
  const describe = (tree) => {
    const added = addedSpans(tree, first).map((span) => `${span.label} ${textOf(span)}`);
    const removed = addedSpans(first, tree).map((span) => `no ${span.label} ${textOf(span)}`);
    return [...added, ...removed].join("; ") || "the same constituents in another order";
  };
  const row = (tree, i) => {
    const text = i ? describe(tree) : "the parser’s choice";
    const input = html("input", { type: "radio", name: "tree", value: i, checked: i === current });
    const probability = html("span", { class: "probability" }, treeProbability(tree));
    const label = html("label", {}, input, probability, html("span", { class: "differences", dir: "auto", title: text }, text));
    label.style.setProperty("--part", Math.exp(tree.log_prob - maximum)); // the length of the bar in the style sheet
    return label;
  };
  byId("tree-list").replaceChildren(...trees.map(row));
}

export function showCurrentTree({ trees, entropy }, current) {
  const tree = trees[current];
  byId("tree-number").textContent = `Tree ${current + 1} of ${trees.length}: ${treeProbability(tree)}`;
  byId("previous-tree").disabled = current === 0;
  byId("next-tree").disabled = current === trees.length - 1;
  byId("tree-list").querySelectorAll("input")[current].checked = true;
  const format = (value) => value.toFixed(3).replace("-", "−");
  byId("numbers").textContent = `Log-probability ${format(tree.log_prob)}; entropy of all bracketings ${format(entropy)} nats`;
}

export function showLegend(theme, view) {
  const isHeatmap = view === "heat";
  const toScale = (probability) => (isHeatmap ? 1 - probability : probability);
  const scale = svg("svg", { width: 172, height: 28, "aria-hidden": "true" }, drawLegend(theme, toScale, 10));
  const text = isHeatmap
    ? "Each square is a span, from the word at the left of its row to the word at the bottom of its column. Spans of the tree have a frame."
    : "Strong colors mark improbable constituents. A frame marks constituents that the first tree does not have.";
  byId("legend").replaceChildren(scale, text);
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
