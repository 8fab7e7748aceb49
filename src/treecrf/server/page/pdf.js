// Converts pictures of trees to a PDF. Text in Latin script is text in the PDF, in Helvetica, which every
// reader of PDF has. A picture with other scripts becomes an image, because a PDF would have to contain their fonts.
import { renderToCanvas } from "./export.js";
import { textWidth } from "./text_width.js";

const MAX_POINTS = 14_400; // of a side of a PDF page
// characters of the encoding WinAnsi beyond Latin-1, from 0x80 on; a space where there is none
const WIN_ANSI = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";
const FONTS = ["Helvetica", "Helvetica-Bold"];

// The pages of a PDF, each as large as its picture.
export async function toPdf(pictures) {
  const font = (name) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
  const fonts = `/Font << ${FONTS.map((name, i) => `/F${i} ${font(name)}`).join(" ")} >>`;
  const objects = [["/Type /Catalog /Pages 2 0 R"], null]; // the pages follow
  const pages = [];
  for (const picture of pictures) {
    const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
    const scale = Math.min(1, MAX_POINTS / Math.max(width, height));
    const isLatin = [...picture.querySelectorAll("text")].every((text) => encode(text.textContent) !== null);
    const image = isLatin ? null : await toJpeg(picture);
    const drawing = image ? `${width} 0 0 ${height} 0 0 cm /Image Do` : drawElements(picture, height);
    const [page, content] = [objects.length + 1, objects.length + 2]; // objects are counted from 1
    const resources = image ? `/XObject << /Image ${content + 1} 0 R >>` : fonts;
    const box = [width, height].map((side) => format(side * scale)).join(" ");
    objects.push(
      [`/Type /Page /Parent 2 0 R /MediaBox [0 0 ${box}] /Contents ${content} 0 R /Resources << ${resources} >>`],
      ["", toBytes(`${format(scale)} 0 0 ${format(scale)} 0 0 cm\n${drawing}`)],
      ...(image ? [[image.dictionary, image.bytes]] : []),
    );
    pages.push(`${page} 0 R`);
  }
  objects[1] = [`/Type /Pages /Kids [${pages.join(" ")}] /Count ${pages.length}`];
  return writePdf(objects);
}

async function toJpeg(picture) {
  const canvas = await renderToCanvas(picture);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.95));
  const size = `/Width ${canvas.width} /Height ${canvas.height} /BitsPerComponent 8 /ColorSpace /DeviceRGB`;
  const dictionary = `/Type /XObject /Subtype /Image ${size} /Filter /DCTDecode`;
  return { dictionary, bytes: new Uint8Array(await blob.arrayBuffer()) };
}

// The bytes of a file with these objects: the entries of a dictionary each, and the bytes of its stream if it has one.
function writePdf(objects) {
  const parts = [toBytes("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")];
  const offsets = [];
  let length = parts[0].length;
  const add = (part) => {
    parts.push(part);
    length += part.length;
  };
  objects.forEach(([entries, stream], i) => {
    offsets.push(length);
    add(toBytes(`${i + 1} 0 obj\n<< ${entries} ${stream ? `/Length ${stream.length} ` : ""}>>\n`));
    if (stream) [toBytes("stream\n"), stream, toBytes("\nendstream\n")].forEach(add);
    add(toBytes("endobj\n"));
  });
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${rows.join("")}`;
  add(toBytes(`${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${length}\n%%EOF\n`));
  return new Blob(parts, { type: "application/pdf" });
}

// ---- SVG elements as PDF operators; y goes up in PDF and down in SVG

function drawElements(picture, height) {
  const operators = [];
  const draw = (element, inherited) => {
    const attributes = { ...inherited };
    for (const { name, value } of element.attributes) attributes[name] = value;
    if (element.tagName === "rect") operators.push(drawRectangle(attributes, picture, height));
    if (element.tagName === "path") operators.push(drawPath(attributes, height));
    if (element.tagName === "text") operators.push(drawText(element.textContent, attributes, height));
    for (const child of element.children) draw(child, inheritable(attributes));
  };
  draw(picture, {});
  return operators.join("\n");
}

const INHERITED = ["fill", "stroke", "stroke-width", "font-size", "font-weight", "text-anchor"];
const inheritable = (attributes) =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => INHERITED.includes(name)));

function drawRectangle({ x = 0, y = 0, width, height, fill }, picture, pageHeight) {
  const length = (value, name) => (value === "100%" ? picture.getAttribute(name) : value);
  const [w, h] = [Number(length(width, "width")), Number(length(height, "height"))];
  return `${color(fill)} rg ${format(x)} ${format(pageHeight - y - h)} ${format(w)} ${format(h)} re f`;
}

function drawPath({ d, stroke, "stroke-width": lineWidth }, pageHeight) {
  const points = d.slice(1).split("L").map((point) => point.split(" ").map(Number));
  const steps = points.map(([x, y], i) => `${format(x)} ${format(pageHeight - y)} ${i ? "l" : "m"}`);
  return `${color(stroke)} RG ${lineWidth} w ${steps.join(" ")} S`;
}

function drawText(text, { x, y, fill, "font-size": size, "font-weight": weight, "text-anchor": anchor }, pageHeight) {
  const isBold = Number(weight) >= 600;
  const shift = { middle: 0.5, end: 1 }[anchor] ?? 0;
  const left = Number(x) - shift * textWidth(text, size, isBold ? 600 : 400);
  const string = encode(text).replace(/[\\()]/g, "\\$&");
  const position = `${format(left)} ${format(pageHeight - y)}`;
  return `BT /F${isBold ? 1 : 0} ${size} Tf ${color(fill)} rg ${position} Td (${string}) Tj ET`;
}

// A text with a character for each byte of WinAnsi; null if the encoding does not have all characters.
function encode(text) {
  let bytes = "";
  for (const character of text) {
    const code = character.codePointAt(0);
    const extra = character === " " ? -1 : WIN_ANSI.indexOf(character);
    if ((code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code <= 0xff)) bytes += character;
    else if (extra >= 0) bytes += String.fromCharCode(0x80 + extra);
    else return null;
  }
  return bytes;
}

const toBytes = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const format = (value) => String(Number(Number(value).toFixed(2)));
const color = (hex) => [1, 3, 5].map((at) => format(parseInt(hex.slice(at, at + 2), 16) / 255)).join(" ");
