// Shows the current tree, and beside it the tree to compare with.
import { treeProbability } from "./colors.js";
import { addedSpans, describeComparison } from "./differences.js";
import { byId, html } from "./dom.js";
import { drawHeatmap } from "./heatmap.js";
import { nodeKey, toShownNodes } from "./nodes.js";
import { drawOutline } from "./outline.js";
import { comparedTree, currentTree, joinWords, page, textOf, updateAddress } from "./page.js";
import { describeSpan, explain, showCurrentTree, showLegend } from "./panels.js";
import { HIDEABLE_PARTS, VIEWS } from "./state.js";
import { theme } from "./theme.js";
import { drawTree } from "./tree.js";
import { layoutTrees } from "./tree_layout.js";
import { Viewer } from "./viewer.js";
import { WordSelector } from "./word_selector.js";

const VIEW_PADDING = 24;

export const announce = (text) => (byId("status").textContent = text); // to screen readers
export const wordSelector = new WordSelector(byId("words"), showSelection);
export const viewers = [
  createViewer(byId("view"), () => ({ analysis: page.analysis, tree: currentTree() })),
  createViewer(byId("other-view"), comparedTree),
];

// Two trees scroll together.
viewers.forEach(({ view }, i) => {
  const other = viewers[1 - i].view;
  view.addEventListener("scroll", () => {
    if (view.matches(":hover, :focus-within")) other.scrollTo(view.scrollLeft, view.scrollTop);
  });
});

function createViewer(element, shownTree) {
  return new Viewer(element, {
    describe: (span, group) => {
      const { label, tag } = group.dataset;
      if (label) return [group.ariaLabel.replace(", probability", ""), explain(label, page.labels.labels), textOf(span)];
      const [text, ...facts] = describeSpan(span, shownTree().tree, shownTree().analysis.marginals, textOf);
      return [text, ...(tag ? [explain(tag, page.labels.tags)] : []), ...facts];
    },
    onHover: (span) => wordSelector.highlight(span),
    onSelect: selectSpan,
    onToggle: toggleCollapsed,
  });
}

// Shows the current tree and its comparison. With `isAnimated`, nodes move from their positions in the last picture.
export function showTree({ isAnimated = false } = {}) {
  const { state } = page;
  const name = `Tree ${state.tree + 1} of model ${page.model.name}`;
  const shown = { analysis: page.analysis, tree: currentTree(), name };
  const other = comparedTree();
  showControls();
  byId("other").hidden = !other;
  byId("analysis").classList.toggle("comparing", Boolean(other));
  const layouts = layoutShown(other ? [shown, other] : [shown]);
  const maxScale = Math.min(...layouts.map(({ width }) => viewers[0].fittingScale(width))); // the same for both trees
  const options = { isAnimated, maxScale };
  showPane(viewers[0], shown, { ...options, layout: layouts[0], otherTree: other?.tree ?? page.analysis.trees[0] });
  if (other) showPane(viewers[1], other, { ...options, layout: layouts[1], otherTree: shown.tree });
  showComparison("comparison", shown, other);
  showComparison("other-comparison", other, shown);
  for (const viewer of viewers) {
    viewer.mark(page.selection);
    viewer.markMatches(page.matches.filter(({ sentence }) => sentence === state.sentence));
  }
  showLegend(theme(), state.view);
  showCurrentTree(page.analysis, state.tree);
  updateAddress();
}

function showControls() {
  const { state, analysis, server } = page;
  for (const view of VIEWS) {
    const tab = byId(`tab-${view}`);
    tab.ariaSelected = view === state.view;
    tab.tabIndex = view === state.view ? 0 : -1;
  }
  byId("view").setAttribute("aria-labelledby", `tab-${state.view}`);
  byId("zoom").hidden = state.view === "outline";
  byId("layout").value = state.layout;
  byId("functions").checked = state.functions;
  byId("functions").parentElement.hidden = !page.model.has_functions;
  for (const part of HIDEABLE_PARTS) byId(`hide-${part}`).checked = state.hiddenParts.includes(part);
  byId("expand").hidden = !state.collapsed.length;
  const option = (value, text) => html("option", { value, selected: value === comparedValue() }, text);
  const trees = analysis.trees.map((tree, i) => option(`tree:${i}`, `Tree ${i + 1} (${treeProbability(tree) || "file"})`));
  const otherModels = server.models.filter((one) => one !== page.model);
  const models = otherModels.map(({ name }) => option(`model:${name}`, name));
  byId("compare").replaceChildren(
    option("", "nothing"),
    html("optgroup", { label: "Other models", disabled: !models.length }, ...models),
    html("optgroup", { label: "Trees of this model" }, ...trees),
  );
}

function comparedValue() {
  const { compared } = page.state;
  if (!compared) return "";
  return "model" in compared ? `model:${compared.model}` : `tree:${compared.tree}`;
}

function showPane(viewer, { analysis, tree }, { layout, otherTree, isAnimated, maxScale }) {
  const framedSpans = addedSpans(tree, otherTree);
  const { view } = page.state;
  if (view === "tree") {
    const picture = drawTree(layout, theme(), { title: joinWords(analysis.words), framedSpans, forScreen: true });
    viewer.show(picture, { ...layout, isAnimated, maxScale });
  } else if (view === "outline") {
    viewer.show(drawOutline(shownNodes({ analysis, tree }), { framedSpans, textOf, brackets: tree.tree }));
  } else if (analysis.marginals) {
    viewer.show(...drawHeatmap(analysis, tree, theme()));
  } else {
    viewer.show(html("p", {}, `This server shows heat maps of at most ${page.server.limits.marginal_words} words.`));
  }
}

function showComparison(id, shown, other) {
  byId(id).hidden = !(shown && other);
  if (!shown || !other) return;
  const probability = treeProbability(shown.tree);
  const heading = html("b", {}, `${shown.name}${probability && `: ${probability}`}`);
  byId(id).replaceChildren(heading, html("span", {}, describeComparison(shown.tree, other.tree, textOf)));
}

function shownNodes({ analysis, tree, collapsed = page.state.collapsed }) {
  const { hiddenParts } = page.state;
  const { root } = page.server.models.find((one) => one.name === analysis.model) ?? page.model;
  return toShownNodes(tree, analysis, { hiddenParts, collapsed, rootLabel: root, joinWords });
}

// The layouts of trees with the parts that are shown, for the width of the view.
function layoutShown(shownTrees) {
  const viewWidth = viewers[0].view.clientWidth - VIEW_PADDING;
  const [{ analysis }] = shownTrees;
  return layoutTrees(shownTrees.map(shownNodes), { words: analysis.words, layout: page.state.layout, viewWidth });
}

// The picture of a tree for files: as on the screen, without the frames of selections and differences.
export function drawPicture(shown = { analysis: page.analysis, tree: currentTree() }) {
  const [title, brackets] = [joinWords(shown.analysis.words), shown.tree.tree];
  return drawTree(layoutShown([shown])[0], theme(), { title, brackets });
}

export const currentNodes = () => shownNodes({ analysis: page.analysis, tree: currentTree() });

// ---- selection

export function selectSpan(span) {
  if (span) [wordSelector.anchor, wordSelector.focus] = [span.start, span.end - 1];
  wordSelector.select(span);
}

// Shows the selected span, and what can be done with it.
function showSelection(span) {
  page.selection = span;
  byId("span").hidden = span === null;
  for (const viewer of viewers) viewer.mark(span);
  if (span === null) return;
  const { analysis } = page;
  const [text, ...facts] = analysis ? describeSpan(span, currentTree(), analysis.marginals, textOf) : [textOf(span)];
  byId("span-description").replaceChildren(html("b", { dir: "auto" }, text), ` ${facts.join(", ")}`);
  const constituent = selectedConstituent();
  byId("collapse").hidden = !constituent;
  const isCollapsed = constituent && page.state.collapsed.includes(nodeKey(constituent));
  byId("collapse").textContent = isCollapsed ? "Expand" : "Collapse";
  announce([text, ...facts].join(", "));
}

// The highest constituent over the selected words, or null.
export function selectedConstituent() {
  const { analysis, selection } = page;
  if (!analysis || !selection || selection.end - selection.start < 2) return null;
  return currentTree().spans.find(({ start, end }) => start === selection.start && end === selection.end) ?? null;
}

// Collapses a constituent, or expands it.
export function toggleCollapsed(constituent) {
  const { state } = page;
  const key = nodeKey(constituent);
  const isCollapsed = state.collapsed.includes(key);
  state.collapsed = isCollapsed ? state.collapsed.filter((one) => one !== key) : [...state.collapsed, key];
  showTree({ isAnimated: true });
  if (page.selection) showSelection(page.selection);
  announce(`${constituent.label} ${isCollapsed ? "expanded" : "collapsed"}.`);
}
