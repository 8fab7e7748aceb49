// Fonts of pictures, the width of text in them, and its direction.
export const FONT =
  "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'PingFang SC', 'Hiragino Sans', " +
  "'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', 'WenQuanYi Micro Hei', sans-serif";

const canvas = document.createElement("canvas").getContext("2d");

export function textWidth(text, size, weight = 400) {
  canvas.font = `${weight} ${size}px ${FONT}`;
  return canvas.measureText(text).width;
}

export function isRightToLeft(words) {
  const text = words.join("");
  const count = (pattern) => (text.match(pattern) ?? []).length;
  return count(/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu) > count(/\p{L}/gu) / 2;
}
