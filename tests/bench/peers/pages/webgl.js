const VERTICES = "attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }";
const COLOURS = `
  precision highp float;
  uniform vec2 size;
  uniform float time;
  void main() {
    vec2 at = (gl_FragCoord.xy * 2.0 - size) / size.y;
    float wave = sin(at.x * 4.0 + time) + sin(at.y * 5.0 - time * 1.3) + sin(length(at) * 6.0 - time * 2.0);
    gl_FragColor = vec4(0.5 + 0.5 * cos(wave + vec3(0.0, 2.1, 4.2)), 1.0);
  }`;
let gl;
let program;
function prepare() {
  const canvas = document.querySelector("canvas");
  canvas.width = innerWidth;
  canvas.height = innerHeight;
  gl = canvas.getContext("webgl", { preserveDrawingBuffer: true });
  program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, VERTICES], [gl.FRAGMENT_SHADER, COLOURS]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(gl.getAttribLocation(program, "at"));
  gl.vertexAttribPointer(gl.getAttribLocation(program, "at"), 2, gl.FLOAT, false, 0, 0);
  gl.viewport(0, 0, canvas.width, canvas.height);
  gl.uniform2f(gl.getUniformLocation(program, "size"), canvas.width, canvas.height);
}
window.draw = (t) => {
  if (!gl) prepare();
  gl.uniform1f(gl.getUniformLocation(program, "time"), t);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
};
