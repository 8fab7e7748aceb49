// The words of a sentence as a list of which a run can be selected: by dragging, tapping the first and the last, or keys.
import { html } from "./dom.js";

export class Words {
  constructor(list, onSelect) {
    this.list = list;
    this.onSelect = onSelect;
    this.run = null; // {start, end}
    this.anchor = this.focus = 0;
    list.addEventListener("pointerdown", (event) => this.press(event));
    list.addEventListener("click", (event) => this.tap(event));
    list.addEventListener("pointermove", (event) => this.drag(event));
    list.addEventListener("keydown", (event) => this.key(event));
  }

  show(words) {
    this.list.replaceChildren(
      ...words.map((word) => html("span", { role: "option", tabindex: -1, "aria-selected": "false" }, word)),
    );
    this.anchor = this.focus = 0;
    this.select(null);
  }

  // Marks a run of words, or none.
  select(run, tell = true) {
    this.run = run;
    [...this.list.children].forEach((word, i) => {
      word.setAttribute("aria-selected", run !== null && i >= run.start && i < run.end);
      word.tabIndex = i === this.focus ? 0 : -1;
    });
    if (tell) this.onSelect(run);
  }

  // Underlines a run of words that is looked at elsewhere.
  hint(run) {
    [...this.list.children].forEach((word, i) => word.classList.toggle("hinted", !!run && i >= run.start && i < run.end));
  }

  reach(place, extend) {
    if (!extend) this.anchor = place;
    this.focus = place;
    this.select({ start: Math.min(this.anchor, place), end: Math.max(this.anchor, place) + 1 });
  }

  placeOf(event) {
    const word = document.elementFromPoint(event.clientX, event.clientY)?.closest("[role=option]");
    return word ? [...this.list.children].indexOf(word) : -1;
  }

  press(event) {
    const place = this.placeOf(event);
    if (place < 0 || event.button || event.pointerType === "touch") return;
    event.preventDefault();
    this.reach(place, event.shiftKey);
    this.list.children[place].focus();
  }

  // A finger may scroll, and a screen reader has no pointer: they select by the first and the last word.
  tap(event) {
    const place = [...this.list.children].indexOf(event.target.closest("[role=option]"));
    if (place < 0 || event.pointerType === "mouse") return;
    this.reach(place, this.run && (place < this.run.start || place >= this.run.end));
  }

  drag(event) {
    const place = event.buttons === 1 && event.pointerType !== "touch" ? this.placeOf(event) : -1;
    if (place >= 0 && place !== this.focus) this.reach(place, true);
  }

  key(event) {
    const last = this.list.children.length - 1;
    const step = getComputedStyle(this.list).direction === "rtl" ? -1 : 1;
    const goals = { ArrowRight: this.focus + step, ArrowLeft: this.focus - step, Home: 0, End: last, " ": this.focus };
    if (event.key === "Escape") this.select(null);
    else if (event.key in goals) {
      const place = Math.min(Math.max(goals[event.key], 0), last);
      this.reach(place, event.shiftKey);
      this.list.children[place].focus();
    } else return;
    event.preventDefault();
  }
}
