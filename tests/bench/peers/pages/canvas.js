let pen;
window.draw = (t) => {
  if (!pen) {
    const canvas = document.querySelector("canvas");
    canvas.width = innerWidth;
    canvas.height = innerHeight;
    pen = canvas.getContext("2d");
  }
  const { width, height } = pen.canvas;
  pen.fillStyle = "#101020";
  pen.fillRect(0, 0, width, height);
  for (let i = 0; i < 200; i += 1) {
    const angle = i * 2.4 + t * 0.5;
    const reach = (i / 200) * height * 0.55;
    const [x, y] = [Math.cos(angle) * reach * 1.6, Math.sin(angle) * reach];
    pen.fillStyle = `hsl(${(i * 7 + t * 40) % 360}, 80%, 55%)`;
    pen.beginPath();
    pen.arc(width / 2 + x, height / 2 + y, (6 + i * 0.12) * (height / 720), 0, 7);
    pen.fill();
  }
};
