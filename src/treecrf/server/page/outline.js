// The tree as nested lists, and in brackets: for screen readers, small screens, and whoever likes text.
import { percent } from "./colours.js";
import { html } from "./dom.js";

export function drawOutline(root, textOf, brackets) {
  const item = (node) => {
    if (node.kind === "leaf") return html("li", {}, `${node.tag} `, html("b", { dir: "auto" }, node.word));
    const lists = html("ul", {}, ...node.children.map(item));
    const about = html("span", { class: "faint" }, ` ${percent(node.probability)} · `);
    return html("li", {}, html("b", { class: "name" }, node.label), about, html("span", { dir: "auto" }, textOf(node)), lists);
  };
  return html("div", { class: "outline" }, html("ul", {}, item(root)), html("p", { class: "brackets" }, brackets));
}
