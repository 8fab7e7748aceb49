// The tree of a sentence that is annotated: doubtful and fixed constituents are marked, and constituents can be dragged.
import { byId } from "./dom.js";
import { toNodes } from "./nodes.js";
import { theme } from "./theme.js";
import { drawTree } from "./tree.js";
import { layoutTrees } from "./tree_layout.js";
import { Viewer } from "./viewer.js";

const PADDING = 24;

const isFixed = (sentence, node) =>
  sentence.require.some(([start, end, label]) => start === node.start && end === node.end && (!label || label === node.label));

export function drawSentence(sentence, width) {
  const [layout] = layoutTrees([toNodes(sentence, sentence)], { words: sentence.words, layout: "auto", viewWidth: width - PADDING });
  return [drawTree(layout, theme(), { title: sentence.words.join(" "), forScreen: true }), layout];
}

export class TreeEditor {
  // `onSelect(span)` gets a span or null; `onDrag(moved, target)` gets two constituents.
  constructor({ onSelect, onHover, onDrag }) {
    this.sentence = null;
    this.viewer = new Viewer(byId("view"), { onHover, onSelect, onToggle: () => {} });
    byId("view").addEventListener("pointerdown", (event) => (this.dragged = this.constituentAt(event.target)));
    byId("view").addEventListener("pointerup", (event) => {
      const target = this.constituentAt(document.elementFromPoint(event.clientX, event.clientY));
      const { dragged } = this;
      this.dragged = null;
      if (dragged && target && keyOf(dragged) !== keyOf(target)) onDrag(dragged, target);
    });
  }

  show(sentence, isAnimated) {
    this.sentence = sentence;
    const [picture, layout] = drawSentence(sentence, byId("view").clientWidth);
    this.viewer.show(picture, { ...layout, isAnimated });
    const groups = picture.querySelectorAll("g.label");
    sentence.spans.forEach((span, i) => {
      groups[i].classList.toggle("doubted", span.in_doubt);
      groups[i].classList.toggle("fixed", isFixed(sentence, span));
      if (span.in_doubt) groups[i].ariaLabel += ", in doubt";
    });
  }

  // The constituent of a span: the focused one, the one selected before, or the highest.
  constituent(span, before) {
    const focused = this.viewer.focusedConstituent();
    const isSame = (one) => one && span && one.start === span.start && one.end === span.end;
    if (isSame(focused)) return focused;
    const chain = this.sentence.spans.filter(isSame);
    return chain.find(({ label }) => isSame(before) && label === before.label) ?? chain[0] ?? null;
  }

  constituentAt(element) {
    const group = element?.closest?.("#view g.label");
    return group ? { start: Number(group.dataset.start), end: Number(group.dataset.end), label: group.dataset.label } : null;
  }

  markMoving(constituent) {
    for (const group of byId("view").querySelectorAll("g.label")) {
      group.classList.toggle("moving", constituent !== null && keyOf(this.constituentAt(group)) === keyOf(constituent));
    }
  }

  // Focuses the lowest constituent around a span, unless a constituent of this span has the focus.
  focusAround({ start, end }) {
    const groups = [...byId("view").querySelectorAll("g.label")];
    const around = groups.filter(({ dataset }) => Number(dataset.start) <= start && Number(dataset.end) >= end);
    const { dataset } = around.at(-1);
    const focused = this.viewer.focusedConstituent();
    if (focused?.start !== Number(dataset.start) || focused.end !== Number(dataset.end)) this.viewer.focus(around.at(-1));
  }

  // Focuses and returns the next doubtful constituent after the focused one.
  focusNextDoubt() {
    const groups = [...byId("view").querySelectorAll("g.label")];
    const doubted = groups.filter((group) => group.classList.contains("doubted"));
    const current = groups.indexOf(document.activeElement);
    const next = doubted.find((group) => groups.indexOf(group) > current) ?? doubted[0];
    if (next) this.viewer.focus(next);
    return next ? this.constituentAt(next) : null;
  }
}

const keyOf = ({ start, end, label }) => `${start}-${end}:${label}`;
