// A tree as text and pictures, for the clipboard or a file.
import { THEMES, fillOf, inkOn, spelled } from "./colours.js";
import { visible } from "./layout.js";

const SPECIAL = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
  "|": "\\textbar{}",
  '"': "\\textquotedbl{}",
};
const spell = (text) => visible(text).replace(/[\\~^<>|"{}$&#_%]|-(?=-)/g, (a) => SPECIAL[a] ?? (a === "-" ? "-{}" : `\\${a}`));
const hundredths = (probability) => Math.round(100 * Math.min(Math.max(probability, 0), 1));

// The environment that draws a tree with the package forest, as `treecrf draw` writes it.
export function toLatex(root, { words, tags }) {
  const shades = new Set();
  const lines = [];
  const write = (node, indent) => {
    if (node.kind === "leaf") {
      lines.push(`${indent}[{${spell(tags[node.start])}} [{${spell(words[node.start])}}]]`);
      return;
    }
    const shade = hundredths(node.probability);
    const ink = inkOn(fillOf(THEMES.light, shade / 100))[0] ? "white" : "black";
    const number = spelled(node.probability);
    shades.add(shade);
    const text = spell(node.label) + (number && `\\,{\\scriptsize ${number}}`);
    lines.push(`${indent}[{${text}}, fill=certain${shade}, text=${ink}`);
    for (const child of node.children) write(child, `${indent}  `.slice(0, 60));
    lines.push(`${indent}]`);
  };
  write(root, "");
  const colour = (shade) => `\\definecolor{certain${shade}}{RGB}{${fillOf(THEMES.light, shade / 100)}}`;
  return [
    ...[...shades].sort((a, b) => a - b).map(colour),
    "\\begin{forest}",
    "  for tree={inner sep=2pt, l sep=8pt, s sep=6pt, rounded corners=2pt},",
    "  % where n children=0{tier=word}{}, % puts all words on one line",
    ...lines,
    "\\end{forest}\n",
  ].join("\n");
}

export const toSvgText = (picture) => `${new XMLSerializer().serializeToString(picture)}\n`;

// A picture's pixels, three for each unit as far as browsers go.
export async function toPng(picture) {
  const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
  const scale = Math.min(3, 16000 / Math.max(width, height), Math.sqrt(5e7 / (width * height)));
  const address = URL.createObjectURL(new Blob([toSvgText(picture)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

// Puts text, or the promise of a PNG, on the clipboard; false where the browser does not let us.
export async function copy(content) {
  try {
    if (typeof content === "string") await navigator.clipboard.writeText(content);
    else await navigator.clipboard.write([new ClipboardItem({ "image/png": content })]);
    return true;
  } catch {
    return false;
  }
}

export function save(content, name) {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  [link.href, link.download] = [address, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
