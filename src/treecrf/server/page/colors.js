// Colors of the light and the dark theme, and the color scale of probabilities: the same as in treecrf.viz.
export const THEMES = {
  light: {
    ground: [255, 255, 255],
    ink: [24, 30, 42],
    faint: [92, 100, 114],
    line: [148, 156, 170],
    accent: [36, 87, 176],
    scale: [[104, 30, 20], [178, 74, 24], [233, 143, 44], [248, 208, 128], [243, 239, 230]],
  },
  dark: {
    ground: [22, 25, 31],
    ink: [235, 238, 243],
    faint: [160, 168, 181],
    line: [104, 113, 128],
    accent: [138, 180, 255],
    scale: [[255, 236, 190], [243, 190, 88], [203, 124, 34], [126, 72, 28], [46, 51, 60]],
  },
};

// The color of a probability, interpolated between the colors of the theme's scale; without one, of a certain constituent.
export function fillColor(theme, probability = 1) {
  const steps = theme.scale.length - 1;
  const position = Math.min(Math.max(probability, 0), 1) * steps;
  const low = Math.min(Math.trunc(position), steps - 1);
  return theme.scale[low].map((part, i) => Math.round(part + (theme.scale[low + 1][i] - part) * (position - low)));
}

export const toHex = (color) => "#" + color.map((part) => part.toString(16).padStart(2, "0")).join("");

// Black or white, whichever has more contrast with a background color (WCAG).
export function textColor(background) {
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = background.map((part) => linear(part / 255));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  return luminance / 0.05 >= 1.05 / luminance ? [0, 0, 0] : [255, 255, 255];
}

// A probability as a percentage; the digits of small and of large ones are on demand.
export function formatProbability(probability) {
  const value = 100 * probability;
  if (value < 0.1) return value > 0 ? "< 0.1 %" : "0 %";
  if (value > 99.9) return value >= 99.9995 ? "100 %" : "> 99.9 %";
  return `${value.toFixed(value < 10 || value > 99 ? 1 : 0)} %`;
}

// A probability in a picture: a percentage without digits, and nothing from 99.5 % on or without a probability.
export const shortProbability = (probability) =>
  probability < 0.995 ? `${Math.round(100 * Math.max(probability, 0))} %` : "";

// The probability that a tree is correct. The tree of a file has none.
export const treeProbability = ({ calibrated }) => (calibrated === undefined ? "" : formatProbability(calibrated));
