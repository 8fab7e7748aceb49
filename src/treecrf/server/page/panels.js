// What stands around the picture: sentences to go to, constraints, and trees to choose from.
import { chance, percent } from "./colours.js";
import { byId, html, svg } from "./dom.js";
import { drawLegend } from "./tree.js";

const LONGEST = 90; // characters of a sentence in a menu
const nameOf = ({ start, end, label }) => `${label} ${start}-${end}`;

// The constituents that a tree has and another has not, or not as often.
export function newIn(tree, other) {
  const known = other.spans.map(nameOf);
  return tree.spans.filter((span) => {
    const place = known.indexOf(nameOf(span));
    if (place >= 0) known.splice(place, 1);
    return place < 0;
  });
}

export function showSentences(texts, current) {
  const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
  const option = (text, i) => html("option", { value: i, selected: i === current }, `${i + 1}. ${cut(text)}`);
  byId("sentences").hidden = texts.length < 2;
  byId("count").textContent = `Sentence ${current + 1} of ${texts.length}`;
  byId("sentence").replaceChildren(...texts.map(option));
  byId("before").disabled = current === 0;
  byId("after").disabled = current === texts.length - 1;
}

export function showConstraints(known, textOf, onChange) {
  const item = (one, i) => {
    const text = textOf(one);
    const told = ` must ${one.verb === "forbid" ? "not " : ""}be ${one.label ?? "a phrase"}`;
    const remove = html("button", { class: "quiet", "aria-label": `Remove: ${text}${told}` }, "×");
    remove.addEventListener("click", () => onChange(known.filter((_, other) => other !== i)));
    return html("li", { class: one.verb }, html("span", {}, html("b", { dir: "auto" }, text), told), remove);
  };
  byId("constraints").replaceChildren(...known.map(item));
}

// Each tree with what it has and the first has not, and the other way round.
export function showRanks(trees, current, textOf) {
  const [first] = trees;
  const most = Math.max(...trees.map((tree) => tree.log_prob));
  const row = (tree, i) => {
    const has = newIn(tree, first).map((span) => `${span.label} ${textOf(span)}`);
    const lacks = newIn(first, tree).map((span) => `no ${span.label} ${textOf(span)}`);
    const news = i ? [...has, ...lacks].join("; ") || "the same phrases in another order" : "the parser’s choice";
    const input = html("input", { type: "radio", name: "rank", value: i, checked: i === current });
    const number = html("span", { class: "chance" }, chance(tree));
    const label = html("label", {}, input, number, html("span", { class: "news", dir: "auto", title: news }, news));
    label.style.setProperty("--part", Math.exp(tree.log_prob - most)); // which the style sheet draws as a bar
    return label;
  };
  byId("ranks").replaceChildren(...trees.map(row));
}

export function showChoice({ trees, entropy }, current) {
  const tree = trees[current];
  byId("which").textContent = `Tree ${current + 1} of ${trees.length}: ${chance(tree)}`;
  byId("previous").disabled = current === 0;
  byId("next").disabled = current === trees.length - 1;
  byId("ranks").querySelectorAll("input")[current].checked = true;
  const [own, all] = [tree.log_prob, entropy].map((value) => value.toFixed(3).replace("-", "−"));
  byId("numbers").textContent = `Log-probability ${own}; entropy of all bracketings ${all} nats`;
}

export function showLegend(theme, view) {
  const isHeat = view === "heat";
  const turn = (probability) => (isHeat ? 1 - probability : probability);
  const scale = svg("svg", { width: 172, height: 28, "aria-hidden": "true" }, drawLegend(theme, turn, 10));
  const text = isHeat
    ? "A square is a span: from the word at the left of its row to the word at the foot of its column. The tree’s have a frame."
    : "What is doubtful stands out; a frame marks what the first tree has not.";
  byId("legend").replaceChildren(scale, text);
  byId("legend").hidden = view === "outline";
}

// What is known about a run of words, in lines: its text first.
export function factsAbout(run, tree, marginals, textOf) {
  const own = tree.spans.filter(({ start, end }) => start === run.start && end === run.end);
  const span = marginals?.[run.start][run.end - run.start - 1];
  const rate = span === undefined ? [] : [`as a span ${percent(span)}`];
  return [textOf(run), ...own.map(({ label, probability }) => `${label} ${percent(probability)}`), ...rate];
}
