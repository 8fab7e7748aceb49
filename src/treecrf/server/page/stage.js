// Where pictures are shown: zoomed, scrolled, looked at with a pointer or with keys.
import { byId, html } from "./dom.js";

const [LEAST, MOST] = [0.1, 4];

export class Stage {
  // `describe(run, element)` gives the lines of a tip; `onLook(run)` and `onSelect(run)` tell of spans of words.
  constructor(view, { describe, onLook, onSelect }) {
    Object.assign(this, { view, describe, onLook, onSelect, zoom: null, picture: null, places: new Map() });
    view.addEventListener("pointerover", (event) => this.look(event.target));
    view.addEventListener("pointerleave", () => this.look(null));
    view.addEventListener("focusin", (event) => this.look(event.target));
    view.addEventListener("focusout", () => this.look(null));
    view.addEventListener("scroll", () => this.look(null), { passive: true });
    view.addEventListener("click", (event) => this.choose(event.target));
    view.addEventListener("keydown", (event) => this.key(event));
    view.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.rescale()).observe(view);
  }

  // Shows an element; pictures have a size and can be zoomed. Nodes that were there before glide to their new places.
  show(element, { width, height, nodes = [], glides = false } = {}) {
    const isSame = this.picture?.getAttribute("role") === element.getAttribute("role");
    const focused = this.view.contains(document.activeElement) && document.activeElement.dataset.key;
    this.picture = width ? element : null;
    this.size = { width, height };
    this.view.replaceChildren(element);
    this.look(null);
    this.rescale();
    const root = nodes[0]?.x ?? 0; // which is first looked for
    if (!isSame || !glides) this.view.scrollTo(root * this.scale - this.view.clientWidth / 2, 0);
    const before = this.places;
    this.places = new Map();
    const groups = [...element.querySelectorAll("[role=treeitem]")];
    nodes.forEach((node, i) => {
      const key = `${node.label ?? ""} ${node.start}-${node.end}`;
      groups[i].dataset.key = key;
      this.places.set(key, { x: node.x, y: node.y });
      if (glides && isSame) glide(groups[i], before.get(key), node);
    });
    if (focused) (groups.find((group) => group.dataset.key === focused) ?? groups[0])?.focus();
  }

  mark(run) {
    for (const group of this.view.querySelectorAll("[data-start]")) {
      const isChosen = run !== null && covers(run, group.dataset) && covers(group.dataset, run);
      group.classList.toggle("chosen", isChosen && group.tagName === "g");
      if (group.role === "treeitem") group.setAttribute("aria-selected", isChosen);
    }
  }

  // The scale at which all of the width is seen.
  fitting() {
    return Math.min((this.view.clientWidth - 24) / this.size.width, 1.4);
  }

  rescale() {
    if (!this.picture) return;
    this.scale = this.zoom ?? Math.max(this.fitting(), 0.7);
    this.picture.setAttribute("width", this.size.width * this.scale);
    this.picture.setAttribute("height", this.size.height * this.scale);
  }

  // Zooms around the middle of what is seen.
  zoomTo(scale) {
    const { view } = this;
    const [x, y] = [view.scrollLeft + view.clientWidth / 2, view.scrollTop + view.clientHeight / 2];
    const before = this.scale;
    this.zoom = Math.min(Math.max(scale, LEAST), MOST);
    this.rescale();
    const grown = this.scale / before - 1;
    view.scrollBy(x * grown, y * grown);
  }

  wheel(event) {
    if (!event.ctrlKey || !this.picture) return;
    event.preventDefault();
    this.zoomTo(this.scale * Math.exp(-event.deltaY / 300));
  }

  look(target) {
    const group = target?.closest?.("g[data-start]") ?? null;
    const run = group && runOf(group);
    if (this.picture?.getAttribute("role") === "tree") {
      for (const part of this.picture.querySelectorAll("[data-start]")) {
        part.classList.toggle("outside", run !== null && !covers(run, part.dataset));
      }
    }
    showTip(group, run && this.describe(run, group));
    this.onLook(run);
  }

  choose(target) {
    const group = target.closest("g[data-start]");
    if (!group) return;
    if (group.role === "treeitem") this.focus(group);
    this.onSelect(runOf(group));
  }

  focus(group) {
    for (const item of this.view.querySelectorAll("[role=treeitem]")) item.tabIndex = item === group ? 0 : -1;
    group.focus();
  }

  // Arrows go where they point: up to the parent, down to the first child, aside on the same level.
  key(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    const items = [...this.view.querySelectorAll("[role=treeitem]")];
    const here = items.indexOf(item);
    const level = (other) => Number(other.ariaLevel);
    const row = items.filter((other) => level(other) === level(item));
    const below = items[here + 1];
    const goals = {
      ArrowUp: items.slice(0, here).findLast((other) => level(other) < level(item)),
      ArrowDown: below && level(below) > level(item) ? below : undefined,
      ArrowLeft: row[row.indexOf(item) - 1],
      ArrowRight: row[row.indexOf(item) + 1],
      Home: items[0],
      End: items.at(-1),
    };
    if (event.key in goals) this.focus(goals[event.key] ?? item);
    else if (event.key === "Enter" || event.key === " ") this.onSelect(runOf(item));
    else if (event.key === "Escape") this.onSelect(null);
    else return;
    event.preventDefault();
  }
}

const runOf = ({ dataset }) => ({ start: Number(dataset.start), end: Number(dataset.end) });
const covers = (outer, inner) => Number(inner.start) >= Number(outer.start) && Number(inner.end) <= Number(outer.end);

function glide(group, from, to) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const start = from ? { transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)` } : { opacity: 0 };
  group.animate([start, {}], { duration: 350, easing: "ease-out" });
}

function showTip(group, lines) {
  const tip = byId("tip");
  tip.hidden = !group;
  if (!group) return;
  tip.replaceChildren(...lines.map((line, i) => html(i ? "span" : "strong", { dir: "auto" }, line)));
  const { left, right, top, bottom } = (group.querySelector("rect") ?? group).getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const isBeside = right + width + 16 < room || left > width + 16; // where it hides no relatives
  const aside = right + width + 16 < room ? right + 10 : left - width - 10;
  const x = isBeside ? aside : Math.min(Math.max((left + right - width) / 2, 4), room - width - 4);
  const y = isBeside ? (top + bottom - height) / 2 : top > height + 12 ? top - height - 8 : bottom + 8;
  tip.style.left = `${x}px`;
  tip.style.top = `${y}px`;
}
