// Exports a tree as LaTeX, SVG or PNG, to the clipboard or a file.
import { THEMES, fillColor, textColor, shortProbability } from "./colors.js";
import { visible } from "./nodes.js";

const SUFFIXES = { brackets: "mrg", latex: "tex", json: "json", svg: "svg", png: "png", pdf: "pdf", link: "txt" };
const NAME_CHARACTERS = 40; // of a sentence in the name of a file

const LATEX_COMMANDS = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
  "|": "\\textbar{}",
  '"': "\\textquotedbl{}",
  "-": "-{}", // keeps two hyphens from becoming a dash
};
const escapeLatex = (text) => visible(text).replace(/[\\~^<>|"{}$&#_%]|-(?=-)/g, (a) => LATEX_COMMANDS[a] ?? `\\${a}`);
const toHundredths = (probability = 1) => Math.round(100 * Math.min(Math.max(probability, 0), 1));

// A forest environment with the tree, as `treecrf draw` writes it.
export function toLatex(root, { words, tags }, { hasTags }) {
  const shades = new Set(); // probabilities in hundredths
  const lines = [];
  const write = (node, indent) => {
    if (node.kind === "triangle") return lines.push(`${indent}[{${escapeLatex(node.word)}}, roof]`);
    if (node.kind === "leaf") {
      const word = `[{${escapeLatex(words[node.start])}}]`;
      return lines.push(indent + (hasTags ? `[{${escapeLatex(tags[node.start])}} ${word}]` : word));
    }
    const shade = toHundredths(node.probability);
    const color = textColor(fillColor(THEMES.light, shade / 100))[0] ? "white" : "black";
    const number = shortProbability(node.probability);
    shades.add(shade);
    const text = escapeLatex(node.label) + (number && `\\,{\\scriptsize ${escapeLatex(number)}}`);
    lines.push(`${indent}[{${text}}, fill=certain${shade}, text=${color}`);
    for (const child of node.children) write(child, `${indent}  `.slice(0, 60));
    lines.push(`${indent}]`);
  };
  write(root, "");
  const defineColor = (shade) => `\\definecolor{certain${shade}}{RGB}{${fillColor(THEMES.light, shade / 100)}}`;
  return [
    ...[...shades].sort((a, b) => a - b).map(defineColor),
    "\\begin{forest}",
    "  for tree={inner sep=2pt, l sep=8pt, s sep=6pt, rounded corners=2pt},",
    "  % where n children=0{tier=word}{}, % puts all words on one line",
    ...lines,
    "\\end{forest}\n",
  ].join("\n");
}

export const toSvgText = (picture) => `${new XMLSerializer().serializeToString(picture)}\n`;

// Renders a picture at 3 pixels per unit, or less if the canvas would be too large for browsers.
export async function renderToCanvas(picture) {
  const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
  const scale = Math.min(3, 16000 / Math.max(width, height), Math.sqrt(5e7 / (width * height)));
  const url = URL.createObjectURL(new Blob([toSvgText(picture)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas;
  } finally {
    URL.revokeObjectURL(url);
  }
}

export async function toPng(picture) {
  const canvas = await renderToCanvas(picture);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// Copies text, or a PNG given as a promise, to the clipboard; returns false if the browser does not allow it.
export async function copy(content) {
  try {
    if (typeof content === "string") await navigator.clipboard.writeText(content);
    else await navigator.clipboard.write([new ClipboardItem({ "image/png": content })]);
    return true;
  } catch {
    return false;
  }
}

// The name of a file with a tree: the first words of the sentence, and the number of the tree if it is not the first.
export const fileName = (sentence, treeIndex, kind) =>
  `${stemOf(sentence)}${treeIndex ? `-tree-${treeIndex + 1}` : ""}.${SUFFIXES[kind]}`;

// The beginning of a file's name: the first words of a text.
export function stemOf(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? ["tree"];
  let name = "";
  for (const word of words) {
    if (name && name.length + word.length >= NAME_CHARACTERS) break;
    name += `${name && "-"}${word.slice(0, NAME_CHARACTERS)}`;
  }
  return name;
}

export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
