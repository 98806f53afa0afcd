const VALUES = [12, 31, 24, 45, 38, 52, 47, 64];
const SVG = "http://www.w3.org/2000/svg";
let bars;
let numbers;
function add(svg, name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return svg.appendChild(made);
}
function prepare() {
  const svg = document.querySelector("svg");
  for (let y = 0; y <= 460; y += 115) add(svg, "line", { x1: 0, x2: 1000, y1: y, y2: y });
  bars = VALUES.map((_, i) => add(svg, "rect", { class: "bar", x: 30 + i * 122, width: 86 }));
  numbers = VALUES.map((_, i) => add(svg, "text", { x: 73 + i * 122 }));
}
window.draw = (t) => {
  if (!bars) prepare();
  VALUES.forEach((value, i) => {
    const share = Math.min(1, Math.max(0, (t - i * 0.3) / 1.6));
    const shown = value * (1 - (1 - share) ** 3);
    const height = shown * 6.5;
    bars[i].setAttribute("y", 460 - height);
    bars[i].setAttribute("height", height);
    numbers[i].setAttribute("y", 450 - height);
    numbers[i].textContent = shown.toFixed(1);
  });
};
