// The outline view: the tree as nested lists and in brackets, for screen readers and small screens.
import { formatProbability } from "./colors.js";
import { html } from "./dom.js";

export function drawOutline(root, { framedSpans, textOf, brackets }) {
  const item = (node) => {
    if (node.kind === "triangle") return html("li", { class: "faint" }, "collapsed");
    const word = html("b", { dir: "auto" }, node.word);
    if (node.kind === "leaf") return html("li", {}, node.tag ? `${node.tag} ` : "", word);
    const label = html("b", { class: framedSpans.includes(node.span) ? "name framed" : "name" }, node.label);
    const number = node.probability === undefined ? "" : ` ${formatProbability(node.probability)}`;
    const probability = html("span", { class: "faint" }, `${number} · `);
    const children = html("ul", {}, ...node.children.map(item));
    return html("li", {}, label, probability, html("span", { dir: "auto" }, textOf(node)), children);
  };
  return html("div", { class: "outline" }, html("ul", {}, item(root)), html("p", { class: "brackets" }, brackets));
}
