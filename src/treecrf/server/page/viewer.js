// The viewer of pictures: zooms, scrolls, and reports the spans that are hovered, focused or selected.
import { byId, html } from "./dom.js";

const [MIN_ZOOM, MAX_ZOOM] = [0.1, 4];
const MIN_INITIAL_ZOOM = 0.7; // pictures that are too wide for this scroll
const MAX_FITTING_ZOOM = 1.25;

export class Viewer {
  // `describe(span, element)` returns the lines of a tooltip, if there is one; `onHover(span)` and `onSelect(span)` get a
  // span or null;
  // `onToggle(node)` gets a constituent to collapse or expand.
  constructor(view, { describe, onHover, onSelect, onToggle }) {
    Object.assign(this, { view, describe, onHover, onSelect, onToggle });
    Object.assign(this, { zoom: null, picture: null, positions: new Map(), clickedConstituent: null });
    view.addEventListener("pointerover", (event) => this.hover(event.target));
    view.addEventListener("pointerleave", () => this.hover(null));
    view.addEventListener("focusin", (event) => this.hover(event.target));
    view.addEventListener("focusout", () => this.hover(null));
    view.addEventListener("scroll", () => this.hover(null), { passive: true });
    view.addEventListener("click", (event) => this.onClick(event));
    view.addEventListener("keydown", (event) => this.onKeyDown(event));
    view.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    new ResizeObserver(() => this.rescale()).observe(view);
  }

  // Shows an element. An element with a size is a picture, which can be zoomed. With `isAnimated`, nodes of the last
  // picture move to their new positions.
  show(element, { width, height, nodes = [], isAnimated = false, maxScale = MAX_FITTING_ZOOM } = {}) {
    const kind = (picture) => ["role", "aria-orientation"].map((name) => picture?.getAttribute(name)).join();
    const isSameView = kind(this.picture) === kind(element);
    const focusedKey = this.view.contains(document.activeElement) && document.activeElement.dataset.key;
    this.picture = width ? element : null;
    this.size = { width, height };
    this.maxScale = maxScale;
    this.view.replaceChildren(element);
    this.hover(null);
    this.rescale();
    const rootX = nodes[0]?.x ?? 0;
    if (!isSameView || !isAnimated) this.view.scrollTo(rootX * this.scale - this.view.clientWidth / 2, 0);
    const oldPositions = this.positions;
    this.positions = new Map();
    const groups = [...element.querySelectorAll("[role=treeitem]")];
    nodes.forEach((node, i) => {
      const key = `${node.label ?? node.kind} ${node.start}-${node.end}`;
      groups[i].dataset.key = key;
      this.positions.set(key, { x: node.x, y: node.y });
      if (isAnimated && isSameView) animateMove(groups[i], oldPositions.get(key), node);
    });
    if (focusedKey) (groups.find((group) => group.dataset.key === focusedKey) ?? groups[0])?.focus();
  }

  // The constituent that has the focus, or null.
  focusedConstituent() {
    const group = this.view.contains(document.activeElement) && document.activeElement.closest("g.label, g.triangle");
    return group ? constituentOf(group) : null;
  }

  isSideways() {
    return this.picture?.getAttribute("aria-orientation") === "horizontal";
  }

  // Marks the nodes or cells of a span as selected, or none if it is null.
  mark(span) {
    for (const group of this.view.querySelectorAll("[data-start]")) {
      const isSelected = span !== null && covers(span, group.dataset) && covers(group.dataset, span);
      group.classList.toggle("selected", isSelected && group.tagName === "g");
      if (group.role === "treeitem") group.setAttribute("aria-selected", isSelected);
    }
  }

  // Marks constituents that a search has found, each {start, end, label}.
  markMatches(matches) {
    for (const group of this.view.querySelectorAll("g.label")) {
      const { start, end, label } = constituentOf(group);
      const isMatch = matches.some((one) => one.start === start && one.end === end && one.label === label);
      group.classList.toggle("matched", isMatch);
    }
  }

  // The scale at which a picture fits the width of the view.
  fittingScale(width = this.size.width) {
    return Math.min((this.view.clientWidth - 24) / width, MAX_FITTING_ZOOM);
  }

  rescale() {
    if (!this.picture) return;
    this.scale = this.zoom ?? Math.max(Math.min(this.fittingScale(), this.maxScale), MIN_INITIAL_ZOOM);
    this.picture.setAttribute("width", this.size.width * this.scale);
    this.picture.setAttribute("height", this.size.height * this.scale);
  }

  // Zooms around the center of the visible part.
  zoomTo(scale) {
    const { view } = this;
    const [x, y] = [view.scrollLeft + view.clientWidth / 2, view.scrollTop + view.clientHeight / 2];
    const oldScale = this.scale;
    this.zoom = Math.min(Math.max(scale, MIN_ZOOM), MAX_ZOOM);
    this.rescale();
    const growth = this.scale / oldScale - 1;
    view.scrollBy(x * growth, y * growth);
  }

  onWheel(event) {
    if (!event.ctrlKey || !this.picture) return;
    event.preventDefault();
    this.zoomTo(this.scale * Math.exp(-event.deltaY / 300));
  }

  hover(target) {
    const group = target?.closest?.("g[data-start]") ?? null;
    const span = group && spanOf(group);
    if (this.picture?.getAttribute("role") === "tree") {
      for (const part of this.picture.querySelectorAll("[data-start]")) {
        part.classList.toggle("outside", span !== null && !covers(span, part.dataset));
      }
    }
    if (this.describe) showTooltip(group, span && this.describe(span, group));
    this.onHover(span);
  }

  // A click selects. The second click of a double click collapses what the first one selected, even if the picture has
  // moved between the two.
  onClick({ target, detail }) {
    if (detail === 2 && this.clickedConstituent) return this.onToggle(this.clickedConstituent);
    const group = target.closest("g[data-start]");
    this.clickedConstituent = group?.matches(".label, .triangle") ? constituentOf(group) : null;
    if (!group) return;
    if (group.role === "treeitem") this.focus(group);
    this.onSelect(spanOf(group));
  }

  focus(group) {
    for (const item of this.view.querySelectorAll("[role=treeitem]")) item.tabIndex = item === group ? 0 : -1;
    group.focus();
  }

  // Arrow keys move to the parent, to the first child, or along the same level, as the picture shows them.
  onKeyDown(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    const items = [...this.view.querySelectorAll("[role=treeitem]")];
    const index = items.indexOf(item);
    const level = (other) => Number(other.ariaLevel);
    const row = items.filter((other) => level(other) === level(item));
    const next = items[index + 1];
    const [toParent, toChild, back, forward] = this.isSideways()
      ? ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]
      : ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
    const targets = {
      [toParent]: items.slice(0, index).findLast((other) => level(other) < level(item)),
      [toChild]: next && level(next) > level(item) ? next : undefined,
      [back]: row[row.indexOf(item) - 1],
      [forward]: row[row.indexOf(item) + 1],
      Home: items[0],
      End: items.at(-1),
    };
    if (event.key in targets) this.focus(targets[event.key] ?? item);
    else if (event.key === "Enter" || event.key === " ") this.onSelect(spanOf(item));
    else if (event.key === "Escape") this.onSelect(null);
    else return;
    event.preventDefault();
  }
}

const spanOf = ({ dataset }) => ({ start: Number(dataset.start), end: Number(dataset.end) });
const constituentOf = (group) => {
  const label = group.dataset.label ?? group.previousElementSibling.dataset.label; // a triangle follows its constituent
  return { ...spanOf(group), label };
};
const covers = (outer, inner) => Number(inner.start) >= Number(outer.start) && Number(inner.end) <= Number(outer.end);

// Moves a group from its old position to its new one; a group without an old position fades in.
function animateMove(group, oldPosition, { x, y }) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const start = oldPosition ? { transform: `translate(${oldPosition.x - x}px, ${oldPosition.y - y}px)` } : { opacity: 0 };
  group.animate([start, {}], { duration: 350, easing: "ease-out" });
}

function showTooltip(group, lines) {
  const tooltip = byId("tooltip");
  tooltip.hidden = !group;
  if (!group) return;
  tooltip.replaceChildren(...lines.map((line, i) => html(i ? "span" : "strong", { dir: "auto" }, line)));
  const { left, right, top, bottom } = (group.querySelector("rect") ?? group).getBoundingClientRect();
  const { width, height } = tooltip.getBoundingClientRect();
  const pageWidth = document.documentElement.clientWidth;
  const fitsRight = right + width + 16 < pageWidth;
  const fitsBeside = fitsRight || left > width + 16; // beside the node it hides neither parent nor children
  const besideX = fitsRight ? right + 10 : left - width - 10;
  const x = fitsBeside ? besideX : Math.min(Math.max((left + right - width) / 2, 4), pageWidth - width - 4);
  const y = fitsBeside ? (top + bottom - height) / 2 : top > height + 12 ? top - height - 8 : bottom + 8;
  tooltip.style.left = `${x}px`;
  tooltip.style.top = `${y}px`;
}
