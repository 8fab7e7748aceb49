// Shows the current tree, and beside it the tree to compare with.
import { treeProbability } from "./colors.js";
import { addedSpans, describeComparison } from "./differences.js";
import { byId, html } from "./dom.js";
import { drawHeatmap } from "./heatmap.js";
import { nodeKey, toShownNodes } from "./nodes.js";
import { drawOutline } from "./outline.js";
import { comparedTree, currentConstraints, currentTree, joinWords, page, textOf, updateAddress } from "./page.js";
import { describeSpan, showCurrentTree, showLegend } from "./panels.js";
import { HIDEABLE_PARTS, VIEWS } from "./state.js";
import { theme } from "./theme.js";
import { drawTree } from "./tree.js";
import { layoutTree } from "./tree_layout.js";
import { Viewer } from "./viewer.js";
import { WordSelector } from "./word_selector.js";

const VIEW_PADDING = 24;

export const announce = (text) => (byId("status").textContent = text); // to screen readers
export const wordSelector = new WordSelector(byId("words"), showSelection);
export const viewers = [
  createViewer(byId("view"), () => ({ analysis: page.analysis, tree: currentTree() })),
  createViewer(byId("other-view"), comparedTree),
];

function createViewer(element, shownTree) {
  return new Viewer(element, {
    describe: (span, group) => {
      if (group.classList.contains("label")) return [group.ariaLabel.replace(", probability", ""), textOf(span)];
      return describeSpan(span, shownTree().tree, shownTree().analysis.marginals, textOf);
    },
    onHover: (span) => wordSelector.highlight(span),
    onSelect: selectSpan,
    onToggle: toggleCollapsed,
  });
}

// Shows the current tree and its comparison. With `isAnimated`, nodes move from their positions in the last picture.
export function showTree({ isAnimated = false } = {}) {
  const { state } = page;
  const shown = { analysis: page.analysis, tree: currentTree(), name: `Tree ${state.tree + 1} of model ${page.model.name}` };
  const other = comparedTree();
  showControls();
  byId("other").hidden = !other;
  byId("analysis").classList.toggle("comparing", Boolean(other));
  showPane(viewers[0], shown, { otherTree: other?.tree ?? page.analysis.trees[0], isAnimated });
  if (other) showPane(viewers[1], other, { otherTree: shown.tree, isAnimated });
  showComparison("comparison", shown, other);
  showComparison("other-comparison", other, shown);
  for (const viewer of viewers) viewer.mark(page.selection);
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
  for (const part of HIDEABLE_PARTS) byId(`hide-${part}`).checked = state.hiddenParts.includes(part);
  byId("expand").hidden = !state.collapsed.length;
  const option = (value, text) => html("option", { value, selected: value === comparedValue() }, text);
  const trees = analysis.trees.map((tree, i) => option(`tree:${i}`, `Tree ${i + 1} (${treeProbability(tree)})`));
  const models = server.models.filter((one) => one.name !== page.model.name).map(({ name }) => option(`model:${name}`, name));
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

function showPane(viewer, { analysis, tree }, { otherTree, isAnimated }) {
  const framedSpans = addedSpans(tree, otherTree);
  const { view } = page.state;
  if (view === "tree") {
    const layout = layoutShown(analysis, tree, viewer);
    viewer.show(drawTree(layout, theme(), { title: joinWords(analysis.words), framedSpans, forScreen: true }), { ...layout, isAnimated });
  } else if (view === "outline") {
    viewer.show(drawOutline(shownNodes(analysis, tree), { framedSpans, textOf, brackets: tree.tree }));
  } else if (analysis.marginals) {
    viewer.show(...drawHeatmap(analysis, tree, theme()));
  } else {
    viewer.show(html("p", {}, `This server shows heat maps of at most ${page.server.limits.marginal_words} words.`));
  }
}

function showComparison(id, shown, other) {
  byId(id).hidden = !(shown && other);
  if (!shown || !other) return;
  const heading = html("b", {}, `${shown.name}: ${treeProbability(shown.tree)}`);
  byId(id).replaceChildren(heading, html("span", { dir: "auto" }, describeComparison(shown.tree, other.tree, textOf)));
}

function shownNodes(analysis, tree) {
  const { hiddenParts, collapsed } = page.state;
  const { root } = page.server.models.find((one) => one.name === analysis.model);
  return toShownNodes(tree, analysis, { hiddenParts, collapsed, rootLabel: root, joinWords });
}

// The layout of a tree with the parts that are shown, for the width of a viewer.
function layoutShown(analysis, tree, viewer) {
  const viewWidth = viewer.view.clientWidth - VIEW_PADDING;
  return layoutTree(shownNodes(analysis, tree), { words: analysis.words, layout: page.state.layout, viewWidth });
}

// The picture of the current tree for files: as on the screen, without the frames of selections and differences.
export function drawPicture() {
  const { analysis } = page;
  const [title, brackets] = [joinWords(analysis.words), currentTree().tree];
  return drawTree(layoutShown(analysis, currentTree(), viewers[0]), theme(), { title, brackets });
}

export const currentNodes = () => shownNodes(page.analysis, currentTree());

// ---- selection

export function selectSpan(span) {
  if (span) [wordSelector.anchor, wordSelector.focus] = [span.start, span.end - 1];
  wordSelector.select(span);
}

// Shows the selected span, and what can be done with it.
function showSelection(span) {
  page.selection = span;
  byId("span").hidden = span === null;
  byId("hint").hidden = span !== null || currentConstraints().length > 0;
  for (const viewer of viewers) viewer.mark(span);
  if (span === null) return;
  const { analysis } = page;
  const [text, ...facts] = analysis ? describeSpan(span, currentTree(), analysis.marginals, textOf) : [textOf(span)];
  byId("span-description").replaceChildren(html("b", { dir: "auto" }, text), ` ${facts.join(", ")}`);
  const constituent = selectedConstituent();
  byId("collapse").hidden = !constituent;
  byId("collapse").textContent = constituent && page.state.collapsed.includes(nodeKey(constituent)) ? "Expand" : "Collapse";
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
