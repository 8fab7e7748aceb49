// Elements, made without markup: what people type is only ever text or the value of an attribute.
const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);
export const html = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

function filled(element, attributes = {}, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}
