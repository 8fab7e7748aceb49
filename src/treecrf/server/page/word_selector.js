// The words of the sentence, in which a span can be selected: by dragging, by tapping its first and last word, or by keys.
import { html } from "./dom.js";

export class WordSelector {
  constructor(list, onSelect) {
    this.list = list;
    this.onSelect = onSelect;
    this.span = null; // {start, end}
    this.anchor = this.focus = 0;
    list.addEventListener("pointerdown", (event) => this.onPointerDown(event));
    list.addEventListener("click", (event) => this.onClick(event));
    list.addEventListener("pointermove", (event) => this.onPointerMove(event));
    list.addEventListener("keydown", (event) => this.onKeyDown(event));
  }

  show(words) {
    this.list.replaceChildren(
      ...words.map((word) => html("span", { role: "option", tabindex: -1, "aria-selected": "false" }, word)),
    );
    this.anchor = this.focus = 0;
    this.select(null);
  }

  // Selects a span, or nothing if it is null.
  select(span) {
    this.span = span;
    [...this.list.children].forEach((word, i) => {
      word.setAttribute("aria-selected", span !== null && i >= span.start && i < span.end);
      word.tabIndex = i === this.focus ? 0 : -1;
    });
    this.onSelect(span);
  }

  // Underlines the span under the pointer in the picture, or nothing if it is null.
  highlight(span) {
    const isInside = (i) => span !== null && i >= span.start && i < span.end;
    [...this.list.children].forEach((word, i) => word.classList.toggle("highlighted", isInside(i)));
  }

  // Selects one word, or extends the selection from the anchor to this word.
  selectWord(index, isExtending) {
    if (!isExtending) this.anchor = index;
    this.focus = index;
    this.select({ start: Math.min(this.anchor, index), end: Math.max(this.anchor, index) + 1 });
  }

  indexAt(event) {
    const word = document.elementFromPoint(event.clientX, event.clientY)?.closest("[role=option]");
    return word ? [...this.list.children].indexOf(word) : -1;
  }

  onPointerDown(event) {
    const index = this.indexAt(event);
    if (index < 0 || event.button || event.pointerType === "touch") return;
    event.preventDefault();
    this.selectWord(index, event.shiftKey);
    this.list.children[index].focus();
  }

  // Touch input may scroll, and screen readers have no pointer: both select by the first and the last word.
  onClick(event) {
    const index = [...this.list.children].indexOf(event.target.closest("[role=option]"));
    if (index < 0 || event.pointerType === "mouse") return;
    this.selectWord(index, this.span && (index < this.span.start || index >= this.span.end));
  }

  onPointerMove(event) {
    const index = event.buttons === 1 && event.pointerType !== "touch" ? this.indexAt(event) : -1;
    if (index >= 0 && index !== this.focus) this.selectWord(index, true);
  }

  onKeyDown(event) {
    const last = this.list.children.length - 1;
    const step = getComputedStyle(this.list).direction === "rtl" ? -1 : 1;
    const targets = { ArrowRight: this.focus + step, ArrowLeft: this.focus - step, Home: 0, End: last, " ": this.focus };
    if (event.key === "Escape") this.select(null);
    else if (event.key in targets) {
      const index = Math.min(Math.max(targets[event.key], 0), last);
      this.selectWord(index, event.shiftKey);
      this.list.children[index].focus();
    } else return;
    event.preventDefault();
  }
}
